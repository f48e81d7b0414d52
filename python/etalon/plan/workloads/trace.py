# SPDX-License-Identifier: MIT OR Apache-2.0
"""The `[[trace]]` table: flows from a file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from etalon.errors import PlanError
from etalon.plan.workloads.base import MOST_FLOWS, Setting, Workload, write_host
from etalon.plan.workloads.given_file import CHANGED, digest, stamp, told
from etalon.plan.workloads.trace_lines import (
    LONGEST_LINE,
    Line,
    host_of,
    read_line,
    words_of,
)
from etalon.units import shown

if TYPE_CHECKING:
    from etalon.plan.workloads.batches import Batch
    from etalon.plan.workloads.trace_batches import Contents


class Trace(Workload):
    """Flows from a file: a line each, `source destination bytes start_ns`, and a class if wanted.

    Hosts are written r0h3 or numbered from 0, rack by rack. Empty lines and lines that begin with # are left out. More than
    100,000 flows are in order of start, and are read while the plan is run.
    """

    everywhere: ClassVar = True
    about: ClassVar = "flows from a file: source, destination, bytes, start"
    streams: ClassVar = True
    file: Annotated[str, Field(min_length=1)]
    """The file; a relative path starts at the plan's folder. A run's folder contains a copy."""

    def resolve(self, setting: Setting) -> Iterator[dict[str, Any]]:
        """The flows as the core takes them, in the order of the file. Their starts count from that of the workload."""
        for line in self.lines or ():
            src = host_of(line.src, setting.racks, setting.hosts)
            dst = host_of(line.dst, setting.racks, setting.hosts)
            start = self.start + line.start
            yield self.one(src, dst, line.size, start, flow_class=line.flow_class)

    def expected(self, setting: Setting) -> float:
        """How many flows that is."""
        return self._contents(setting).flows if self.lines is None else len(self.lines)

    def classes(self, setting: Setting) -> tuple[str, ...]:
        """Those of the file, in the order in which they come, or one."""
        if self.flow_class:
            return (self.flow_class,)
        if self.lines is None:
            return tuple(self._contents(setting).classes)
        return tuple(dict.fromkeys(line.flow_class for line in self.lines))

    def rack_pairs(self, setting: Setting) -> Iterator[tuple[int, int]]:
        """Those of the file."""
        if self.lines is None:
            return iter(self._contents(setting).rack_pairs)
        return super().rack_pairs(setting)

    def batches(self, setting: Setting) -> Iterator[Batch]:
        """The flows of a file in order of start: read piece by piece, or sorted if they are listed."""
        from etalon.plan.workloads.batches import packed

        if self.lines is None:
            return self._read(setting)
        flows = sorted(self.resolve(setting), key=lambda flow: int(flow["start_ns"]))
        return packed(iter(flows), setting.hosts, self.classes(setting))

    def _read(self, setting: Setting) -> Iterator[Batch]:
        from etalon.plan.workloads.trace_batches import Reader

        wanted = self._contents(setting)
        reader = Reader(Path(self.file), setting.racks, setting.hosts)
        batches = reader.batches()
        while (batch := told(self.file, lambda: next(batches, None))) is not None:
            kind = batch.kind * 0 if self.flow_class else batch.kind
            yield batch._replace(start=batch.start + self.start, kind=kind)
        if reader.digest != wanted.digest:
            raise PlanError(CHANGED, file=self.file)

    def identity(self) -> dict[str, Any]:
        """What its flows follow from: what stands in the file."""
        return {**super().identity(), "file": self.digest}

    @property
    def content(self) -> str | Path:
        """The flows as a file says them; the file itself if they are too many to be listed."""
        if self.lines is None:
            if stamp(Path(self.file)) != self._seen:
                raise PlanError(CHANGED, file=self.file)
            return Path(self.file)
        return "".join(" ".join(filter(None, map(str, line[1:]))) + "\n" for line in self.lines)

    @property
    def digest(self) -> str:
        """SHA-256 of the content."""
        content = self.content
        if isinstance(content, str):
            return hashlib.sha256(content.encode()).hexdigest()
        return digest(content, self._seen)

    @cached_property
    def lines(self) -> list[Line] | None:
        """The flows of the file, as it was when the plan was made; None if there are too many to list them. Raises `PlanError`
        if it cannot be read."""
        path = Path(self.file)
        if path.exists() and not path.is_file():
            raise PlanError("is not a file", file=self.file)
        return told(self.file, lambda: _read(path, self._seen))

    @cached_property
    def _seen(self) -> tuple[int, int]:
        """The state of the file when the plan was made."""
        return told(self.file, lambda: stamp(Path(self.file)))

    def _contents(self, setting: Setting) -> Contents:
        from etalon.plan.workloads.trace_batches import contents

        path = Path(self.file)
        return told(self.file, lambda: contents(path, self._seen, setting.racks, setting.hosts))

    def problems(self, key: str, setting: Setting) -> Iterator[PlanError]:
        """What is wrong with the file, with its line, for a network of this size."""
        yield from super().problems(key, setting)
        try:
            lines = self.lines
            if lines is None:
                self._contents(setting)
                return
        except PlanError as error:
            yield error
            return
        if not lines:
            yield PlanError("holds no flow", file=self.file)
        for line in lines:
            try:
                src, dst = (
                    host_of(name, setting.racks, setting.hosts) for name in (line.src, line.dst)
                )
                if src == dst:
                    raise ValueError(f"host {write_host(src)} would send to itself")
            except ValueError as error:
                yield PlanError(str(error), file=f"{self.file}:{line.number}")
                return


@lru_cache(maxsize=8)
def _read(path: Path, _: tuple[int, int]) -> list[Line] | None:
    """The flows of a file, read once for each state that it is in; None if there are too many to list them."""
    lines: list[Line] = []
    with path.open(encoding="utf-8") as file:
        for number, text in enumerate(iter(lambda: file.readline(LONGEST_LINE), ""), 1):
            where = f"{path}:{number}"
            words = words_of(text, where)
            if not words:
                continue
            if len(lines) >= MOST_FLOWS:
                return None
            try:
                lines.append(read_line(number, words))
            except ValueError as error:
                raise PlanError(f"{shown(text.strip())}: {error}", file=where) from None
    return lines
