"""A run: the plan, what the engine measured, and the numbers that are read off it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from etalon import build, metrics
from etalon.errors import EtalonError
from etalon.plan import Plan

if TYPE_CHECKING:
    from etalon.figures import Plots

TABLES = ("flows", "pairs", "latency_histogram", "sequence", "days")
"""The tables of a run, each a Parquet file of its folder."""


@dataclass(frozen=True, eq=False)
class Run:
    """One run of a plan. Times in the tables are virtual, in the unit that the column's name says."""

    plan: Plan
    meta: dict[str, Any]
    """Digest over all events, seed, version, engine, whether the run is partial, counts of events and packets."""
    flows: pl.DataFrame
    """One row a flow."""
    pairs: pl.DataFrame
    """One row a rack pair that carried data."""
    latency_histogram: pl.DataFrame
    """One row a nonempty bin: time in the switch of packets over 1000 B, by pair and network."""
    sequence: pl.DataFrame
    """Expected-sequence graph and VOQ length of the measured pair over `weeks_per_run` weeks, in steps of 1 us."""
    days: pl.DataFrame
    """Lengths of days and weeks and the rates in them, as they came out."""

    @classmethod
    def from_core(cls, plan: Plan, answer: Mapping[str, Mapping[str, Any]], engine: str) -> Run:
        """Takes what the engine returned."""
        tables = {name: pl.DataFrame(dict(answer[_core_name(name)])) for name in TABLES}
        meta = {
            **answer["meta"],
            "name": plan.name,
            "engine": engine,
            "seed": plan.seed,
            "plan_digest": plan.digest,
            "build": build.digest(),
        }
        return cls(plan=plan, meta=meta, **tables)

    @classmethod
    def load(cls, folder: str | Path) -> Run:
        """Reads a run's folder back."""
        from etalon import store

        return store.load_run(Path(folder))

    def save(self, folder: str | Path, force: bool = False) -> Path:
        """Writes plan, tables and metadata to a folder, all or nothing. Returns the folder."""
        from etalon import store

        return store.save_run(self, Path(folder), force=force)

    @property
    def partial(self) -> bool:
        """Whether the run was stopped before its end."""
        return bool(self.meta["partial"])

    @property
    def measured_ns(self) -> int:
        """Length of the measured time."""
        end = min(self.plan.duration, int(self.meta["simulated_ns"]))
        return max(end - self.plan.warmup, 0)

    @property
    def circuit_utilization(self) -> float | None:
        """Payload on the circuit / (time from first to last packet x share of days x rate), 0..1; measured pair.

        None without circuits. A packet whose transmission begins within a day completes after it, so that a saturated
        circuit comes out up to a packet a day above 1.
        """
        return self._of_pair("circuit_utilization") if self.plan.week_ns else None

    @property
    def packet_utilization(self) -> float | None:
        """The same for the packet network, 0..1; measured pair."""
        return self._of_pair("packet_utilization")

    @property
    def goodput(self) -> float | None:
        """Payload delivered in order in the measured time, all flows, in bit/s."""
        if self.measured_ns == 0:
            return None
        return self.total("flows", "bytes_delivered") * 8e9 / self.measured_ns

    def payload(self, network: str | None = None) -> float | None:
        """Payload that left the network "packet" or "circuit" (or both), from the measured pair's first packet to its
        last, in bit/s: the time that utilisation is over too. None if there was none.
        """
        row = self._row_of_pair()
        if row is None or row["last_ns"] <= row["first_ns"]:
            return None
        names = ("packet", "circuit") if network is None else (network,)
        payload = sum(row[f"{name}_payload_bytes"] for name in names)
        return float(payload * 8e9 / (row["last_ns"] - row["first_ns"]))

    @property
    def drops(self) -> int:
        """Packets dropped in the switch in the measured time, all pairs."""
        columns = ("dropped_voq", "dropped_shrink", "dropped_hold")
        return sum(self.total("pairs", column) for column in columns)

    def latency(
        self,
        percentile: float,
        network: str | None = None,
        pair: tuple[int, int] | None = None,
    ) -> float:
        """A percentile of the time that packets spent in the switch, in microseconds.

        From entering the switch to leaving it, packets over 1000 B, of one network or of both, for the measured pair
        or another. Read off a histogram with bins narrower than 0.4 %. Not a number if there was no such packet.
        """
        if network not in (None, "packet", "circuit"):
            raise EtalonError(
                f'there is no network "{network}"; it is "packet" or "circuit", or None for both'
            )
        if not 0 <= percentile <= 100:
            raise EtalonError(f"percentile {percentile} must lie between 0 and 100")
        src, dst = pair or self.plan.measured_pair
        bins = self.latency_histogram.filter((pl.col("src") == src) & (pl.col("dst") == dst))
        if network is not None:
            bins = bins.filter(pl.col("network") == network)
        bins = bins.group_by("lower_ns", "upper_ns").agg(pl.col("count").sum()).sort("lower_ns")
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
        finished = pl.col("end_ns") >= 0
        return (
            self.flows.filter(pl.col("bytes") >= 0)
            .with_columns(
                fct_us=pl.when(finished).then((pl.col("end_ns") - pl.col("start_ns")) / 1000)
            )
            .select(
                "flow",
                "src_rack",
                "src_host",
                "dst_rack",
                "dst_host",
                "cc",
                "bytes",
                "start_ns",
                "fct_us",
            )
        )

    def fct_percentile(self, percentile: float) -> float | None:
        """A percentile of the completion times, in microseconds; None if no flow finished."""
        done = self.fct()["fct_us"].drop_nulls()
        quantile = done.quantile(percentile / 100, "nearest") if len(done) else None
        return None if quantile is None else float(quantile)

    def total(self, table: Literal["flows", "pairs"], column: str) -> int:
        """Sum of a column."""
        frame: pl.DataFrame = getattr(self, table)
        return int(frame[column].sum()) if len(frame) else 0

    @property
    def warnings(self) -> list[str]:
        """Sentences about results that do not say what was probably asked."""
        if self.partial or self.total("flows", "bytes_delivered") > 0:
            return []
        return [f"{self.plan.name}: nothing was delivered in the measured time"]

    def summary(self) -> dict[str, float | None]:
        """Every metric of `etalon list metrics`."""
        return metrics.summary(self)

    @cached_property
    def plot(self) -> Plots:
        """Figures of this run: `run.plot.sequence()`, `run.plot.latency_cdf()`; see `etalon list figures`."""
        from etalon.figures import Plots

        return Plots(self)

    def __repr__(self) -> str:
        mark = ", partial" if self.partial else ""
        utilization = self.circuit_utilization
        circuit = "" if utilization is None else f", circuit {100 * utilization:.1f} %"
        return f"<Run {self.plan.name}, seed {self.plan.seed}{circuit}{mark}>"

    def _row_of_pair(self) -> dict[str, Any] | None:
        """The measured pair's row of `pairs`; None if it carried nothing."""
        src, dst = self.plan.measured_pair
        rows = self.pairs.filter((pl.col("src") == src) & (pl.col("dst") == dst))
        return rows.row(0, named=True) if len(rows) else None

    def _of_pair(self, column: str) -> float | None:
        row = self._row_of_pair()
        value = row[column] if row else None
        return None if value is None or not math.isfinite(value) else float(value)


def _core_name(table: str) -> str:
    return "latency" if table == "latency_histogram" else table
