# SPDX-License-Identifier: MIT OR Apache-2.0
"""Prints what changes if NDP runs as its paper has it, not as Opera's authors simulated it: one key at a time, then all.
20 ms of figure 9 at 10 %, mean completion times of flows that start and end within it.

python papers/opera/asides.py
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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


def main() -> None:
    """A table for each network."""
    argparse.ArgumentParser(description=__doc__).parse_args()
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
