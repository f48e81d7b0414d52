# SPDX-License-Identifier: MIT OR Apache-2.0
"""The table of claims, on a terminal and in Markdown."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence

from etalon.reproduce.claims import CALIBRATED, NOT_MEASURED, NOT_YET, REPRODUCED, Judged
from etalon.reproduce.paper import FigureEntry, Paper, Unclaimed
from etalon.units import counted


def columns(held_against: str) -> tuple[str, ...]:
    """Headings of the table of claims."""
    return ("figure", "claim", held_against, "measured", "tolerance", "verdict")


ONE = {
    "changes": "change",
    "entries": "entry",
    "hops": "hop",
    "packets": "packet",
    "pairs": "pair",
    "points": "point",
    "steps": "step",
    "switches": "switch",
}
"""Units of counts, with their singular."""


def cells(judged: Judged) -> tuple[str, ...]:
    """A claim as text."""
    group = judged.claim.group
    return (
        group.figure,
        judged.claim.quantity,
        _in(group.unit, exact(judged.claim.published)),
        "-" if judged.measured is None else _in(group.unit, measured(judged)),
        group.tolerance,
        judged.verdict,
    )


def _in(unit: str, value: str) -> str:
    """A value with its unit: "2 packets", "1 packet"."""
    return f"{value} {ONE.get(unit, unit) if value == '1' else unit}"


def measured(judged: Judged) -> str:
    """The measured value, with its interval if it has one."""
    value = "-" if judged.measured is None else number(judged.measured)
    if judged.interval is None:
        return value
    low, high = judged.interval
    return f"{value} ({number(low)}..{number(high)})"


def exact(value: float) -> str:
    """A published value, with the digits that it has."""
    return str(int(value)) if value == int(value) else f"{value:g}"


def number(value: float) -> str:
    """A measured value with about as many digits as papers print."""
    if value == int(value):
        return str(int(value))
    if abs(value) < 1:
        return f"{value:.3g}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


def show(claims: Sequence[Judged], held_against: str) -> None:
    """Prints the table to standard output."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns(held_against):
        right = column in (held_against, "measured")
        table.add_column(column, justify="right" if right else "left", no_wrap=column != "claim")
    last = None
    for judged in claims:
        figure, *others = (escape(cell) for cell in cells(judged))
        if last is not None and figure != last:
            table.add_row()
        others[-1] = f"[{_colour(judged)}]{others[-1]}[/]"
        table.add_row("" if figure == last else f"[bold]{figure}[/]", *others)
        last = figure
    Console(width=None if sys.stdout.isatty() else 160).print(table)


def total(claims: Sequence[Judged]) -> str:
    """The verdicts, counted."""
    waiting = (NOT_YET, NOT_MEASURED)
    known = (REPRODUCED, CALIBRATED, *waiting)
    count = Counter(one.verdict if one.verdict in known else "" for one in claims)
    parts = [f"{count[REPRODUCED]} reproduced"]
    if count[CALIBRATED]:
        parts.append(f"{count[CALIBRATED]} calibrated")
    if count[""]:
        parts.append("1 differs" if count[""] == 1 else f"{count['']} differ")
    parts += [f"{count[verdict]} {verdict}" for verdict in waiting if count[verdict]]
    return f"{counted(len(claims), 'claim')}: {', '.join(parts)}"


def left_out(paper: Paper, figure: FigureEntry) -> str:
    """That a figure was not run, since it takes long, and the command that runs it."""
    claims = counted(sum(claim.group.figure == figure.id for claim in paper.claims), "claim")
    return f"figure {figure.id} not run ({claims}): {paper.command} --figure {figure.id} takes {figure.takes}"


def markdown(paper: Paper, claims: Sequence[Judged], left_out: Sequence[str] = ()) -> str:
    """The table in Markdown, the figures that were left out, and what of the paper no claim holds."""
    lines = ["", *(f"- {each}" for each in left_out)] if left_out else []
    return (
        "\n".join(
            [*_markdown(claims, paper.head.held_against), *lines, *_unclaimed(paper.unclaimed)]
        )
        + "\n"
    )


def not_claimed(unclaimed: Sequence[Unclaimed]) -> str:
    """How many values of the paper no claim holds."""
    count = sum(one.values for one in unclaimed)
    return f"{count} values of the paper are not claimed"


def _unclaimed(unclaimed: Sequence[Unclaimed]) -> Iterator[str]:
    if unclaimed:
        yield ""
        yield f"{not_claimed(unclaimed)} (a number in print, a mark, a bar, a curve or picture without a number):"
        yield ""
        yield "| where | values | what | why not |"
        yield "|---|---:|---|---|"
        for one in unclaimed:
            yield f"| {one.where} | {one.values} | {one.quantity} | {one.why} |"


def _markdown(claims: Sequence[Judged], held_against: str) -> Iterator[str]:
    yield "| " + " | ".join(columns(held_against)) + " |"
    yield "|---|---|---:|---:|---|---|"
    for judged in claims:
        yield "| " + " | ".join(cells(judged)) + " |"
    yield ""
    yield total(claims)
    reasons = dict.fromkeys(one.reason for one in claims if one.verdict == CALIBRATED)
    if reasons:
        yield ""
        yield f"Calibrated claims hold, and do not count as reproduced: {'; '.join(reasons)}."


def _colour(judged: Judged) -> str:
    if judged.verdict == REPRODUCED:
        return "green"
    if judged.verdict == CALIBRATED:
        return "cyan"
    return "dim" if judged.verdict in (NOT_YET, NOT_MEASURED) else "yellow"
