# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes the tables of docs/reconfigure.md: how long a change of circuits may take until it does not pay, by transport."""

import argparse
import math
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import etalon as et
from etalon import kernel, pages

PAGE = Path(__file__).with_suffix(".md")
RANKS = 8
SIZES = ("256KB", "1MB", "4MB", "16MB", "64MB")
CHANGES = ("1us", "10us", "100us", "1ms", "10ms", "100ms")
TRANSPORTS: dict[str, dict[str, Any]] = {
    "CUBIC": {"cc": "cubic"},
    "DCTCP": {"cc": "dctcp"},
    "reTCP": {"cc": "retcp"},
    "TDTCP": {"transport": "tdtcp"},
    "MPTCP": {"transport": "mptcp"},
}
ON_LINUX = ("CUBIC", "DCTCP", "reTCP", "MPTCP")
"""Those that carry jobs there, too."""

Took = dict[tuple[str, str, str], float]
"""Iterations in microseconds, by transport, size and change; over packets it is empty."""


def plan(size: str, change: str, circuits: str, transport: dict[str, Any]) -> et.Plan:
    """A swing all-reduce over a packet network of 10 Gb/s, and circuits of 100 Gb/s."""
    signals: dict[str, dict[str, Any]] = {
        "dctcp": {"marking": {"threshold": 64}},
        "retcp": {"ece": {"before": "0us"}},
    }
    net = et.network(
        racks=RANKS,
        hosts=1,
        packet=("10Gbps", "1us"),
        circuit=("100Gbps", "500ns"),
        host={"rate": "100Gbps"},
        voq=256,
        **signals.get(transport.get("cc", ""), {}),
    )
    job = et.job(
        et.all_reduce(size, algorithm="swing"), circuits=circuits, iterations=4, **transport
    )
    week = et.asked(initial="none", reconfiguration=change, hold="0us", request="1us")
    settings = {"duration": "20s", "warmup": "0s", "tdf": 1, "end_when_done": True}
    return et.experiment(net, week, job, **settings)


def middle(run: et.Run) -> float:
    """The median iteration in microseconds, without the first, in which windows grow."""
    rows = run.iterations.filter(run.iterations["end_ns"] > 0)[1:]
    return float(str((rows["end_ns"] - rows["start_ns"]).median())) / 1e3


def model(size: str, change: str) -> float:
    """The same in microseconds from rates, delays, requests and changes alone; without `change`, over packets."""
    steps = 2 * int(math.log2(RANKS))
    bits = 2 * (RANKS - 1) / RANKS * et.units.SIZE.parse(size) * 8
    if not change:
        return (bits / 10 + steps * 2_000) / 1e3
    # The two steps in the middle have the same circuits, and so have the last and the first of the next iteration.
    changes = (steps - 2) * (et.units.TIME.parse(change) + 1_000)
    return (bits / 100 + steps * 500 + changes) / 1e3


def line(none: float, each: list[float]) -> str:
    """The time of a change at which circuits and packets take as long, between two of `CHANGES` by a straight line."""
    spans = [et.units.TIME.parse(change) / 1e3 for change in CHANGES]
    if each[0] > none:
        return "never"
    for (low, fast), (high, slow) in pairwise(zip(spans, each, strict=True)):
        if slow > none:
            return f"{low + (none - fast) / (slow - fast) * (high - low):.0f}"
    return f"over {spans[-1]:.0f}"


def measured(names: Iterable[str], changes: Iterable[str], engine: str) -> Took:
    """Runs all of these."""
    cells = [(name, size, change) for name in names for size in SIZES for change in changes]
    plans = [
        plan(size, change or "1us", "each" if change else "none", TRANSPORTS[name])
        for name, size, change in cells
    ]
    return dict(zip(cells, map(middle, et.run_many(plans, engine=engine)), strict=True))


def iterations(name: str, took: Took) -> str:
    """A line of a table: over packets, and over circuits that change in 10 us."""
    said = (f"{took[name, size, '']:.0f}, {took[name, size, '10us']:.0f}" for size in SIZES)
    return f"| {name} | {' | '.join(said)} |"


def tables() -> str:
    """Runs everything; three Markdown tables."""
    took = measured(TRANSPORTS, ("", *CHANGES), "sim")
    for size in SIZES:
        took |= {("no transport", size, change): model(size, change) for change in ("", *CHANGES)}
    head = " | ".join(SIZES) + " |\n|---|" + "---:|" * len(SIZES)
    lines = [f"| break-even change (us) | {head}"]
    for name in ("no transport", *TRANSPORTS):
        each = [[took[name, size, change] for change in CHANGES] for size in SIZES]
        said = (line(took[name, size, ""], row) for size, row in zip(SIZES, each, strict=True))
        lines.append(f"| {name} | {' | '.join(said)} |")
    lines += ["", f"| iteration (us): packets, circuits at 10 us | {head}"]
    lines += [iterations(name, took) for name in ("no transport", *TRANSPORTS)]
    real = measured(ON_LINUX, ("", "10us"), "linux")
    lines += ["", f"| the same on Linux (us) | {head}"]
    lines += [iterations(name, real) for name in ON_LINUX]
    return "\n".join(lines)


def asides() -> None:
    """Prints what the page says of MPTCP beyond its tables."""
    for engine in ("sim", "linux"):
        for name in ("CUBIC", "MPTCP"):
            run = et.run(plan("64MB", "1us", "none", TRANSPORTS[name]), engine=engine)
            took = run.iterations["end_ns"] - run.iterations["start_ns"]
            print(
                f"{engine}, {name}, 64MB over packets: {run.flows['retransmits'].sum()} retransmissions, "
                f"iterations of {', '.join(f'{ns / 1e6:.0f}' for ns in took)} ms"
            )
        roomy = plan("1MB", "10us", "each", TRANSPORTS["MPTCP"])
        took_us = middle(et.run(roomy.replace({"tcp.receive_buffer": "6MB"}), engine=engine))
        print(f"{engine}, MPTCP, 1MB over circuits, buffers of 6 MB: {took_us:.0f} us")


def main() -> None:
    """Runs everything, prints the table and writes it into the page."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    if kernel.find(250) is None:
        raise SystemExit("this page needs the Linux engine's kernel: etalon kernel build")
    text = tables()
    print(text)
    pages.put(PAGE, text + "\n")
    asides()


if __name__ == "__main__":
    main()
