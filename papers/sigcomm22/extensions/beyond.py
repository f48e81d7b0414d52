# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs what is beyond the paper, prints it, and writes docs/tdtcp-beyond.md with its figures.

python papers/sigcomm22/extensions/beyond.py               # the simulator, and some points on real Linux
python papers/sigcomm22/extensions/beyond.py --only voq    # one experiment: prints, writes nothing
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import etalon as et
from etalon import files, pages
from etalon.papers.sigcomm22.extensions import drawings
from etalon.papers.sigcomm22.extensions.experiments import (
    EXPERIMENTS,
    MAP,
    MAP_TITLE,
    MAP_WEEK,
    Changes,
    Experiment,
    plan,
)
from etalon.papers.sigcomm22.extensions.quantities import QUANTITIES, Measured

PAGE = Path(__file__).parents[3] / "docs" / "tdtcp-beyond.md"
IMAGES = PAGE.parent / "images"


def found() -> dict[str, str]:
    """What was found, by experiment."""
    text = Path(__file__).with_name("found.md").read_text(encoding="utf-8")
    parts = (part.partition("\n") for part in text.split("\n## ")[1:])
    return {name: said.strip() for name, _, said in parts}


def run(what: Experiment, engine: str = "sim") -> Measured:
    """All runs of an experiment."""
    print(f"{what.title}, {engine}", file=sys.stderr, flush=True)
    todo = list(what.plans(engine))
    measured: dict[tuple[str, str | float], list[et.Run]] = {}
    runs = et.run_many([one for *_, one in todo], engine=engine)
    for (line, x, _), done in zip(todo, runs, strict=True):
        measured.setdefault((line, x), []).append(done)
    return measured


def table(what: Experiment, measured: Measured) -> Iterator[str]:
    """A row for each x, columns for each quantity of each line; a ratio where two transports are compared."""
    against = next(iter(what.lines))
    compared = [
        line for line in what.lines if line.startswith("TDTCP") and against in ("CUBIC", "TCP")
    ]
    ratios = compared if what.of[0] == "goodput" else []
    heads = [f"{line}, {QUANTITIES[name].short}" for name in what.of for line in what.lines]
    heads += [f"{line} over {against}" for line in ratios]
    yield f"| {what.xlabel} | {' | '.join(heads)} |"
    yield f"|---|{'---:|' * len(heads)}"
    goodput = QUANTITIES["goodput"]
    for x in what.points:
        if (against, x) not in measured:
            continue
        cells = [
            QUANTITIES[name].text(measured[line, x]) for name in what.of for line in what.lines
        ]
        base = goodput.mean(measured[against, x])
        cells += [f"{goodput.mean(measured[line, x]) / base:.2f}" for line in ratios]
        yield f"| {x} | {' | '.join(cells)} |"


def on_linux(what: Experiment, simulated: Measured) -> Iterator[str]:
    """The points that real Linux runs, too: simulator / Linux."""
    if not what.linux:
        return
    real = run(what, "linux")
    shown = [name for name in what.of if name != "spurious"]
    heads = [f"{line}, {QUANTITIES[name].short}" for name in shown for line in what.lines]
    yield "\nSimulator / real Linux, seed 1 there:\n"
    yield f"| {what.xlabel} | {' | '.join(heads)} |"
    yield f"|---|{'---:|' * len(heads)}"
    for x in what.linux:
        cells = [
            f"{QUANTITIES[name].text(simulated[line, x])} / {QUANTITIES[name].text(real[line, x])}"
            for name in shown
            for line in what.lines
        ]
        yield f"| {x} | {' | '.join(cells)} |"


def section(what: Experiment, writes: bool) -> Iterator[str]:
    """Heading, what was found, numbers, figures."""
    measured = run(what)
    yield f"## {what.title}\n"
    yield f"{found()[what.id]}\n"
    if writes:
        yield _put(what.id, what.title, drawings.experiment(what, measured))
    yield from table(what, measured)
    yield from on_linux(what, measured)
    yield ""
    if writes and what.week:
        yield week(what.id, what.title, what.week)


def week(name: str, title: str, lines: Mapping[str, Changes]) -> str:
    """Draws the mean week of some runs: why it is so."""
    runs = et.run_many([plan(changes) for changes in lines.values()])
    picture = drawings.week(dict(zip(lines, runs, strict=True)))
    return _put(f"{name}-week", f"{title}: the mean week", picture)


def map_section(writes: bool) -> Iterator[str]:
    """RTT of the packet network times length of a day."""
    goodput = QUANTITIES["goodput"]
    measured = {part.title: run(part) for part in MAP}
    against, *transports = MAP[0].lines
    ratios = {
        line: {
            part.title: [
                goodput.mean(measured[part.title][line, x])
                / goodput.mean(measured[part.title][against, x])
                for x in part.points
            ]
            for part in MAP
        }
        for line in transports
    }
    yield f"## {MAP_TITLE}\n"
    yield f"{found()['map']}\n"
    if writes:
        yield _put("map", MAP_TITLE, drawings.map_of(MAP, ratios))
    yield f"| day | {' | '.join(f'{x} us' for x in MAP[0].points)} |"
    yield f"|---|{'---:|' * len(MAP[0].points)}"
    for part in MAP:
        cells = zip(*(ratios[line][part.title] for line in transports), strict=True)
        yield f"| {part.title} | {' | '.join(' / '.join(f'{r:.2f}' for r in cell) for cell in cells)} |"
    yield ""
    if writes:
        yield week("map", f"{MAP_TITLE} (400 us, 180 us)", MAP_WEEK)


def _put(name: str, title: str, picture: bytes) -> str:
    """Keeps a figure beside the page; the line that shows it."""
    IMAGES.mkdir(exist_ok=True)
    files.put(IMAGES / f"tdtcp-beyond-{name}.png", picture)
    return f"![{title}](images/tdtcp-beyond-{name}.png)\n"


def main() -> None:
    """Runs all or one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=["map", *(what.id for what in EXPERIMENTS)])
    only = parser.parse_args().only
    writes = only is None
    parts: list[str] = []
    if only in (None, "map"):
        parts += map_section(writes)
    for what in EXPERIMENTS:
        if only in (None, what.id):
            parts += section(what, writes)
    text = "\n".join(parts)
    print(text)
    if writes:
        pages.put(PAGE, text)


if __name__ == "__main__":
    main()
