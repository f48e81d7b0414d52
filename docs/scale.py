# SPDX-License-Identifier: MIT OR Apache-2.0
"""Draws the figure of docs/speed.md and prints its table: what a packet costs with more racks, and with more flows.

A cost is the difference of two runs of one plan, so that neither setting up nor the tables at the end count. Processor time
alone counts, and the fastest of some runs: other work on the machine, which needs the caches too, only ever slows one down.
However many racks there are, the same milliseconds are compared: in the first ones flows overflow their VOQs, and a packet
takes 1.4 times the instructions that it takes later.
"""

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from etalon.bench import machine, run_once
from etalon.plan import Plan

IMAGE = Path(__file__).parent / "images/scale.png"
REPEATS = 3
SECONDS = 0.3
"""A run that is short is repeated until its repetitions have taken so long."""

RING = """
[[permutation]]
size = "100MB"
cc = "reno"
"""
PAIR = """
[[bulk]]
from = 0
to = 1
cc = "reno"
"""


def _flows(count: int) -> str:
    """So many flows without end among 8 racks, each to the next."""
    bulk = '[[bulk]]\nfrom = {}\nto = {}\nflows = {}\ncc = "reno"\n'
    return "[tcp]\nmax_cwnd = 2\n" + "".join(
        bulk.format(rack, (rack + 1) % 8, count // 8) for rack in range(8)
    )


@dataclass(frozen=True)
class Point:
    """A plan whose packets are weighed."""

    size: int
    """Racks or flows."""
    racks: int
    workload: str
    times: tuple[int, int]
    """Virtual milliseconds of the two runs."""

    def plan(self, which: int) -> Plan:
        """The plan of the shorter run, or of the longer one."""
        head = f'duration = "{self.times[which]}ms"\nwarmup = "0s"\ntdf = 1\n'
        network = f"[network]\nracks = {self.racks}\nhosts = 16\nvoq = 16\n"
        return Plan.from_toml(head + network + self.workload)

    def cost(self) -> float:
        """Processor time of a packet in microseconds."""
        short, long = (_fastest(self.plan(which)) for which in (0, 1))
        packets = int(long["packets"]) - int(short["packets"])
        return 1e6 * (_seconds(long) - _seconds(short)) / packets


def _fastest(plan: Plan) -> Mapping[str, Any]:
    runs: list[Mapping[str, Any]] = []
    while len(runs) < REPEATS or sum(map(_seconds, runs)) < SECONDS:
        runs.append(run_once(plan))
    return min(runs, key=_seconds)


def _seconds(run: Mapping[str, Any]) -> float:
    return float(run["cpu_seconds"])


RACKS = dict.fromkeys((8, 64, 128, 512, 1000), (4, 12))
PAIRS = dict.fromkeys(RACKS, (400, 2400))
FLOWS = dict.fromkeys((16, 1_000, 16_000, 100_000), (200, 600))

OVER_FLOWS = "8 racks, windows of two segments"
LINES = {
    "all hosts send, to a random one each": [Point(n, n, RING, t) for n, t in RACKS.items()],
    "one pair of racks sends": [Point(n, n, PAIR, t) for n, t in PAIRS.items()],
    OVER_FLOWS: [Point(n, 8, _flows(n), t) for n, t in FLOWS.items()],
}
"""By workload; the last is over flows."""

Costs = Mapping[str, list[float]]


def table(costs: Costs) -> Iterator[str]:
    """The lines of a Markdown table."""
    yield "| workload | racks or flows | us a packet | times the first |"
    yield "|---|---:|---:|---:|"
    for name, points in LINES.items():
        first = costs[name][0]
        for point, cost in zip(points, costs[name], strict=True):
            yield f"| {name} | {point.size:,} | {cost:.2f} | {cost / first:.1f} |"


def draw(costs: Costs) -> bytes:
    """The figure: cost over racks, and over flows."""
    from matplotlib.figure import Figure

    from etalon.figures import style

    with style.context():
        figure = Figure(figsize=(style.PAGE, 2.6), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        for index, (name, points) in enumerate(LINES.items()):
            panel = right if name == OVER_FLOWS else left
            panel.plot(
                [point.size for point in points], costs[name], label=name,
                color=style.colour(index), marker=style.marker(index),
            )  # fmt: skip
        for panel, what, sizes in (
            (left, "racks of 16 hosts", RACKS),
            (right, "flows that are open", FLOWS),
        ):
            panel.set(xscale="log", xlabel=what, ylim=(0, None))
            panel.set_xticks(list(sizes), [f"{size:,}" for size in sizes])
            panel.minorticks_off()
            panel.legend()
        left.set_ylabel("processor time a packet (us)")
        return style.png(figure)


def main() -> None:
    """Runs everything, prints the table, draws the figure."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    costs = {name: [point.cost() for point in points] for name, points in LINES.items()}
    print(machine())
    print("\n".join(table(costs)))
    IMAGE.write_bytes(draw(costs))


if __name__ == "__main__":
    main()
