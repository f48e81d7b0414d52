# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a worker does: it runs one plan on an engine and returns the run's tables as bytes."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from etalon import _core
from etalon import engine as engines
from etalon.custom import source
from etalon.engine import Engine, Options
from etalon.errors import EtalonError
from etalon.plan import Plan
from etalon.results import TABLES, Run

ALL_TABLES = (
    *TABLES,
    *(
        "tcp",
        "reordering",
        "ports",
        "hops",
        "links",
        "writes",
        "cross_connects",
        "iterations",
        "steps",
        "programs",
    ),
)


@dataclass(frozen=True)
class Task:
    """One plan, its flows worked out, so that a worker needs none of the files that the plan names."""

    plan: Plan
    engine: str
    options: Options
    build: str
    """The build of the engine whose results are wanted."""

    @classmethod
    def of(cls, plan: Plan, engine: Engine) -> Task:
        """The task to run a plan."""
        assert plan.digest  # which works the flows out; they travel with the plan
        return cls(plan, engine.NAME, engine.options, engine.digest(plan))


@dataclass(frozen=True)
class Answer:
    """What came of a task: a run, or the error that the engine raised."""

    meta: dict[str, Any] = field(default_factory=dict)
    tables: Mapping[str, bytes] = field(default_factory=dict)
    """In Arrow's IPC format."""
    outputs: Mapping[str, bytes] = field(default_factory=dict)
    console: str = ""
    error: EtalonError | None = None

    @classmethod
    def of(cls, run: Run) -> Answer:
        """Takes a run apart."""
        tables = {name: _packed(getattr(run, name)) for name in ALL_TABLES}
        return cls(run.meta, tables, run.outputs, run.console)

    def run(self, plan: Plan) -> Run:
        """The run of `plan`. Raises the engine's error, if there was one."""
        if self.error is not None:
            raise self.error
        tables: dict[str, Any] = {
            name: pl.read_ipc(io.BytesIO(content)) for name, content in self.tables.items()
        }
        return Run(plan=plan, meta=self.meta, outputs=self.outputs, console=self.console, **tables)


def perform(task: Task) -> Answer:
    """Runs a task; called by the worker."""
    engine = engines.named(task.engine, task.options)
    source.allow(task.plan.sources.values())  # as whoever submitted it had
    try:
        engine.prepare([task.plan])
        found = engine.digest(task.plan)
        if found != task.build:
            raise EtalonError(
                f"a worker has another build of the engine {task.engine} ({found}, not {task.build}): "
                "install the same Etalon on all machines"
            )
        return Answer.of(engine.run(task.plan, _core.Control()))
    except EtalonError as error:
        return Answer(error=error)


def _packed(table: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.write_ipc(buffer)
    return buffer.getvalue()
