# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tables in Parquet files that are read when something is asked of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl
from polars.io.plugins import register_io_source

from etalon.errors import EtalonError

ROWS = 1 << 18
"""As many are in memory at a time."""


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Says which file it was if one cannot be read. Of some that are damaged Polars does not see it, and panics."""
    try:
        yield
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise EtalonError(f"{path}: cannot be read: {error}") from None


def scan(files: Sequence[Path], keeper: object = None) -> pl.LazyFrame:
    """The rows of these files, one after the other; no more is read than what is asked of them, or of what is made of them.

    `keeper` lives as long as anything that could be asked. Asking raises `EtalonError` if a file cannot be read: to Polars this
    is a source in Python, whose errors it leaves as they are.
    """
    with reading(files[0]):
        schema = pl.scan_parquet(files[0], glob=False).collect_schema()

    def read(
        columns: list[str] | None,
        predicate: pl.Expr | None,
        most: int | None,
        _: int | None,
        keeper: object = keeper,
    ) -> Iterator[pl.DataFrame]:
        for path in files:
            with reading(path):
                rows = pl.scan_parquet(path, glob=False)
                number = int(rows.select(pl.len()).collect().item())
            number = number if most is None else min(number, most)
            most = None if most is None else most - number
            for start in range(0, number, ROWS):
                piece = rows.slice(start, min(ROWS, number - start))
                piece = piece if predicate is None else piece.filter(predicate)
                piece = piece if columns is None else piece.select(columns)
                with reading(path):
                    found = piece.collect()
                yield found

    return register_io_source(read, schema=schema, is_pure=True)
