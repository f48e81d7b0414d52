# SPDX-License-Identifier: MIT OR Apache-2.0
"""A run: its tables, and the numbers derived from them."""

from __future__ import annotations

import math
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from etalon import markup
from etalon.arguments import checked
from etalon.errors import PlanError, warn
from etalon.results import completion, critical, highlights, hops, jobs, metrics, store
from etalon.results.tables import Tables
from etalon.units import counted, rounded

if TYPE_CHECKING:
    from etalon.figures import Plots

Of = Literal["flow", "pair"]
"""Whose days count: each flow's, or the days of all flows of the pair together."""
OF_RANKS = "etalon mpirun: "
"""How the line begins in which an MPI program says which rank ended it (a test holds it to engine/mpi_job.py)."""


@dataclass(frozen=True, eq=False, repr=False)
class Run(Tables):
    """One run of a plan."""

    @classmethod
    @checked
    def load(cls, folder: str | Path) -> Run:
        """Reads a run's folder back."""
        return cls(**vars(store.load(Path(folder))))

    @checked
    def save(self, folder: str | Path, force: bool = False) -> Path:
        """Writes plan, tables and metadata to a folder, all or nothing. Returns the folder."""
        return store.save(self, self.summary(), Path(folder), force=force)

    @checked
    def save_flows(self, path: str | Path, force: bool = False) -> Path:
        """Writes the finite flows to a file that `[[trace]]` reads, and the simulators of Opera's and UCMP's authors: a line
        for each, in order of start, with source and destination as numbers of hosts, bytes, and start in ns. Returns the path.

        The last line has no end, because opera-sim crashes if it has.
        """
        return completion.save_flows(self.flow_table, self.plan.network.hosts, Path(path), force)

    @property
    def partial(self) -> bool:
        """Whether the run was stopped before its end."""
        return bool(self.meta["partial"])

    @property
    def planes(self) -> tuple[str, ...]:
        """Names of the network's planes: "packet" and "circuit" of a reconfigurable network, and "circuit2" and so on if it has
        several kinds of circuits; "packet" of a dumbbell."""
        return tuple(self.meta["planes"])

    @property
    def circuits(self) -> tuple[str, ...]:
        """Names of the planes that are circuits."""
        return tuple(name for name in self.planes if name.startswith("circuit"))

    @property
    def measured_ns(self) -> int:
        """Length of the measured time."""
        end = min(self.plan.duration, int(self.meta["simulated_ns"]))
        return max(end - self.plan.warmup, 0)

    @property
    def circuit_utilization(self) -> float | None:
        """Payload on circuits as a share of what the measured pair could have sent in its days, 0..1.

        None without circuits. `docs/metrics.md` gives the definition.
        """
        return self.utilization(*self.circuits) if self.plan.week_ns else None

    @property
    def circuit_utilization_nsdi20(self) -> float | None:
        """Circuit utilisation as NSDI'20 measured it: over the time from the first to the last packet and the share of days in
        a week.

        It serves to compare with the papers, which have one kind of circuits, and is None with several. In runs of few weeks it
        may exceed 1.
        """
        known = self.plan.week_ns and len(self.circuits) == 1
        return self._of_pair("circuit_utilization_nsdi20") if known else None

    @property
    def packet_utilization(self) -> float | None:
        """Utilisation of the packet network by the measured pair, 0..1."""
        return self.utilization("packet")

    @checked
    def utilization(self, *planes: str) -> float | None:
        """Utilisation of any plane, or of several together, by the measured pair, 0..1. None if the network has no such plane,
        or the run measured nothing.
        """
        if not planes or not set(planes) <= set(self.planes) or not self.measured_ns:
            return None
        if len(planes) == 1:
            return self._of_pair(f"{planes[0]}_utilization") or 0.0
        row = self._row_of_pair() or {}
        capacity = sum(row.get(f"{plane}_capacity_bytes", 0) for plane in planes)
        payload = sum(row.get(f"{plane}_payload_bytes", 0) for plane in planes)
        return payload / capacity if capacity else 0.0

    @property
    def goodput(self) -> float | None:
        """Payload of all flows, delivered in order in the measured time, in bit/s; None if unknown."""
        delivered = self.counted("bytes_delivered")
        return (
            None
            if delivered is None or not self.measured_ns
            else delivered * 8e9 / self.measured_ns
        )

    @checked
    def payload(
        self, network: str | None = None, pair: tuple[int, int] | Literal["all"] | None = None
    ) -> float | None:
        """Payload that left the plane `network` (or any), over the measured time, in bit/s. None if the run measured nothing.

        It covers the measured pair, another `pair` (source and destination rack), or "all" rack pairs together.
        """
        if not self.measured_ns:
            return None
        columns = [f"{name}_payload_bytes" for name in self._named(network)]
        rows = self.pairs.filter(self._of(pair)).select(columns)
        return float(sum(rows.sum().row(0)) * 8e9 / self.measured_ns)

    @property
    def voq_mean(self) -> float | None:
        """Mean number of packets in the measured pair's VOQ; None if the pair has no VOQ, or carried nothing."""
        return self._of_pair("voq_mean")

    @property
    def drops(self) -> int:
        """Packets dropped in the network in the measured time, all pairs."""
        columns = (name for name in self.pairs.columns if name.startswith("dropped_"))
        return sum(self.total("pairs", column) for column in columns)

    @checked
    def latency(
        self,
        percentile: float,
        network: str | Sequence[str] | None = None,
        pair: tuple[int, int] | Literal["all"] | None = None,
    ) -> float:
        """A percentile of the time that packets spent in the switch, in microseconds.

        It counts packets over 1000 B from entering the switch to leaving it. They travelled on the plane `network`, on one of
        several planes or on any, and belong to the measured pair, to another `pair`, or to "all" rack pairs. The value comes
        from a histogram with bins narrower than 0.4 %. It is not a number if there was no such packet.
        """
        networks = self._named(network)
        if not 0 <= percentile <= 100:
            raise PlanError(f"percentile {percentile} must lie between 0 and 100")
        if 0 < percentile < 1:
            sentence = f"percentile {percentile} is among the lowest 1 %; percentiles go from 0 to 100, the median is 50"
            warn(sentence)
        chosen = self.latency_histogram.lazy().filter(
            self._of(pair), pl.col("network").is_in(networks)
        )
        counts = chosen.group_by("lower_ns", "upper_ns").agg(pl.col("count").sum())
        bins = counts.collect(engine="streaming").sort("lower_ns")
        if bins.is_empty():
            return math.nan
        counted = bins["count"].cum_sum()
        rank = percentile / 100 * counted[-1]
        at = min(int((counted < rank).sum()), len(bins) - 1)
        lower, upper, count = bins.row(at)
        within = (rank - (counted[at] - count)) / count
        return float((lower + within * (upper - lower)) / 1000)

    def fct(self) -> pl.DataFrame:
        """Completion times of the finite flows in microseconds (null: not finished), one row a flow."""
        chosen = self._completions.select(
            "flow",
            "src_rack",
            "src_host",
            "dst_rack",
            "dst_host",
            "cc",
            "class",
            "bytes",
            "start_ns",
            "fct_us",
            "lasted_us",
            "ideal_us",
            "slowdown",
        )
        return chosen.collect()

    @checked
    def fct_percentile(
        self, percentile: float, flow_class: str | None = None, *, unfinished: bool = False
    ) -> float | None:
        """A percentile of the completion times of one class of flows, or of all, in microseconds; None if no flow finished.

        With `unfinished`, flows that did not finish count too, with the time that they had.
        """
        column = "lasted_us" if unfinished else "fct_us"
        return completion.percentile(self._completions, percentile, flow_class, column)

    @checked
    def slowdown(self, percentile: float, flow_class: str | None = None) -> float | None:
        """A percentile of completion time over the time on an empty network; None if no flow finished."""
        return completion.percentile(self._completions, percentile, flow_class, "slowdown")

    def by_class(self) -> pl.DataFrame:
        """Completion times, slowdown, throughput and bytes of the finite flows, one row a class."""
        return completion.by_class(self._completions, self.planes)

    def by_size(self, flow_class: str | None = None) -> pl.DataFrame:
        """Completion times in microseconds and slowdown of the finite flows, or of one class, one row a size: number, mean,
        median, 99th percentile and maximum. More than 50 sizes share rows, four for each factor of ten.
        """
        rows = self._completions
        chosen = rows if flow_class is None else rows.filter(pl.col("class") == flow_class)
        return completion.by_size(chosen)

    def hops_by_class(self) -> pl.DataFrame:
        """Hops of data packets from rack to rack in a network of circuits, one row a class.

        `packets` and `bytes` (on the wire) reached their destination, over `hops` on average and `most` at most. `tax` is the
        bandwidth tax: the bytes that their hops carried beyond these, as a share. A packet that a host relays counts when it
        reaches its destination, with both hops.
        """
        return hops.by_class(self.hops)

    @property
    def bandwidth_tax(self) -> float | None:
        """Bandwidth tax of a network of circuits: bytes x hops of the data that reached another rack, over its bytes, minus 1.
        It is 0 if all packets took one hop, and None without such packets."""
        return hops.tax(self.hops)

    @property
    def bytes_unfinished(self) -> int:
        """Bytes that finite flows had still to deliver when they were killed or the run ended."""
        return int(self.by_class()["bytes_unfinished"].sum())

    @checked
    def write_time(self, percentile: float) -> float | None:
        """A percentile of the time that a file took to write to HDFS, in milliseconds; None if no file was finished."""
        done = self.writes.filter(pl.col("end_ns") >= 0)
        times = (done["end_ns"] - done["start_ns"]) / 1e6
        quantile = times.quantile(percentile / 100, "nearest") if len(times) else None
        return None if quantile is None else float(quantile)

    @property
    def job_time(self) -> float | None:
        """Time from the start of the first job that writes to HDFS to the end of the last, in milliseconds; None if one
        did not end, or there is none."""
        if self.writes.is_empty() or not (self.writes["end_ns"] >= 0).all():
            return None
        first, last = (
            self.writes["start_ns"].to_numpy().min(),
            self.writes["end_ns"].to_numpy().max(),
        )
        return float(last - first) / 1e6

    @property
    def write_throughput(self) -> float | None:
        """Bytes of files written to HDFS, replicas not counted, over the time from first start to last end, in bit/s."""
        if self.writes.is_empty():
            return None
        ends = self.writes["end_ns"].to_numpy()
        end = int(ends.max()) if (ends >= 0).all() else int(self.meta["simulated_ns"])
        time = end - int(self.writes["start_ns"].to_numpy().min())
        return int(self.writes["bytes_written"].sum()) * 8e9 / time if time > 0 else None

    @checked
    def iteration_time(self, percentile: float) -> float | None:
        """A percentile of the time of a job's iteration, in milliseconds; None if all ranks ended none."""
        return jobs.time(self.iterations, percentile)

    @property
    def algbw(self) -> float | None:
        """Size of an iteration's collectives over the time during which its ranks do not compute, in bit/s."""
        return jobs.bandwidth(self.plan, self.iterations, bus=False)

    @property
    def busbw(self) -> float | None:
        """The least that a rank has to send in an iteration's collectives, over the same time as `algbw` (nccl-tests), in
        bit/s."""
        return jobs.bandwidth(self.plan, self.iterations, bus=True)

    @property
    def exposed_share(self) -> float | None:
        """Share of time during which ranks do not compute, 0 to 1."""
        return jobs.exposed_share(self.iterations)

    @property
    def straggler_wait(self) -> float | None:
        """Mean time by which an iteration's slowest rank computes longer than its ranks on average, in milliseconds."""
        return jobs.straggler_wait(self.iterations)

    @property
    def circuit_wait(self) -> float | None:
        """Mean time that a rank which is ready to send waits for circuits, in milliseconds; None if it asks for none."""
        return jobs.circuit_wait(self.steps)

    def critical_path(self, iteration: int = 0, job: int = 0) -> critical.CriticalPath:
        """The critical path of an iteration: the computations, circuits and messages that its end waited for, in order.

        >>> print(run.critical_path(iteration=1))

        Args:
            iteration: number of the iteration, from 0 on.
            job: number of the job in the plan, from 0 on.

        Returns:
            The path; its text describes it in words.

        Raises:
            EtalonError: if the table of steps does not contain the whole iteration.
        """
        return critical.path(self.steps, iteration, job)

    @property
    def spurious(self) -> int | None:
        """Unnecessary data packets of the measured pair's flows: all of their payload had left the network before. None unless
        the plan sets `measure.reordering`.
        """
        if self.plan.streamed:  # which cannot ask
            return None
        values = self.flow_table.select("spurious").collect()["spurious"].drop_nulls()
        return None if values.is_empty() else int(values.sum())

    @checked
    def days_without(self, quantity: str, of: Of = "flow") -> float | None:
        """Share of the measured pair's days on which `quantity` of the table `reordering` was zero, 0..1, for a flow or for
        all together. None if the run did not measure it.
        """
        days = self._days(quantity, of)
        if days.is_empty():
            return None
        none = days.filter(pl.col("value") == 0)
        return int(none["count"].sum()) / int(days["count"].sum())

    @checked
    def by_day(self, quantity: str, percentile: float, of: Of = "flow") -> int | None:
        """A percentile of `quantity` of the table `reordering` over the measured pair's days: the least value that this share
        of days does not exceed. None if the run did not measure it.
        """
        days = self._days(quantity, of)
        if days.is_empty():
            return None
        below = days["count"].cum_sum() < percentile / 100 * int(days["count"].sum())
        return int(days["value"][min(int(below.sum()), len(days) - 1)])

    def _days(self, quantity: str, of: Of) -> pl.DataFrame:
        rows = (pl.col("quantity") == quantity) & (pl.col("of") == of)
        return self.reordering.filter(rows).sort("value")

    def counted(self, counter: str) -> int | None:
        """Sum of one of `COUNTERS` over the flows that report it; None if none does, or if one of the plan's flows cannot."""
        value = pl.col(counter)
        of_plan = pl.lit(True) if self.plan.streamed else pl.col("flow") < len(self.plan.flows)
        asked = (value.count().alias("told"), value.sum().alias("sum"))
        unknown = (value.is_null() & of_plan).any().alias("unknown")
        row = self.flow_table.select(*asked, unknown).collect(engine="streaming").row(0, named=True)
        return None if row["told"] == 0 or row["unknown"] else int(row["sum"])

    def total(self, table: Literal["flows", "pairs"], column: str) -> int:
        """Sum of a column."""
        frame: pl.DataFrame = getattr(self, table)
        return int(frame[column].sum()) if len(frame) else 0

    @property
    def failed_programs(self) -> list[str]:
        """A sentence for each program that ended with an exit status other than 0."""
        rows = self.programs.filter(pl.col("status") != 0).iter_rows(named=True)
        return [self._failure(row) for row in rows]

    def _failure(self, row: Mapping[str, Any]) -> str:
        """How a program failed, in a sentence."""
        said = self._last_line(row)
        if said.startswith(OF_RANKS):
            why = said.removeprefix(OF_RANKS)
            return f"{row['command']}: {why}; its output is in {row['out']} and {row['err']}"
        ended = f"{row['command']} on {row['host']} {_ending(row['status'])}"
        return f"{ended}: {said[:200]}" if said else ended

    def _last_line(self, row: Mapping[str, Any]) -> str:
        """The last line of a program's standard error, or of its output if it has none."""
        for name in (row["err"], row["out"]):
            lines = self.outputs.get(name, b"").decode(errors="replace").split("\n")
            said = [line.strip() for line in lines if line.strip()]
            if said:
                return said[-1]
        return ""

    @property
    def warnings(self) -> list[str]:
        """Sentences about results that probably do not answer the question."""
        if self.partial:
            return []
        if self.counted("bytes_delivered") == 0:
            if (self.iterations["end_ns"] >= 0).any():
                return [
                    f"{self.plan.name}: nothing was delivered after the warmup, so rates are 0; iterations and steps cover "
                    'the whole run (warmup = "0s" measures from the start)'
                ]
            return [f"{self.plan.name}: nothing was delivered in the measured time"]
        return [*self._short(), *self._polled()]

    def _polled(self) -> Iterator[str]:
        """That what programs polled for may have been seen later than the network let them."""
        late = {one["host"]: int(one["late_ns"]) for one in self.meta.get("polled", ())}
        worst = max(late, key=lambda host: late[host], default="")
        # What else is late is at most 1/128 of what was waited for.
        if worst and late[worst] > 0.01 * int(self.meta["simulated_ns"]) * self.plan.tdf:
            yield (
                f"{self.plan.name}: programs on {worst} poll, and may have seen what they waited for up to "
                f"{rounded(late[worst])} later in all: a smaller linux.polling shows how much that moves the result"
            )

    def _short(self) -> Iterator[str]:
        """That the run is too short for its own timeouts, if flows had some."""
        plan, timeouts = self.plan, self.counted("rtos")
        shortest = plan.tcp.min_rto / plan.tdf
        if int(self.meta["simulated_ns"]) < plan.duration:  # it ended when its flows did
            return
        if timeouts and self.measured_ns < shortest:
            yield (
                f"{plan.name}: {counted(timeouts, 'timeout')} occurred, and the measured time of "
                f"{rounded(self.measured_ns)} is shorter than one timeout ({rounded(round(shortest))}): "
                "a longer run will show different numbers"
            )

    def summary(self) -> dict[str, float | None]:
        """Every metric of `etalon list metrics`."""
        return metrics.summary(self)

    @cached_property
    def plot(self) -> Plots:
        """Figures of this run: `run.plot.sequence()`, `run.plot.latency_cdf()`; see `etalon list figures`."""
        from etalon.figures import Plots

        return Plots(self)

    def __repr__(self) -> str:
        first = self.answer.partition(";")[0].rstrip(".")
        return f"<Run {self.plan.name}, seed {self.plan.seed}: {first}>"

    def _repr_html_(self) -> str:
        """For a notebook: the answer, the main figure, and every number."""
        from etalon.figures import style

        parts = [f"<p><b>{markup.inline(self.plan.name)}</b>: {markup.inline(self.answer)}</p>"]
        for name, caption in list(highlights.figures_of(self).items())[:1]:
            figure = getattr(self.plot, name)()
            parts.append(markup.image(style.png(figure), caption, style.on_screen(figure)))
        rows = [
            (what, value, unit, f"`{name}`")
            for what, value, unit, name in highlights.summary_rows(self)
        ]
        table = markup.table(("quantity", "value", "unit", "name"), rows, right=(1,))
        return "\n".join([*parts, markup.folded("all numbers", table)])

    @property
    def answer(self) -> str:
        """What came out, in one sentence."""
        return highlights.answer(self)

    @cached_property
    def _completions(self) -> pl.LazyFrame:
        """The finite flows, with what `completion` adds; worked out when it is asked for if they are too many to keep."""
        end = int(self.meta["simulated_ns"])
        rows = completion.completions(self.flow_table, self.plan, end)
        return rows if self.plan.streamed else rows.collect().lazy()

    def _named(self, names: str | Sequence[str] | None) -> tuple[str, ...]:
        """The planes of these names, or all planes."""
        if names is None:
            return self.planes
        planes = (names,) if isinstance(names, str) else tuple(names)
        for plane in planes:
            if plane not in self.planes:
                known = " or ".join(f'"{name}"' for name in self.planes)
                raise PlanError(f'there is no network "{plane}"; it is {known}, or None for all')
        return planes

    def _of(self, pair: tuple[int, int] | Literal["all"] | None) -> pl.Expr:
        """Rows of a rack pair: the measured one, this one, or all."""
        if pair == "all":
            return pl.lit(True)
        src, dst = pair or self.plan.measured_pair
        racks = self.plan.network.racks
        if not (0 <= src < racks and 0 <= dst < racks):
            raise PlanError(f"pair ({src}, {dst}): racks are 0 to {racks - 1}")
        return (pl.col("src") == src) & (pl.col("dst") == dst)

    def _row_of_pair(self) -> dict[str, Any] | None:
        """The measured pair's row of `pairs`; None if it carried nothing."""
        src, dst = self.plan.measured_pair
        rows = self.pairs.filter((pl.col("src") == src) & (pl.col("dst") == dst))
        return rows.row(0, named=True) if len(rows) else None

    def _of_pair(self, column: str) -> float | None:
        row = self._row_of_pair()
        value = row[column] if row else None
        return None if value is None or not math.isfinite(value) else float(value)


def _ending(status: int) -> str:
    """How a program ended, in words."""
    if status == 127:
        return "was not found (exit status 127)"
    if status > 128:
        with suppress(ValueError):
            return f"was ended by {signal.Signals(status - 128).name}"
    return f"failed with exit status {status}"
