"""What TSO deferral costs: writes the table of docs/deferral.md and the figure of docs/dilation.md.

python docs/deferral.py [--weeks 200]    # both engines; about five minutes on two cores
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

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


def plans(weeks: int, engine: str) -> Iterator[tuple[Case, et.Plan]]:
    """Every point that an engine runs."""
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
    parser.add_argument("--weeks", type=int, default=200)
    weeks = parser.parse_args().weeks
    measured: dict[Case, float] = {}
    for engine in ENGINES:
        todo = dict(plans(weeks, engine))
        with bar(f"deferral ({engine})") as progress:
            runs = et.run_many(list(todo.values()), engine=engine, progress=progress)
        for case, run in zip(todo, runs, strict=True):
            measured[case] = 100 * (run.circuit_utilization_nsdi20 or 0)
    text = "\n".join(table(measured, weeks))
    print(text)
    PICTURE.parent.mkdir(exist_ok=True)
    files.put(PICTURE, picture(measured))
    pages.put(PAGE, text)


def table(measured: dict[Case, float], weeks: int) -> Iterator[str]:
    """Circuit utilisation by divisor: Linux, and the simulator behind it."""
    yield f"{weeks} weeks each, one seed. Circuit utilisation in percent: Linux / simulator.\n"
    yield f"| `tso_win_divisor` | {' | '.join(map(str, DIVISORS))} |"
    yield f"|---|{'---:|' * len(DIVISORS)}"
    for name in SERIES:
        for tdf in TDFS:
            cells = (
                " / ".join(f"{measured[name, divisor, tdf, engine]:.1f}" for engine in ENGINES)
                for divisor in DIVISORS
            )
            yield f"| {name}, `tdf = {tdf}` | {' | '.join(cells)} |"


def picture(measured: dict[Case, float]) -> bytes:
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
                        DIVISORS, [measured[name, divisor, tdf, engine] for divisor in DIVISORS],
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
