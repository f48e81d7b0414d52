# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pieces of HTML for notebooks and reports; all text is escaped."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from html import escape


def inline(text: str) -> str:
    """Text with code in backquotes."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    """A table for a notebook, which styles it itself; columns with the numbers in `right` are flush right."""
    flush = set(right)

    def cells(tag: str, values: Sequence[str]) -> str:
        return "".join(
            f'<{tag} style="text-align: {"right" if at in flush else "left"}">{inline(value)}</{tag}>'
            for at, value in enumerate(values)
        )

    head = f"<thead><tr>{cells('th', columns)}</tr></thead>" if any(columns) else ""
    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table>{head}<tbody>{body}</tbody></table>"


def image(png: bytes, alternative: str, width: int) -> str:
    """A PNG inside the page; on a dark page it keeps its white ground."""
    data = base64.b64encode(png).decode("ascii")
    return (
        f'<img alt="{escape(alternative)}" width="{width}" style="background: white; max-width: 100%" '
        f'src="data:image/png;base64,{data}">'
    )


def folded(title: str, content: str) -> str:
    """What is shown when asked for."""
    return f"<details><summary>{inline(title)}</summary>{content}</details>"


def code(text: str) -> str:
    """Text as it stands."""
    return f"<pre>{escape(text)}</pre>"
