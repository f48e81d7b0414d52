# SPDX-License-Identifier: MIT OR Apache-2.0
"""The tables of a run: what an engine measured, as it is kept on disk."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self, overload

import polars as pl

from etalon.plan import Plan
from etalon.plan.schedules.asked import Asked
from etalon.plan.workloads.base import write_host
from etalon.results.rows import FlowRows

TABLES = ("flows", "pairs", "latency_histogram", "sequence", "days")
"""The tables of a run, each a Parquet file of its folder."""


COUNTERS = (
    "bytes_delivered", "bytes_warmup", "retransmits", "rtos", "tlps", "recoveries", "undos", "spurious",
)  # fmt: skip
"""Columns of flows that the hosts count, and `spurious`: null where it is not known (a run on Linux stopped before they could
tell; a program's flow, of which packets tell the first three; the plan did not ask), -1 from the core."""

PROGRAMS = {
    "program": pl.Int64,
    "name": pl.String,
    "host": pl.String,
    "command": pl.String,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "status": pl.Int64,
    "out": pl.String,
    "err": pl.String,
}
"""Columns of the table of programs. A program that the end of the experiment cut off has no `end_ns` and no `status`;
`out` and `err` name the files with its output, in the run's folder."""


REORDERING = {"of": pl.String, "quantity": pl.String, "value": pl.Int64, "count": pl.Int64}
"""Columns of the table of days."""

PORTS: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("from", "to"), pl.String),
    **dict.fromkeys(
        ("at", "queue", "rate_bps", "packets", "bytes", "dropped", "marked", "longest"), pl.Int64
    ),
    **dict.fromkeys(("queue_p50", "queue_p99"), pl.Int64),
    **dict.fromkeys(("queue_mean", "utilization"), pl.Float64),
}
"""Columns of the table of egress ports."""

HOPS: dict[str, type[pl.DataType]] = {
    "class": pl.String,
    **dict.fromkeys(("hops", "packets", "bytes"), pl.Int64),
}
"""Columns of the table of hops."""

LINKS: dict[str, type[pl.DataType]] = {
    "t_ns": pl.Int64,
    **dict.fromkeys(("links", "class"), pl.String),
    "bytes": pl.Int64,
    "utilization": pl.Float64,
}
"""Columns of the table of links over time."""

WRITES = dict.fromkeys(
    ("job", "writer", "rack", "host", "bytes", "bytes_written", "start_ns", "end_ns"), pl.Int64
)
"""Columns of the table of files."""

CROSS_CONNECTS: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("src", "dst", "plane"), pl.Int64),
    "asked_by": pl.String,
    **dict.fromkeys(("asked_ns", "granted_ns", "up_ns", "down_ns"), pl.Int64),
    "kept_by": pl.String,
}
"""Columns of the table of circuits that are asked for."""

ITERATIONS = dict.fromkeys(
    (
        *("job", "iteration", "start_ns", "end_ns", "compute_ns", "slowest_ns", "exposed_ns"),
        *("changes", "dark_ns"),
    ),
    pl.Int64,
)
"""Columns of the table of iterations."""

STEPS = dict.fromkeys(
    (
        *("job", "iteration", "step", "rank", "peer", "bytes"),
        *("ready_ns", "asked_ns", "granted_ns", "sent_ns", "received_ns"),
    ),
    pl.Int64,
)
"""Columns of the table of steps."""


TCP: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("t_ns", "flow", "path", "cwnd", "ssthresh", "srtt_ns", "pipe"), pl.Int64),
    "state": pl.String,
}
"""Columns of the table of senders' states."""


class Lazily:
    """A table that is read when it is first asked for, if it is not there yet."""

    @overload
    def __get__(self, tables: None, owner: type | None = None) -> Self: ...

    @overload
    def __get__(self, tables: object, owner: type | None = None) -> pl.DataFrame: ...

    def __get__(self, tables: object | None, owner: type | None = None) -> Self | pl.DataFrame:
        if tables is None:
            return self
        found = vars(tables)["flows"]
        if isinstance(found, pl.LazyFrame):
            found = vars(tables)["flows"] = found.collect()
        frame: pl.DataFrame = found
        return frame

    def __set__(self, tables: object, value: pl.DataFrame | pl.LazyFrame) -> None:
        vars(tables)["flows"] = value


@dataclass(frozen=True, eq=False)
class Tables:
    """The measurements of a plan. Times are virtual, in the unit that the column's name states."""

    plan: Plan
    meta: dict[str, Any]
    """Digest over all events, seed, version, engine, whether the run is partial, counts of events and packets."""
    flows: pl.DataFrame
    """One row a flow: the plan's, then those of jobs, or of programs: one for each direction of a connection. If the plan has
    too many to list them: one a flow that began, in the order in which they ended."""
    pairs: pl.DataFrame
    """One row a rack pair that carried data."""
    latency_histogram: pl.DataFrame
    """One row a nonempty bin: time in the switch of packets over 1000 B, by pair and network."""
    sequence: pl.DataFrame
    """Expected-sequence graph, VOQ length and cwnd of the measured pair over `weeks_per_run` weeks, in steps of 1 us."""
    days: pl.DataFrame
    """Measured lengths of days and weeks, and the rates in them."""
    tcp: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=TCP))
    """One row a change of a sender's state: cwnd, ssthresh, RTT and more of the flows that `measure.flows` names."""
    reordering: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=REORDERING))
    """The distribution of reordering over the measured pair's days; empty unless `measure.reordering`."""
    ports: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=PORTS))
    """One row an egress port: its packets, drops, marks, queue and utilisation; empty unless `measure.ports`."""
    hops: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=HOPS))
    """One row a class and number of hops from rack to rack in a network of circuits: data packets that reached hosts."""
    links: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=LINKS))
    """The load of uplinks and of links to hosts over time in a network of circuits; empty unless `measure.links`."""
    writes: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=WRITES))
    """One row a file that a job wrote to HDFS; `end_ns` is -1 if it was not finished."""
    cross_connects: pl.DataFrame = field(
        default_factory=lambda: pl.DataFrame(schema=CROSS_CONNECTS)
    )
    """One row a circuit that was requested, or up at the start, in a plan with circuits on request."""
    iterations: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=ITERATIONS))
    """One row an iteration of a job; `end_ns` is -1 if not all ranks ended it."""
    steps: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=STEPS))
    """One row a message of a rank to another, or a computation of a rank, whose `peer` is -1."""
    programs: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=PROGRAMS))
    """One row a program of the plan, with its exit status (128 + n if signal n ended it)."""
    outputs: Mapping[str, bytes] = field(default_factory=dict)
    """The programs' output, by the file names in `programs`."""
    console: str = ""
    """The end of the kernel's output, if it failed."""

    def __getstate__(self) -> dict[str, Any]:
        """With the flows themselves: temporary files that they are read from stay behind."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @property
    def flow_table(self) -> pl.LazyFrame:
        """The table of flows, of which no more is read than what is asked."""
        found: pl.DataFrame | pl.LazyFrame = vars(self)["flows"]
        return found.lazy()

    @classmethod
    def from_core(
        cls,
        plan: Plan,
        answer: Mapping[str, Any],
        engine: str,
        engine_build: str,
        rows: FlowRows | None = None,
    ) -> Self:
        """Takes what the engine returned; `rows` are those of flows that are not in it."""
        tables: dict[str, Any] = {name: _moved(answer[_core_name(name)]) for name in TABLES}
        meta = {
            **answer["meta"],
            "name": plan.name,
            "engine": engine,
            "seed": plan.seed,
            "plan_digest": plan.digest,
            "build": engine_build,
        }
        tables["pairs"] = tables["pairs"].with_columns(pl.selectors.float().fill_nan(None))
        if rows is not None:
            tables["flows"] = rows.table(tables["flows"], answer["meta"]["simulated_ns"])
        tables["flows"] = tables["flows"].with_columns(
            pl.when(pl.col(name) >= 0).then(pl.col(name)) for name in COUNTERS
        )
        if plan.measure.flows:
            tables["tcp"] = pl.DataFrame(dict(answer["tcp"]), schema=TCP)
        if plan.measure.reordering:
            tables["reordering"] = pl.DataFrame(dict(answer["reordering"]), schema=REORDERING)
        if plan.measure.ports:
            tables["ports"] = pl.DataFrame(dict(answer["ports"]), schema=PORTS)
        if plan.network.kind == "ocs":
            tables["hops"] = pl.DataFrame(dict(answer["hops"]), schema=HOPS)
        if plan.measure.links is not None:
            tables["links"] = pl.DataFrame(dict(answer["links"]), schema=LINKS)
        if plan.dfsio:
            tables["writes"] = pl.DataFrame(dict(answer["writes"]))
        if isinstance(plan.schedule, Asked):
            tables["cross_connects"] = pl.DataFrame(
                dict(answer["cross_connects"]), schema=CROSS_CONNECTS
            )
        if plan.job:
            tables["iterations"] = pl.DataFrame(dict(answer["iterations"]), schema=ITERATIONS)
            tables["steps"] = pl.DataFrame(dict(answer["steps"]), schema=STEPS)
        programs, outputs = _programs(plan, answer.get("programs", ()))
        return cls(plan=plan, meta=meta, programs=programs, outputs=outputs, **tables)


Tables.flows = Lazily()  # type: ignore[assignment]


def _programs(
    plan: Plan, answers: Sequence[Mapping[str, Any]]
) -> tuple[pl.DataFrame, dict[str, bytes]]:
    """The table of programs, and their output by the name of its file."""
    rows, outputs = [], {}
    for index, (program, answer) in enumerate(zip(plan.programs, answers, strict=True)):
        host = write_host(program.host)
        stem = f"programs/{program.file or f'{index}-{host}-{program.label}'}"
        for suffix, content in (("out", answer["stdout"]), ("err", answer["stderr"])):
            outputs[f"{stem}.{suffix}"] = content
        # At the end hosts are shut down, and programs with them: how those end says nothing.
        cut_off = answer["end_ns"] is None or answer["end_ns"] >= plan.duration
        rows.append(
            {
                "program": index,
                "name": program.label,
                "host": host,
                "command": shlex.join(program.command),
                "start_ns": program.start,
                "end_ns": None if cut_off else answer["end_ns"],
                "status": None if cut_off else answer["status"],
                "out": f"{stem}.out",
                "err": f"{stem}.err",
            }
        )
    return pl.DataFrame(rows, schema=PROGRAMS), outputs


def _moved(columns: dict[str, Any]) -> pl.DataFrame:
    """The table of these columns, each of which is released as soon as it is copied: histograms may have millions of rows."""
    return pl.DataFrame([pl.Series(name, columns.pop(name)) for name in list(columns)])


def _core_name(table: str) -> str:
    return "latency" if table == "latency_histogram" else table
