# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes the table of docs/hosts.md: how much results depend on what is assumed of end hosts."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import etalon as et
from etalon import pages

PAGE = Path(__file__).with_suffix(".md")

WEEK = 4800
DURATION = f"{1010 * WEEK}us"

VARIATIONS: dict[str, dict[str, Any]] = {
    "as assumed": {},
    "no jitter": {"network.host.jitter": "0us"},
    "jitter 5 us": {"network.host.jitter": "5us"},
    "host delay 0.5 us": {"network.host.delay": "0.5us"},
    "host delay 5 us": {"network.host.delay": "5us"},
    "host link 10 Gb/s": {"network.host.rate": "10Gbps"},
    "HZ 1000": {"tcp.hz": 1000},
    "HZ 100": {"tcp.hz": 100},
    "receive buffer fixed at 64 kB": {"tcp.max_receive_buffer": "64KiB"},
    "receive buffer fixed at 64 MB": {"tcp.receive_buffer": "64MiB", "tcp.max_receive_buffer": "64MiB"},
    "no time dilation": {"tdf": 1},
}  # fmt: skip


def plans() -> dict[str, et.Plan]:
    """CUBIC on static queues, CUBIC with resizing, reTCP with resizing."""
    base = et.experiment(et.network(), et.strobe(et.network(), mimic=25), et.bulk(0, 1),
                         duration=DURATION, warmup=f"{10 * WEEK}us", tdf=20)  # fmt: skip
    resize = {"network.voq": {"packets": 16, "resize": {"packets": 50, "before": "1200us"}}}
    early = {"network.voq": {"packets": 16, "resize": {"packets": 50, "before": "150us"}}}
    retcp = {"network.ece": {"before": "150us"}, "bulk.cc": "retcp"}
    return {
        "CUBIC, 16 packets": base,
        "CUBIC, tau 1200 us": base.replace(resize),
        "reTCP, tau 150 us": base.replace({**early, **retcp}),
    }


def table() -> Iterator[str]:
    """Runs everything; the lines of a Markdown table."""
    series = plans()
    todo = [plan.replace(change) for change in VARIATIONS.values() for plan in series.values()]
    runs = iter(et.run_many(todo))
    yield f"| hosts | {' | '.join(series)} |"
    yield "|---|" + "---|" * len(series)
    for name in VARIATIONS:
        cells = (next(runs) for _ in series)
        texts = [
            f"{100 * (run.circuit_utilization_nsdi20 or 0):.1f} %, {run.latency(99):.0f} µs"
            for run in cells
        ]
        yield f"| {name} | {' | '.join(texts)} |"


def main() -> None:
    """Runs everything, prints the table and writes it into the page."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    text = "\n".join(table())
    print(text)
    pages.put(PAGE, text + "\n")


if __name__ == "__main__":
    main()
