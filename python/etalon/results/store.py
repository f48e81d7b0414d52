# SPDX-License-Identifier: MIT OR Apache-2.0
"""A run's folder: the resolved plan, seed and version, Parquet tables. All of it is there, or nothing is.

A folder is written beside its destination under a hidden name and renamed when it is complete. `run.json` is written
last, so that a folder without it is never taken for a run.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import tomli_w

from etalon import files
from etalon.errors import EtalonError, Occupied, PlanError
from etalon.plan import Plan
from etalon.plan.schedules.asked import Asked
from etalon.results import scans
from etalon.results.tables import (
    HOPS,
    LINKS,
    PORTS,
    PROGRAMS,
    REORDERING,
    TABLES,
    TCP,
    WRITES,
    Tables,
)

RUN = "run.json"
PLAN = "plan.toml"
SWEEP = "sweep.json"
PROGRAM_TABLE = "programs.parquet"
WRITE_TABLE = "writes.parquet"
JOB_TABLES = ("iterations", "steps")
CROSS_CONNECT_TABLE = "cross_connects.parquet"
TCP_TABLE = "tcp.parquet"
REORDERING_TABLE = "reordering.parquet"
PORT_TABLE = "ports.parquet"
HOP_TABLE = "hops.parquet"
LINK_TABLE = "links.parquet"
CONSOLE = "console.log"
"""Of the kernel, in the folder of a run that it did not finish."""


def claim(folder: Path, force: bool = False) -> None:
    """Refuses a destination that may not be written: a file, or a folder with something in it.

    With `force` a folder may be replaced, but only one that holds results.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise PlanError("is a file, not a folder", file=str(folder))
    files.check_writable(folder)
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    if not holds_results(folder):
        raise PlanError(
            "is not empty and contains no Etalon results; Etalon never overwrites such a folder",
            file=str(folder),
        )
    if not force:
        what = "a sweep" if (folder / SWEEP).is_file() else "a run"
        raise Occupied(what, file=str(folder))


def holds_results(folder: Path) -> bool:
    """Whether this is the folder of a run or of a sweep."""
    return (folder / RUN).is_file() or (folder / SWEEP).is_file()


@contextmanager
def new_folder(folder: Path, force: bool = False) -> Iterator[Path]:
    """A folder to fill, which becomes `folder` if the block ends without an exception, and else vanishes."""
    claim(folder, force)
    folder = folder.absolute()
    draft: Path | None = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".tmp", dir=folder.parent))
        yield draft
        draft.chmod(0o755)
        _put(draft, folder)
    except OSError as error:
        why = error.strerror or str(error)
        raise EtalonError(f"{folder}: could not be written: {why}; nothing was kept") from error
    finally:
        if draft is not None:
            shutil.rmtree(draft, ignore_errors=True)


def _put(draft: Path, folder: Path) -> None:
    """Renames the finished draft; what stood there before is only removed once the new one is in place."""
    if not folder.exists() or not any(folder.iterdir()):
        os.replace(draft, folder)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".old", dir=folder.parent))
    os.replace(folder, old)
    try:
        os.replace(draft, folder)
    except OSError:
        os.replace(old, folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


def save(tables: Tables, summary: Mapping[str, Any], folder: Path, force: bool = False) -> Path:
    """Writes a run to a folder, all or nothing, with the numbers that sum it up."""
    with new_folder(folder, force) as draft:
        _write(tables, summary, draft)
    return folder


def _write(run: Tables, summary: Mapping[str, Any], draft: Path) -> None:
    """Writes a run's files into a folder that is being made."""
    plan, copies = run.plan.to_files()
    for name, content in copies.items():
        files.put(draft / name, content)
    files.put(draft / PLAN, tomli_w.dumps(plan))
    for name in TABLES:
        if name != "flows" or not run.plan.streamed:
            put_table(draft / f"{name}.parquet", getattr(run, name))
    if run.plan.streamed:
        _pour(draft / "flows.parquet", run.flow_table)
    if run.plan.measure.flows:
        put_table(draft / TCP_TABLE, run.tcp)
    if run.plan.measure.reordering:
        put_table(draft / REORDERING_TABLE, run.reordering)
    if run.plan.measure.ports:
        put_table(draft / PORT_TABLE, run.ports)
    if run.plan.network.kind == "ocs":
        put_table(draft / HOP_TABLE, run.hops)
    if run.plan.measure.links is not None:
        put_table(draft / LINK_TABLE, run.links)
    if len(run.writes):
        put_table(draft / WRITE_TABLE, run.writes)
    if isinstance(run.plan.schedule, Asked):
        put_table(draft / CROSS_CONNECT_TABLE, run.cross_connects)
    if run.plan.job:
        for name in JOB_TABLES:
            put_table(draft / f"{name}.parquet", getattr(run, name))
    if len(run.programs):
        put_table(draft / PROGRAM_TABLE, run.programs)
        (draft / "programs").mkdir()
        for name, output in run.outputs.items():
            files.put(draft / name, output)
    if run.console:
        files.put(draft / CONSOLE, run.console)
    document = {**run.meta, "summary": dict(summary)}
    files.put(draft / RUN, json.dumps(document, indent=2) + "\n")


def put_csv(folder: Path) -> list[Path]:
    """Writes each table of a run's folder as CSV beside its Parquet file, whole or not at all; gives the files."""
    written = []
    for table in sorted(folder.glob("*.parquet")):
        written.append(table.with_suffix(".csv"))
        with files.draft(written[-1]) as draft:
            pl.scan_parquet(table).sink_csv(draft)
    return written


def put_table(path: Path, table: pl.DataFrame) -> None:
    """Writes a Parquet file. It is made in memory, so that what the disk has to say arrives as an `OSError`."""
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    files.put(path, buffer.getvalue())


def _pour(path: Path, table: pl.LazyFrame) -> None:
    """Writes a Parquet file of a table that need not fit into memory."""
    try:
        with files.draft(path) as beside:
            table.sink_parquet(beside, row_group_size=1 << 16)
    except pl.exceptions.PolarsError as error:
        raise OSError(str(error)) from error


def load(folder: Path) -> Tables:
    """Reads a run's folder."""
    meta = read_meta(folder)
    if meta is None and not folder.exists():
        raise PlanError("there is no such folder", file=str(folder))
    if meta is None:
        raise PlanError(f"is not the folder of a complete run: it has no {RUN}", file=str(folder))
    meta.pop("summary", None)
    plan = Plan.load(folder / PLAN)
    tables: dict[str, Any] = {
        name: _read_table(folder / f"{name}.parquet", lazily=plan.streamed and name == "flows")
        for name in TABLES
    }
    if plan.job:
        tables |= {name: _read_table(folder / f"{name}.parquet") for name in JOB_TABLES}
    if (
        isinstance(plan.schedule, Asked) and (folder / CROSS_CONNECT_TABLE).exists()
    ):  # older runs have none
        tables["cross_connects"] = _read_table(folder / CROSS_CONNECT_TABLE)
    programs = pl.DataFrame(schema=PROGRAMS)
    if plan.program:
        programs = _read_table(folder / PROGRAM_TABLE)
    writes = _read_table(folder / WRITE_TABLE) if plan.dfsio else pl.DataFrame(schema=WRITES)
    followed = plan.measure.flows
    tcp = _read_table(folder / TCP_TABLE) if followed else pl.DataFrame(schema=TCP)
    reordering = pl.DataFrame(schema=REORDERING)
    if plan.measure.reordering:
        reordering = _read_table(folder / REORDERING_TABLE)
    ports = pl.DataFrame(schema=PORTS)
    if plan.measure.ports:
        ports = _read_table(folder / PORT_TABLE)
    hops, links = pl.DataFrame(schema=HOPS), pl.DataFrame(schema=LINKS)
    if plan.network.kind == "ocs" and (folder / HOP_TABLE).exists():  # older runs have none
        hops = _read_table(folder / HOP_TABLE)
    if plan.measure.links is not None:
        links = _read_table(folder / LINK_TABLE)
    outputs = {name: _read(folder / name) for suffix in ("out", "err") for name in programs[suffix]}
    console = folder / CONSOLE
    return Tables(
        plan=plan,
        meta=meta,
        tcp=tcp,
        reordering=reordering,
        ports=ports,
        hops=hops,
        links=links,
        writes=writes,
        programs=programs,
        outputs=outputs,
        console=_read(console).decode(errors="replace") if console.exists() else "",
        **tables,
    )


def _read_table(path: Path, lazily: bool = False) -> Any:
    """The table in a file; with `lazily` it is read when it is needed."""
    if lazily:
        return scans.scan([path])
    with scans.reading(path):
        return pl.read_parquet(path, glob=False)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise EtalonError(f"{path}: cannot be read: {error.strerror}") from None


def read_meta(folder: Path) -> dict[str, Any] | None:
    """What `run.json` says; None if there is no such file."""
    try:
        meta = json.loads((folder / RUN).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise EtalonError(f"{folder / RUN}: cannot be read: {error}") from None
    if not isinstance(meta, dict):
        raise EtalonError(f"{folder / RUN}: does not describe a run")
    return meta


def complete(folder: Path) -> bool:
    """Whether the folder holds a sweep, or a run that came to its end: results that a partial run must not replace."""
    meta = read_meta(folder)
    return (folder / SWEEP).is_file() or (meta is not None and not meta.get("partial", True))


def unfinished(folder: Path, plan: Plan, engine: str) -> bool:
    """Whether the folder holds partial results of this plan on this engine, which a new run may replace."""
    meta = read_meta(folder)
    return (
        meta is not None
        and bool(meta.get("partial", True))
        and meta.get("plan_digest") == plan.digest
        and meta.get("engine") == engine
    )


def finished(folder: Path, plan: Plan, engine: str, build: str) -> bool:
    """Whether the folder holds this plan's complete results, made by this build of the engine."""
    meta = read_meta(folder)
    return (
        meta is not None
        and not meta.get("partial", True)
        and meta.get("plan_digest") == plan.digest
        and meta.get("engine") == engine
        and meta.get("build") == build
    )
