# SPDX-License-Identifier: MIT OR Apache-2.0
# mypy: disable-error-code="import-untyped"
"""One HTML page that opens without a network: text, tables, and figures that are interactive on screen.

plotly.js is stored once, compressed, and unpacked by the browser. The Python package of plotly ships the whole library
only (4.8 MB, none of its smaller builds); compressed it is 1.9 MB. Each figure also has its printed form: that is what
paper gets, and what a browser without scripts shows.
"""

from __future__ import annotations

import base64
import gzip
import html
import io
import json
import os
import re
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from etalon import files
from etalon.amounts import is_number, number
from etalon.markup import inline

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from etalon.figures.types import WebFigure


class Part(Protocol):
    """A piece of a section."""

    def html(self) -> str:
        """The piece as HTML, all text escaped."""
        ...


@dataclass(frozen=True)
class Section:
    """A part of the page."""

    title: str
    """Its heading; empty for what opens the page."""
    parts: Sequence[Part]


@dataclass(frozen=True)
class Prose:
    """Text; a blank line begins a paragraph, backquotes are code."""

    text: str
    warning: bool = False

    def html(self) -> str:
        style = ' class="warning"' if self.warning else ""
        paragraphs = re.split(r"\n\s*\n", self.text.strip())
        return "\n".join(f"<p{style}>{inline(paragraph)}</p>" for paragraph in paragraphs)


@dataclass(frozen=True)
class Answer:
    """What came out, in one sentence: it opens the page."""

    text: str

    def html(self) -> str:
        return f'<p class="answer">{inline(self.text)}</p>'


@dataclass(frozen=True)
class Code:
    """Text as it stands, in a fixed-width face."""

    text: str

    def html(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


@dataclass(frozen=True)
class Table:
    """Rows of cells. Numbers have four significant digits and are flush right, None is a hyphen."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    caption: str = ""
    right: Sequence[int] = ()
    """Columns of text that are flush right: numbers that were written already."""
    spare: Sequence[int] = ()
    """Columns that a phone has no room for."""

    def html(self) -> str:
        classes = [self._class(at) for at in range(len(self.columns))]
        heads = zip(self.columns, classes, strict=True)
        head = "".join(f"<th{kind}>{html.escape(str(name))}</th>" for name, kind in heads)
        body = "\n".join(
            "<tr>"
            + "".join(
                f"<td{kind}>{_cell(value)}</td>" for value, kind in zip(row, classes, strict=True)
            )
            + "</tr>"
            for row in self.rows
        )
        head = f"<thead><tr>{head}</tr></thead>\n" if any(self.columns) else ""
        caption = f'<p class="caption">{inline(self.caption)}</p>' if self.caption else ""
        return f'{caption}<div class="table"><table>{head}<tbody>{body}</tbody></table></div>'

    def _class(self, column: int) -> str:
        numeric = column in self.right or any(is_number(row[column]) for row in self.rows)
        kinds = ["number"] * numeric + ["spare"] * (column in self.spare)
        return f' class="{" ".join(kinds)}"' if kinds else ""


@dataclass(frozen=True)
class Claims:
    """Claims of a paper and what became of them.

    Each row has `id`, `figure`, `quantity`, `published`, `measured` (None: nothing was), `unit`, `tolerance`, `verdict`
    and maybe `reason`: the rows of `etalon reproduce --json`. A verdict other than "reproduced" and those that begin
    with "not" is a difference.
    """

    rows: Sequence[Mapping[str, Any]]
    held_against: str = "published"
    """Heading of the column `published`."""
    counted: bool = True
    """Whether the tally stands above the table."""

    @property
    def tally(self) -> str:
        """How many claims were reproduced, in a sentence."""
        kinds = [_verdict_class(str(row["verdict"])) for row in self.rows]
        good, bad, none = kinds.count("good"), kinds.count("bad"), kinds.count("")
        text = f"{good} of {len(self.rows)} claims reproduced"
        if bad:
            text += f", {bad} {'differs' if bad == 1 else 'differ'}"
        if none:
            text += f", {none} without a measurement"
        return text + "."

    def html(self) -> str:
        head = (
            f'<th>figure</th><th>claim</th><th class="number">{html.escape(self.held_against)}</th>'
            '<th class="number">measured</th>'
            "<th>unit</th><th>tolerance</th><th>verdict</th>"
        )
        rows = "\n".join(self._row(row) for row in self.rows)
        table = f"<table><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table>"
        above = f"<p>{html.escape(self.tally)}</p>\n" if self.counted else ""
        return f'{above}<div class="table">{table}</div>'

    @staticmethod
    def _row(row: Mapping[str, Any]) -> str:
        verdict = str(row["verdict"])
        kind = _verdict_class(verdict)
        sign = {"good": "✓ ", "bad": "✗ ", "": ""}[kind]
        reason = (
            f'<span class="reason">{inline(str(row["reason"]))}</span>' if row.get("reason") else ""
        )
        cells = [
            f"<td>{_cell(row['figure'])}</td>",
            f'<td title="{html.escape(str(row["id"]))}">{_cell(row["quantity"])}</td>',
            f'<td class="number">{_cell(row["published"])}</td>',
            f'<td class="number">{_cell(row["measured"])}{_interval(row)}</td>',
            f"<td>{_cell(row['unit'])}</td>",
            f"<td>{_cell(row['tolerance'])}</td>",
            f'<td class="verdict {kind}"><span>{sign}{html.escape(verdict)}</span>{reason}</td>',
        ]
        return f"<tr>{''.join(cells)}</tr>"


def _interval(row: Mapping[str, Any]) -> str:
    """The ends of a confidence interval, if there is one."""
    if "interval" not in row:
        return ""
    low, high = row["interval"]
    return f" ({_cell(low)} to {_cell(high)})"


@dataclass(frozen=True)
class Picture:
    """A figure: printed, interactive, or (best) both."""

    caption: str
    printed: Figure | Path | None = None
    """The printed form, or the path of its PNG file."""
    interactive: WebFigure | None = None
    alternative: str = field(default="")
    """What the figure shows, for those who cannot see it; the caption if empty."""

    def html(self) -> str:
        parts = []
        if self.interactive is not None:
            document = json.dumps(
                self.interactive.to_plotly_json(), cls=_encoder(), separators=(",", ":")
            )
            # An HTML parser ends the element at the first "</script": no "<" may be seen.
            safe = document.replace("<", "\\u003c")
            parts.append(
                f'<div class="interactive"></div><script type="application/json">{safe}</script>'
            )
        if self.printed is not None:
            alternative = html.escape(self.alternative or self.caption)
            content = (
                self.printed.read_bytes() if isinstance(self.printed, Path) else _png(self.printed)
            )
            width = (
                int.from_bytes(content[16:20], "big") * 4 // 5
            )  # IHDR; 200 dpi in print is 160 on screen
            source = f"data:image/png;base64,{base64.b64encode(content).decode('ascii')}"
            parts.append(f'<img alt="{alternative}" width="{width}" src="{source}">')
        live = " data-figure" if self.interactive is not None else ""
        only = ' class="only"' if self.printed is None else ""
        return f"<figure{only}{live}>{''.join(parts)}<figcaption>{inline(self.caption)}</figcaption></figure>"


def render(title: str, sections: Sequence[Section], *, subtitle: str = "") -> str:
    """The whole page as text. The same content gives the same text."""
    named = [(f"s{number}", section) for number, section in enumerate(sections, 1)]
    links = "".join(
        f'<a href="#{key}">{html.escape(section.title)}</a>'
        for key, section in named
        if section.title
    )
    body = "\n".join(
        f'<section id="{key}">{_heading(section.title)}\n'
        + "\n".join(part.html() for part in section.parts)
        + "</section>"
        for key, section in named
    )
    scripts = ""
    if "data-figure" in body:
        scripts = f'<script type="text/plain" id="plotly">{_plotly()}</script>\n'
        scripts += f"<script>{_resource('page.js')}</script>"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<style>
{_resource("page.css")}</style>
</head>
<body>
<header><h1>{html.escape(title)}</h1>
<p class="subtitle">{inline(subtitle)}</p>
<nav>{links}</nav></header>
<main>
{body}
</main>
{scripts}
</body>
</html>
"""


def _heading(title: str) -> str:
    return f"<h2>{html.escape(title)}</h2>" if title else ""


def write(
    path: str | os.PathLike[str], title: str, sections: Sequence[Section], *, subtitle: str = ""
) -> Path:
    """Writes the page to `path`, whole or not at all, and returns the path.

    Raises:
        OSError: if the file cannot be written.
    """
    path = Path(path)
    text = render(title, sections, subtitle=subtitle)
    path.parent.mkdir(parents=True, exist_ok=True)
    files.put(path, text)
    return path


def _cell(value: Any) -> str:
    if value is None or value != value:
        return "-"
    return number(value) if is_number(value) else inline(str(value))


def _verdict_class(verdict: str) -> str:
    if verdict == "reproduced":
        return "good"
    return "" if verdict == "calibrated" or verdict.startswith("not ") else "bad"


def _png(figure: Figure) -> bytes:
    from etalon.figures import style

    return style.png(figure)


def _encoder() -> type[json.JSONEncoder]:
    from plotly.utils import PlotlyJSONEncoder

    encoder: type[json.JSONEncoder] = PlotlyJSONEncoder
    return encoder


def _resource(name: str) -> str:
    return resources.files("etalon.report").joinpath(name).read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _plotly() -> str:
    library = resources.files("plotly").joinpath("package_data", "plotly.min.js")
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=4, mtime=0) as stream:
        stream.write(library.read_bytes())
    return base64.b64encode(packed.getvalue()).decode("ascii")
