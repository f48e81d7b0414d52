# SPDX-License-Identifier: MIT OR Apache-2.0
"""Prints what changes if NDP runs as its paper has it, not as Opera's authors simulated it: one key at a time, then all.
20 ms of figure 9 at 10 %, mean completion times of flows that start and end within it.

python papers/opera/asides.py
python papers/opera/asides.py --spread RUN BYTES     # of a figure's run: how sure the p99 of flows of a size is
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import etalon as et

PLANS = Path(__file__).parent / "plans"
NETWORKS = {"opera": "Opera", "clos": "3:1 Clos"}
SIZES = (5971, 77113, 620119)
QUEUE = "network.queue.low"
NDP = "poisson.transport"
PAPERS: Mapping[str, Mapping[str, Any]] = {
    "a pacer for each host": {f"{NDP}.pacer": "host"},
    "pulls spaced by whole packets": {f"{NDP}.pull_bytes": None},
    "no more pulls than packets are missing": {f"{NDP}.pulls": "needed"},
    "timeouts of 1 ms": {f"{NDP}.timeout": "1ms"},
    "last packets of their own length": {f"{NDP}.padded": False},
    "complete when received": {f"{NDP}.completes": "received"},
    "the arriving packet is trimmed, no coin": {f"{QUEUE}.coin": False},
    "resent only when pulled": {f"{NDP}.resends_last": False},
}
"""What the paper has, by key, where the authors' code differs."""


def measured(plan: et.Plan) -> list[str]:
    """Mean completion times in us by size, trimmed packets per 1,000 that arrived whole, and flows that did not end."""
    run = et.run(plan)
    sizes = {row["bytes"]: row for row in run.by_size().iter_rows(named=True)}
    sent = int(run.hops["packets"].sum())
    ended = run.fct()["fct_us"]
    return [
        *(f"{sizes[size]['fct_us_mean']:.1f}" for size in SIZES),
        f"{1000 * int(run.pairs['trimmed'].sum()) / sent:.1f}",
        f"{ended.null_count()} of {len(ended)}",
    ]


def spread(run: et.Run, size: int) -> str:
    """The p99 of completion times of flows of a size, as claims have it (the value nearest to rank 0.99 n), and the range of
    95 % of 2,000 bootstrap samples."""
    done = run.flows.filter((pl.col("bytes") == size) & (pl.col("end_ns") >= 0))
    times = np.sort(((done["end_ns"] - done["start_ns"]) / 1e6).to_numpy())
    rank = max(round(0.99 * len(times)), 1) - 1
    draw = np.random.default_rng(1).choice
    drawn = [np.sort(draw(times, len(times)))[rank] for _ in range(2000)]
    low, high = np.percentile(drawn, [2.5, 97.5])
    return f"{len(times)} flows of {size} B: p99 {times[rank]:.1f} ms, {low:.1f} to {high:.1f} by bootstrap"


def main() -> None:
    """A table for each network."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--spread", nargs=2, metavar=("RUN", "BYTES"), help="of flows in a run's folder"
    )
    asked = parser.parse_args().spread
    if asked:
        print(spread(et.Run.load(asked[0]), int(asked[1])))
        return
    for name, title in NETWORKS.items():
        plan = et.Plan.load(PLANS / f"{name}.toml").replace({"duration": "20ms"})
        print(f"\n{title}:\n", flush=True)
        print(
            f"| NDP | {' | '.join(f'{size} B (us)' for size in SIZES)} | trimmed (per 1,000) | not ended |"
        )
        print("|---|" + "---:|" * (len(SIZES) + 2))
        everything = {key: value for changes in PAPERS.values() for key, value in changes.items()}
        variants: Mapping[str, Mapping[str, Any]] = {
            "as the authors ran it": {},
            **PAPERS,
            "all of these": everything,
        }
        for what, changes in variants.items():
            print(f"| {what} | {' | '.join(measured(plan.replace(changes)))} |", flush=True)


if __name__ == "__main__":
    main()
