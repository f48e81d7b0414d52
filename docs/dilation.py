# SPDX-License-Identifier: MIT OR Apache-2.0
"""What time dilation changed: writes the table and the figure of docs/dilation.md.

python docs/dilation.py                  # real Linux TCP; about ten minutes on two cores
python docs/dilation.py --engine sim     # the simulator's answer: prints, writes nothing
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import etalon as et
from etalon import files, pages
from etalon.progress import bar
from etalon.reproduce.paper import Paper, X

PAGE = Path(__file__).with_suffix(".md")
PICTURE = PAGE.parent / "images" / "dilation.png"
WEEK_US = 4800
WEEKS = 1000
HOSTS = {
    "dilated 20x, HZ 250": {"tdf": 20, "tcp.hz": 250},
    "not dilated, HZ 250": {"tdf": 1, "tcp.hz": 250},
    "not dilated, HZ 1000": {"tdf": 1, "tcp.hz": 1000},
}
PANELS = {
    "static": ("static VOQs, CUBIC", "VOQ (packets)"),
    "resize": ("resize(16, 50, tau), CUBIC", "tau (µs)"),
    "retcp": ("resize(16, 50, tau), reTCP", "tau (µs)"),
    "controls": ("static 16-packet VOQs", ""),
    "controls-resize": ("resize(16, 50, 1200 µs)", ""),
}


@dataclass(frozen=True)
class Point:
    """One point of a series of the paper with one kind of host."""

    series: str
    x: X
    hosts: str
    plan: et.Plan


def points(engine: str) -> Iterator[Point]:
    """Every point of NSDI'20's figures 4, 8, 9, 10 and 11, shorter than the paper's: 1000 weeks."""
    paper = Paper.load("nsdi20", engine)
    length = {"duration": f"{(WEEKS + 10) * WEEK_US}us", "warmup": f"{10 * WEEK_US}us"}
    for series in PANELS:
        for x in paper.series[series].x:
            for plan in paper.point(series, x).plans:
                for name, hosts in HOSTS.items():
                    yield Point(series, x, name, plan.replace({**length, **hosts}))


def main() -> None:
    """Runs all, prints the tables, and for Linux writes page and picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", default="linux", choices=("linux", "sim"))
    engine = parser.parse_args().engine
    todo = list(points(engine))
    with bar("dilation") as progress:
        runs = et.run_many([point.plan for point in todo], engine=engine, progress=progress)
    measured = {
        (point.series, point.x, point.hosts): (
            100 * (run.circuit_utilization_nsdi20 or 0),
            run.latency(99),
        )
        for point, run in zip(todo, runs, strict=True)
    }
    text = "\n".join(tables(measured))
    print(text)
    if engine == "linux":
        PICTURE.parent.mkdir(exist_ok=True)
        files.put(PICTURE, picture(measured))
        pages.put(PAGE, text)


Measured = dict[tuple[str, X, str], tuple[float, float]]


def tables(measured: Measured) -> Iterator[str]:
    """A table a series: utilisation and 99th percentile latency with each kind of host."""
    for series, (title, _) in PANELS.items():
        xs = list(dict.fromkeys(x for name, x, _ in measured if name == series))
        yield f"### {title}\n"
        yield f"| {'congestion control' if series.startswith('controls') else PANELS[series][1]} | {' | '.join(HOSTS)} |"
        yield f"|---|{'---:|' * len(HOSTS)}"
        for x in xs:
            cells = (measured[series, x, hosts] for hosts in HOSTS)
            yield f"| {x} | {' | '.join(f'{u:.1f} %, {p99:.0f} µs' for u, p99 in cells)} |"
        yield ""


def picture(measured: Measured) -> bytes:
    """Utilisation over what each figure varies, a line a kind of host."""
    from matplotlib.figure import Figure

    from etalon.figures import style

    with style.context():
        figure = Figure(figsize=(style.PAGE, 4.6), layout="constrained")
        halves: Any = figure.subfigures(2, 1, height_ratios=(1, 1.15))
        top, bottom = halves
        axes = [*top.subplots(1, 3, sharey=True), *bottom.subplots(1, 2, sharey=True)]
        for (series, (title, label)), ax in zip(PANELS.items(), axes, strict=True):
            xs = list(dict.fromkeys(x for name, x, _ in measured if name == series))
            bars = series.startswith("controls")
            places = range(len(xs)) if bars else xs
            for index, hosts in enumerate(HOSTS):
                ax.plot(
                    places, [measured[series, x, hosts][0] for x in xs],
                    color=style.colour(index), marker=style.marker(index), label=hosts,
                    linestyle="none" if bars else "-",
                )  # fmt: skip
            if bars:
                ax.set_xticks(places, xs, rotation=90)
            if series == "static":
                ax.set_xscale("log", base=2)
                ax.set_xticks(xs, [str(x) for x in xs])
            ax.set_title(title, fontsize=8)
            ax.set_xlabel(label)
            ax.set_ylim(0, 102)
        for ax in (axes[0], axes[3]):
            ax.set_ylabel("circuit utilisation (%)")
        axes[1].legend(loc="lower right")
        return style.png(figure)


if __name__ == "__main__":
    main()
