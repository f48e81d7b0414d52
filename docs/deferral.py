# SPDX-License-Identifier: MIT OR Apache-2.0
"""What TSO deferral costs: writes the table of docs/deferral.md and the figure of docs/dilation.md.

python docs/deferral.py [--weeks 100] [--seeds 5]    # both engines; two minutes of processor time
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, stdev

import etalon as et
from etalon import files, pages
from etalon.progress import bar
from etalon.reproduce.paper import Paper, X

PAGE = Path(__file__).with_suffix(".md")
PICTURE = PAGE.parent / "images" / "deferral.png"
WEEK_US = 4800
DIVISORS = (1, 2, 3, 5, 10, 100)
TDFS = (1, 20)
ENGINES = ("linux", "sim")
SERIES: dict[str, tuple[str, X, int]] = {
    "Reno, tau 1800 µs": ("controls-resize", "reno", 1800),
    "CUBIC, tau 1800 µs": ("resize", 1800, 1800),
    "DCTCP, tau 1200 µs": ("controls-resize", "dctcp", 1200),
    "reTCP, tau 150 µs": ("retcp", 150, 150),
}
"""Where NSDI'20 has it, by what, and how early the VOQ grows."""

Case = tuple[str, int, int, str]
"""A series, the divisor, `tdf`, the engine."""
Measured = dict[Case, list[float]]
"""Circuit utilisation in percent, seed by seed."""


def plans(weeks: int, engine: str) -> Iterator[tuple[Case, et.Plan]]:
    """Every point that an engine runs, with its first seed."""
    paper = Paper.load("nsdi20", engine)
    length = {"duration": f"{(weeks + 10) * WEEK_US}us", "warmup": f"{10 * WEEK_US}us"}
    for name, (series, x, tau) in SERIES.items():
        (plan,) = paper.point(series, x).plans[:1]
        for tdf in TDFS:
            for divisor in DIVISORS:
                hosts = {"tdf": tdf, "tcp.hz": 250, "tcp.tso_win_divisor": divisor}
                voq = {"network.voq.resize.before": f"{tau}us"}
                yield (name, divisor, tdf, engine), plan.replace({**length, **hosts, **voq})


def main() -> None:
    """Runs all, prints the tables, and writes page and picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weeks", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=5)
    asked = parser.parse_args()
    measured: Measured = {}
    for engine in ENGINES:
        todo = [
            (case, plan.replace(seed=seed))
            for case, plan in plans(asked.weeks, engine)
            for seed in range(1, asked.seeds + 1)
        ]
        with bar(f"deferral ({engine})") as progress:
            runs = et.run_many([plan for _, plan in todo], engine=engine, progress=progress)
        for (case, _), run in zip(todo, runs, strict=True):
            measured.setdefault(case, []).append(100 * (run.circuit_utilization_nsdi20 or 0))
    text = "\n".join(table(measured, asked.weeks))
    print(text)
    PICTURE.parent.mkdir(exist_ok=True)
    files.put(PICTURE, picture(measured))
    pages.put(PAGE, text)


def table(measured: Measured, weeks: int) -> Iterator[str]:
    """Circuit utilisation by divisor: Linux, and the simulator behind it."""
    seeds = len(next(iter(measured.values())))
    yield f"{weeks} weeks each, means of {seeds} seeds. Circuit utilisation in percent: Linux / simulator.\n"
    yield f"| `tso_win_divisor` | {' | '.join(map(str, DIVISORS))} |"
    yield f"|---|{'---:|' * len(DIVISORS)}"
    for name in SERIES:
        for tdf in TDFS:
            cells = (
                " / ".join(
                    f"{fmean(measured[name, divisor, tdf, engine]):.1f}" for engine in ENGINES
                )
                for divisor in DIVISORS
            )
            yield f"| {name}, `tdf = {tdf}` | {' | '.join(cells)} |"
    yield ""
    yield from sums(measured)


def sums(measured: Measured) -> Iterator[str]:
    """How far the engines are from each other, and how far one seed is from the next, in points."""
    for tdf in TDFS:
        points = [(name, divisor, tdf) for name in SERIES for divisor in DIVISORS]
        gaps = [
            fmean(measured[*point, "sim"]) - fmean(measured[*point, "linux"]) for point in points
        ]
        farthest = max(zip(map(abs, gaps), points, strict=True))
        seeds = [
            fmean(stdev(measured[*point, engine]) for point in points)
            if len(measured[*points[0], engine]) > 1
            else 0
            for engine in ENGINES
        ]
        name, divisor, _ = farthest[1]
        yield (
            f"- `tdf = {tdf}`: the simulator is {fmean(gaps):+.1f} points from Linux, {fmean(map(abs, gaps)):.1f} "
            f"without sign, {farthest[0]:.1f} at most ({name}, divisor {divisor}). Standard deviation of a seed, "
            f"mean of the points: {seeds[0]:.1f} on Linux, {seeds[1]:.1f} in the simulator."
        )


def picture(measured: Measured) -> bytes:
    """Utilisation over the divisor, a panel a series, a line an engine and a `tdf`."""
    from matplotlib.figure import Figure

    from etalon.figures import style

    with style.context():
        figure = Figure(figsize=(style.PAGE, 2.4), layout="constrained")
        axes = figure.subplots(1, len(SERIES), sharey=True)
        for name, ax in zip(SERIES, axes, strict=True):
            for index, tdf in enumerate(TDFS):
                for engine, line in zip(ENGINES, ("-", ":"), strict=True):
                    ax.plot(
                        DIVISORS,
                        [fmean(measured[name, divisor, tdf, engine]) for divisor in DIVISORS],
                        color=style.colour(index), marker=style.marker(index), linestyle=line,
                        label=f"{'Linux' if engine == 'linux' else 'simulator'}, tdf {tdf}",
                    )  # fmt: skip
            ax.set_xscale("log")
            ax.set_xticks(DIVISORS, [str(divisor) for divisor in DIVISORS])
            ax.minorticks_off()
            ax.set_title(name, fontsize=8)
            ax.set_xlabel("tso_win_divisor")
            ax.set_ylim(50, 102)
        axes[0].set_ylabel("circuit utilisation (%)")
        axes[0].legend(loc="lower right", fontsize=6)
        return style.png(figure)


if __name__ == "__main__":
    main()
