# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tables that are read late: they are what the files have, and who cannot read them says which."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import etalon as et
from etalon.results import scans


def test_a_scan_gives_what_the_files_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scans, "ROWS", 7)
    whole = pl.DataFrame({"a": range(50), "b": [number % 3 for number in range(50)]})
    files = []
    for start, number in ((0, 20), (20, 1), (21, 0), (21, 29)):
        files.append(tmp_path / f"{len(files)}.parquet")
        whole.slice(start, number).write_parquet(files[-1])
    scan = scans.scan(files)
    for engine in ("in-memory", "streaming"):
        for query in (
            lambda table: table,
            lambda table: table.select("b"),
            lambda table: table.select(pl.len()),
            lambda table: table.filter(pl.col("b") == 1).select("a"),
            lambda table: table.filter(pl.col("b") == 1).head(9),
            lambda table: table.head(23).filter(pl.col("b") == 2),
            lambda table: table.select(pl.col("a").sum(), pl.len().alias("n")),
            lambda table: table.slice(19, 3),
        ):
            assert query(scan).collect(engine=engine).equals(query(whole.lazy()).collect())


def test_a_folder_may_have_any_name(tmp_path: Path) -> None:
    bulk = {"from": 0, "to": 1, "flows": 1}
    run = et.run(et.Plan.from_dict({"duration": "4ms", "warmup": "0s", "bulk": [bulk]}))
    run.save(tmp_path / "[a]*?")
    assert et.load(tmp_path / "[a]*?").pairs.equals(run.pairs)


def test_a_damaged_table_is_named(tmp_path: Path) -> None:
    """Whatever Polars makes of it; of some it panics."""
    path = tmp_path / "table.parquet"
    pl.DataFrame({"a": range(1000)}).write_parquet(path)
    whole = path.read_bytes()
    for damaged in (b"", whole[:100], whole[:-1], b"x" * len(whole), whole[:40] + whole[60:]):
        path.write_bytes(damaged)
        with pytest.raises(et.EtalonError) as error:
            scans.scan([path]).collect()
        assert str(error.value).startswith(f"{path}: cannot be read: ")


def test_a_panic_is_an_error_too(tmp_path: Path) -> None:
    with pytest.raises(et.EtalonError, match="x: cannot be read: so"), scans.reading(Path("x")):
        raise pl.exceptions.PanicException("so")
