# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lines of traces of flows: `source destination bytes start_ns`, and a class if wanted."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import NamedTuple

from etalon.errors import PlanError
from etalon.plan.workloads.base import HostId
from etalon.units import SIZE, TIME, shown

LONGEST_LINE = 1000
"""In characters."""


class Line(NamedTuple):
    """One flow of a file."""

    number: int
    src: str
    dst: str
    size: int
    start: int
    flow_class: str


def read_line(number: int, words: list[str]) -> Line:
    """The flow that a line says. Raises `ValueError`."""
    if len(words) not in (4, 5):
        raise ValueError(
            f"a line has 4 words, source destination bytes start_ns, and may have a class as fifth; this has {len(words)}"
        )
    src, dst, size, start, *rest = words
    for name, word in (("bytes", size), ("start_ns", start)):
        if not word.isascii() or not word.isdecimal():
            raise ValueError(f"{name} must be a whole number, not {shown(word)}")
    if int(size) == 0:
        raise ValueError("bytes must be more than zero")
    for name, word, quantity in (("bytes", size, SIZE), ("start_ns", start, TIME)):
        if int(word) > quantity.parse(quantity.largest):
            raise ValueError(f"{name} is at most {quantity.largest}, not {shown(word)}")
    return Line(number, src, dst, int(size), int(start), rest[0] if rest else "")


def words_of(text: str, where: str) -> list[str]:
    """The words of a line, none of a comment. Raises `PlanError` for one that is too long to be a flow."""
    if len(text) >= LONGEST_LINE:
        raise PlanError(f"a line must have fewer than {LONGEST_LINE} characters", file=where)
    words = text.split()
    return [] if words and words[0].startswith("#") else words


def line_without_text(path: Path) -> int:
    """The number of the first line of a file that is not UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line = 1
    with path.open("rb") as file:
        try:
            while piece := file.read(1 << 19):
                line += decoder.decode(piece).count("\n")
            decoder.decode(b"", final=True)
        except UnicodeDecodeError as error:
            line += error.object[: error.start].count(b"\n")
    return line


def host_of(word: str, racks: int, hosts: int) -> HostId:
    """A host, written r0h3 or as its number. Raises `ValueError`."""
    rack, mark, host = word.removeprefix("r").partition("h")
    if word.startswith("r") and mark and rack.isdecimal() and host.isdecimal():
        found = int(rack), int(host)
    elif word.isascii() and word.isdecimal():
        found = divmod(int(word), hosts)
    else:
        raise ValueError(f"{shown(word)} is not a host: it is written like r0h3, or as its number")
    if found[0] >= racks or found[1] >= hosts:
        raise ValueError(
            f"there is no host {word} (racks 0..{racks - 1}, hosts 0..{hosts - 1}, "
            f"numbers 0..{racks * hosts - 1})"
        )
    return found
