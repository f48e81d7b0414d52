# SPDX-License-Identifier: MIT OR Apache-2.0
"""Prints the numbers of this folder's README that no claim holds: the same runs with Linux's TCP as it comes, and what a
static ring takes whose ranks keep step.

python papers/harvest/asides.py    # a minute of processor time
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import polars as pl

import etalon as et
from etalon.reproduce.paper import Paper

PAPER = Paper.load(str(Path(__file__).parent))
POINTS = (("cyclic-16", 4096), ("swing-16", 4096), ("all-to-all-16", 16384), ("ring-16", 4096))
SETTINGS = {
    "as in the claims": {},
    "cubic, defaults": {"tcp.initial_cwnd": 10, "tcp.receive_buffer": "65.536kB"},
    "dctcp, defaults": {
        "tcp.initial_cwnd": 10,
        "tcp.receive_buffer": "65.536kB",
        "job.cc": "dctcp",
        "network.marking": {"threshold": 50, "threshold_big": 50},
    },
}
SHOWN = (0, 1, 7)
STEPS = PAPER.measures.steps_of("cyclic", 16384 * 1024, 64)


def main() -> None:
    """All of them."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    defaults()
    drift()


def defaults() -> None:
    """One line a point and setting: iterations over the closed form, in percent."""
    form = PAPER.measures.closed_form
    for series, x in POINTS:
        for name, changes in SETTINGS.items():
            plan = PAPER.point(series, x).plans[0].replace({"job.iterations": 8, **changes})
            rows = et.run(plan).iterations.rows(named=True)
            over = [
                100 * (rows[i]["end_ns"] - rows[i]["start_ns"]) / form(plan, rows[i]["changes"])
                for i in SHOWN
            ]
            shown = ", ".join(f"{value:.1f}" for value in over)
            print(f"{series}, {x} KiB, {name}: iterations 1, 2, 8 take {shown} %")


def drift() -> None:
    """The static ring that takes longer than the form: as in the claims, begun by all ranks at once, and step by step."""
    plan = PAPER.point("static-cyclic-64", 16384).plans[0].replace({"job.steps": True})
    form = PAPER.measures.overlapped("cyclic", 16384 * 1024)
    run = et.run(plan)
    sends = run.steps.filter((pl.col("iteration") == 1) & (pl.col("peer") >= 0))
    ready = sends.group_by("step").agg(pl.col("ready_ns").max() - pl.col("ready_ns").min())
    apart = max(ready["ready_ns"].to_list())
    print(
        f"cyclic-64, 16384 KiB, static ring: {100 * PAPER.measures.took(run) / form:.1f} % of the form; "
        f"at a step ranks are up to {apart / 1e3:.0f} us apart"
    )
    together = {"job.iterations": 1, "job.start": "1ms", "job.connect": "0us"}
    print(
        f"begun by all ranks at once: {100 * PAPER.measures.took(et.run(plan.replace(together))) / form:.1f} %"
    )
    alone = [PAPER.measures.took(run_of_step(plan, *step)) for step in STEPS]
    forms = [PAPER.measures.overlapped_step(*step) for step in STEPS]
    shares = ", ".join(
        f"{100 * took / share:.1f}" for took, share in zip(alone, forms, strict=True)
    )
    print(f"each step alone: {100 * sum(alone) / form:.1f} %, one by one {shares}")


def run_of_step(plan: et.Plan, far: int, load: float, size: float) -> et.Run:
    """Messages of one step, which all ranks send at once; the second time, when connections exist."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder, "step.goal")
        trace.write_text(
            "num_ranks 64\n"
            + "".join(
                f"rank {rank} {{\nl1: send {size:.0f}b to {(rank + far) % 64} tag 0\n"
                f"l2: recv {size:.0f}b from {(rank - far) % 64} tag 0\n}}\n"
                for rank in range(64)
            )
        )
        keys = {**plan.to_dict(), "job": [{"file": str(trace), "iterations": 2}]}
        return et.run(et.Plan.from_dict(keys))


if __name__ == "__main__":
    main()
