"""The `[[trace]]` table: flows from a file."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import Field

from etalon.errors import PlanError
from etalon.plan.workloads.base import MOST_FLOWS, HostId, Setting, Workload, write_host
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


class Trace(Workload):
    """Flows from a file: a line each, `source destination bytes start_ns`, and a class if wanted.

    Hosts are written r0h3 or numbered from 0, rack by rack. Empty lines and lines that begin with # are left out.
    """

    about: ClassVar = "flows from a file: source, destination, bytes, start"
    file: Annotated[str, Field(min_length=1)]
    """The file; a relative path starts at the folder of the plan. The folder of a run has a copy."""

    def resolve(self, setting: Setting) -> Iterator[dict[str, Any]]:
        """The flows as the core takes them, in the order of the file. Their starts count from that of the workload."""
        for line in self.lines:
            src = _host(line.src, setting.racks, setting.hosts)
            dst = _host(line.dst, setting.racks, setting.hosts)
            start = self.start + line.start
            yield self.one(src, dst, line.size, start, flow_class=line.flow_class)

    def expected(self, setting: Setting) -> float:
        """How many flows that is."""
        return len(self.lines)

    @property
    def text(self) -> str:
        """The flows as a file says them."""
        return "".join(" ".join(filter(None, map(str, line[1:]))) + "\n" for line in self.lines)

    @cached_property
    def lines(self) -> list[Line]:
        """The flows of the file, as it was when the plan was made. Raises `PlanError` if it cannot be read."""
        path = Path(self.file)
        try:
            if path.exists() and not path.is_file():
                raise PlanError("is not a file", file=self.file)
            return _read(path, path.stat().st_mtime_ns)
        except FileNotFoundError:
            raise PlanError("there is no such file", file=self.file) from None
        except UnicodeDecodeError:
            raise PlanError("is not text", file=self.file) from None
        except OSError as error:
            raise PlanError(f"cannot be read: {error.strerror}", file=self.file) from None

    def problems(self, key: str, setting: Setting) -> Iterator[PlanError]:
        """What is wrong with the file, with its line, for a network of this size."""
        yield from super().problems(key, setting)
        try:
            lines = self.lines
        except PlanError as error:
            yield error
            return
        if not lines:
            yield PlanError("holds no flow", file=self.file)
        for line in lines:
            try:
                src, dst = (
                    _host(name, setting.racks, setting.hosts) for name in (line.src, line.dst)
                )
                if src == dst:
                    raise ValueError(f"host {write_host(src)} would send to itself")
            except ValueError as error:
                yield PlanError(str(error), file=f"{self.file}:{line.number}")
                return


@lru_cache(maxsize=8)
def _read(path: Path, _: int) -> list[Line]:
    """The flows of a file, read once for each state that it is in."""
    lines: list[Line] = []
    with path.open(encoding="utf-8") as file:
        for number, text in enumerate(iter(lambda: file.readline(LONGEST_LINE), ""), 1):
            where = f"{path}:{number}"
            if len(text) >= LONGEST_LINE:
                raise PlanError(f"a line has fewer than {LONGEST_LINE} characters", file=where)
            words = text.split()
            if not words or words[0].startswith("#"):
                continue
            if len(lines) >= MOST_FLOWS:
                raise PlanError(f"has more than {MOST_FLOWS} flows", file=where)
            try:
                lines.append(_line(number, words))
            except ValueError as error:
                raise PlanError(f"{shown(text.strip())}: {error}", file=where) from None
    return lines


def _line(number: int, words: list[str]) -> Line:
    if len(words) not in (4, 5):
        raise ValueError(
            f"a line has 4 words, source destination bytes start_ns, or a class as fifth; this has {len(words)}"
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


def _host(word: str, racks: int, hosts: int) -> HostId:
    """A host, written r0h3 or as its number."""
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
