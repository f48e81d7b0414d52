# SPDX-License-Identifier: MIT OR Apache-2.0
"""Prints the numbers of this folder's README that no claim holds: the same runs with Linux's TCP as it comes.

python papers/harvest/asides.py    # a minute of processor time
"""

from __future__ import annotations

import argparse
from pathlib import Path

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


def main() -> None:
    """One line a point and setting: iterations over the closed form, in percent."""
    argparse.ArgumentParser(description=__doc__).parse_args()
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


if __name__ == "__main__":
    main()
