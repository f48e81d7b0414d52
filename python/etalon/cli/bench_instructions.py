# SPDX-License-Identifier: MIT OR Apache-2.0
"""`etalon bench --instructions`: what a packet takes, whatever else the machine does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from etalon.cli import common
from etalon.errors import EtalonError
from etalon.progress import bar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from etalon.bench.instructions import Count


def run(chosen: Sequence[str], out: Path | None, as_json: bool) -> None:
    """Counts, prints the counts beside the committed table's, and fails if one grew.

    Raises:
        EtalonError: the machine cannot count; or a count grew, and no table is to be written.
    """
    from etalon.bench import instructions

    if (lack := instructions.missing()) is not None:
        raise EtalonError(lack)
    here = instructions.compiler()
    compiler, before = instructions.read() if instructions.TABLE.exists() else (here, {})
    if out is not None and compiler != here and set(chosen) != set(instructions.NAMES):
        raise EtalonError(
            f"the table was made with {compiler}, and this is {here}: leave out the benches' names to write the whole table"
        )
    program = instructions.build()
    counts: dict[str, Count] = {}
    with bar("bench") as progress:
        for done, name in enumerate(chosen):
            if progress is not None:
                progress(done / len(chosen))
            counts[name] = instructions.count(name, program)
    _print(counts, before, as_json)
    if out is not None:
        out.write_text(instructions.shown(here, {**before, **counts}), encoding="utf-8")
    elif compiler != here:
        print(f"cannot compare: the table was made with {compiler}, and this is {here}")
    else:
        told = (instructions.grown(name, before.get(name), counts[name]) for name in counts)
        grown = [sentence for sentence in told if sentence is not None]
        if grown:
            raise EtalonError("\n".join(grown))


def _print(counts: Mapping[str, Count], before: Mapping[str, Count], as_json: bool) -> None:
    from etalon.bench.instructions import Count

    if as_json:
        rows = [
            {"name": name, "per_packet": c.per_packet, "peak_bytes": c.peak_bytes}
            for name, c in counts.items()
        ]
        common.print_json(rows)
        return
    table = common.plain_table("bench", ">instructions a packet", ">peak memory", ">in the table")
    for name, now in counts.items():
        then = before.get(name, Count())
        table.add_row(name, *_cells(now), " ".join(_cells(then)).strip())
    common.print_table(table)


def _cells(count: Count) -> tuple[str, str]:
    instructions = f"{count.per_packet:,.0f}" if count.per_packet else ""
    memory = f"{count.peak_bytes / 1e6:.0f} MB" if count.peak_bytes else ""
    return instructions, memory
