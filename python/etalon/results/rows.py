# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rows of flows that are over, of a run whose flows are not listed: they go to the disk while it lasts."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from etalon.errors import EtalonError
from etalon.plan import Plan
from etalon.results import scans

INTERMEDIATE = ("kind", "cwnd_time", "last_cwnd", "cwnd_since")
"""Columns of the core that the table of flows does not have."""

PREFIX = "etalon-flows-"
"""Of the names of folders for rows."""


class FlowRows:
    """A folder for temporary files with rows, which vanishes with this object and all tables that are read from it."""

    def __init__(self, plan: Plan) -> None:
        self._kinds = [(kind["cc"], kind.get("class", "")) for kind in plan.resolve()["flows"]]
        self._warmup = plan.warmup
        _remove_left_behind()
        self._folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        weakref.finalize(self, _remove, self._folder, _lock(self._folder))
        self._files = 0

    def take(self, columns: Mapping[str, Any]) -> None:
        """Keeps rows, as the core gives them. Raises `EtalonError` if the disk takes no more."""
        path = self._folder / f"{self._files:06}.parquet"
        try:
            with path.open("wb") as file:
                self._named(pl.DataFrame(dict(columns))).write_parquet(file)
        except (OSError, pl.exceptions.PolarsError) as error:
            why = getattr(error, "strerror", None) or error
            raise EtalonError(
                f"{path.parent}: rows of flows could not be written: {why}; "
                "TMPDIR names the folder for temporary files"
            ) from error
        self._files += 1

    def _named(self, rows: pl.DataFrame) -> pl.DataFrame:
        """With what their kinds say. Now, for of all rows it would take memory."""
        cc, classes = (
            pl.Series([kind[which] for kind in self._kinds], dtype=pl.String).gather(rows["kind"])
            for which in (0, 1)
        )
        return rows.with_columns(
            cc.alias("cc"), classes.alias("class"), spurious=pl.lit(-1, pl.Int64)
        )

    def table(self, listed: pl.DataFrame, end: int) -> pl.LazyFrame:
        """All rows, in the order in which flows ended, with the columns of `listed`, which has none; the run ended at `end`."""
        if not self._files:
            return listed.lazy()
        # A run may end before the warm-up does, with which `cwnd_since` begins.
        since = (end - pl.col("cwnd_since")).clip(lower_bound=0)
        cwnd_time = pl.col("cwnd_time") + pl.col("last_cwnd") * since
        # By a column: by a number, Polars multiplies with its inverse, which is another mean in the last bit.
        measured = (pl.col("flow") * 0 + max(end - self._warmup, 1)).cast(pl.Float64)
        files = [self._folder / f"{number:06}.parquet" for number in range(self._files)]
        rows = scans.scan(files, keeper=self).with_columns(
            (cwnd_time.cast(pl.Float64) / measured).alias("mean_cwnd"),
        )
        return rows.select(listed.columns)


def _lock(folder: Path) -> int | None:
    """Locks a folder for as long as the descriptor is open, at most as long as the process lives; None if another has it."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _remove(folder: Path, lock: int | None) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if lock is not None:
        os.close(lock)


def _remove_left_behind() -> None:
    """Removes folders of processes that were killed. One without a file may be about to be locked, and stays."""
    for file in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{0:06}.parquet"):
        lock = _lock(file.parent)
        if lock is not None:
            _remove(file.parent, lock)
