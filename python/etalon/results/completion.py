# SPDX-License-Identifier: MIT OR Apache-2.0
"""Flow completion times, and how they compare with those on an empty network; by class of flows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from etalon import files
from etalon.errors import EtalonError, PlanError
from etalon.figures import sizes
from etalon.plan.plan import Plan
from etalon.plan.transport import Ndp, RotorLb

ETHERNET_AND_IP = 34
TCP_HEADER = 20
TIMESTAMPS = 12

PERCENTILES = (50, 99, 99.9)


def completions(flows: pl.LazyFrame, plan: Plan, end: int) -> pl.LazyFrame:
    """The finite flows of a run of this plan up to `end` (ns), one row each.

    `fct_us` is the time from a flow's start to the arrival of its last byte, null if it did not finish. `lasted_us` is
    that, or for a flow that did not finish the time until it was killed or the run ended. `slowdown` is `fct_us` over
    the flow's `ideal_us`.
    """
    flows = flows.filter((pl.col("bytes") >= 0) & (pl.col("start_ns") < end))
    if "class" not in flows.collect_schema().names():  # of an older version
        flows = flows.with_columns(pl.lit("").alias("class"), stop_ns=pl.lit(-1))
    if "bytes_warmup" not in flows.collect_schema().names():
        flows = flows.with_columns(bytes_warmup=pl.lit(0))
    finished = pl.col("end_ns") >= 0
    killed = pl.when(pl.col("stop_ns") >= 0).then(pl.min_horizontal("stop_ns", pl.lit(end)))
    last = pl.when(finished).then("end_ns").otherwise(killed.otherwise(end))
    return (
        flows.join(
            _ideals(flows, plan).lazy(),
            on=["src_rack", "dst_rack"],
            how="left",
            maintain_order="left",
        )
        .with_columns(
            fct_us=pl.when(finished).then((pl.col("end_ns") - pl.col("start_ns")) / 1000),
            lasted_us=(last - pl.col("start_ns")) / 1000,
            ideal_us=_ideal(plan) / 1000,
        )
        .with_columns(slowdown=pl.col("fct_us") / pl.col("ideal_us"))
    )


def _ideals(flows: pl.LazyFrame, plan: Plan) -> pl.DataFrame:
    """By rack pair of these flows: what a byte takes on the narrowest link, and what a flow takes however short it is, in ns.

    Ideal is a flow alone on the network, whose sender never has to wait: half a round trip for the SYN, another for the
    SYN-ACK, then all segments back to back at the rate of the narrowest link, and half a round trip for the last of them.
    What TCP's windows add is no part of it. A transport without a handshake has the last half of a round trip only.
    """
    pairs = flows.select("src_rack", "dst_rack").unique(maintain_order=True).collect()
    circuits = plan.circuits if plan.week_ns else ()
    ways = [plan.network.passage(src, dst, circuits) for src, dst in pairs.iter_rows()]
    handshake = int(not _packets(plan))
    return pairs.with_columns(
        per_byte=pl.Series([8e9 / way.rate for way in ways], dtype=pl.Float64),
        fixed=pl.Series(
            [way.there + handshake * (way.there + way.back) for way in ways], dtype=pl.Int64
        ),
    )


def _packets(plan: Plan) -> Ndp | RotorLb | None:
    """What carries all flows, if that has no handshake."""
    carried = [workload.transport for workload in plan.workloads]
    found = next((one for one in carried if isinstance(one, Ndp | RotorLb)), None)
    return found if all(isinstance(one, Ndp | RotorLb) for one in carried) else None


def _ideal(plan: Plan) -> pl.Expr:
    """The ideal completion time in ns of flows that have their `_ideals`."""
    options = TIMESTAMPS if plan.tcp.timestamps else 0
    mss = plan.network.mtu - 40 - options
    headers = ETHERNET_AND_IP + TCP_HEADER + options
    if packets := _packets(plan):
        headers = packets.header
        mss = packets.payload or plan.network.mtu - headers
    segments = (pl.col("bytes") + (mss - 1)) // mss
    per_byte = pl.col("per_byte")
    return pl.col("bytes") * per_byte + segments * (headers * per_byte) + pl.col("fixed")


def by_class(rows: pl.LazyFrame, planes: Iterable[str]) -> pl.DataFrame:
    """One row a class of the flows of `completions`, in alphabetical order; flows without a class have an empty one.

    Completion times in microseconds, of the flows that finished; `lasted` counts the others too, with the time they
    had. Throughput is the median of size over completion time. Bytes are those of the measured time.
    """

    throughput = pl.col("bytes") * 8e6 / pl.col("fct_us")
    measured = [
        pl.col(column).quantile(part / 100, "nearest").alias(f"{column}_p{part:g}")
        for column in ("fct_us", "lasted_us", "slowdown")
        for part in PERCENTILES
    ]
    measured.append(throughput.median().alias("throughput_bps"))
    cut_off = pl.when(pl.col("fct_us").is_null())
    counts = (pl.len().alias("flows"), pl.col("fct_us").count().alias("finished"))
    sums = (
        pl.col("bytes").sum(),
        pl.col("bytes_delivered").sum(),
        *(pl.col(f"{plane}_bytes").sum() for plane in planes),
        cut_off.then(pl.col("bytes") - pl.col("bytes_delivered") - pl.col("bytes_warmup"))
        .otherwise(0)
        .sum()
        .alias("bytes_unfinished"),
    )

    def of_class(name: str) -> pl.DataFrame:
        """A row. Values are read one after the other, for each takes a column of all flows."""
        of = rows.filter(pl.col("class") == name)
        read = [
            of.select(*some).collect(engine="streaming") for some in (counts, *zip(measured), sums)
        ]
        return pl.concat([pl.DataFrame({"class": [name]}), *read], how="horizontal")

    names = rows.select(pl.col("class").unique()).collect(engine="streaming")["class"].sort()
    found = [of_class(name) for name in names]
    return pl.concat(found) if found else _no_class(rows, (*counts, *measured, *sums))


def _no_class(rows: pl.LazyFrame, values: Iterable[pl.Expr]) -> pl.DataFrame:
    """The columns of `by_class` without a row."""
    return rows.group_by("class").agg(*values).clear().collect()


def save_flows(flows: pl.LazyFrame, hosts: int, path: Path, force: bool) -> Path:
    """Writes the finite flows of racks with so many hosts to a file, in order of start.

    Raises:
        PlanError: if the file exists and `force` is not set.
    """
    if path.exists() and not force:
        raise PlanError("already exists; force=True replaces it", file=str(path))
    chosen = flows.filter(pl.col("bytes") > 0).sort("start_ns", maintain_order=True)
    ends = (pl.col(f"{end}_rack") * hosts + pl.col(f"{end}_host") for end in ("src", "dst"))
    lines = chosen.select(pl.concat_str(*ends, "bytes", "start_ns", separator=" ").alias("line"))
    try:
        files.put(path, "\n".join(lines.collect()["line"]))
    except OSError as error:
        raise EtalonError(f"{path}: could not be written: {error.strerror}") from error
    return path


def by_size(rows: pl.LazyFrame) -> pl.DataFrame:
    """One row for each size of the flows of `completions`, from small to large; more than 50 sizes share rows
    (`sizes.size_of`). Completion times in microseconds of the flows that finished."""
    table = rows.group_by(sizes.size_of(rows).alias("bytes")).agg(
        pl.len().alias("flows"),
        pl.col("fct_us").count().alias("finished"),
        sizes.mean("fct_us").alias("fct_us_mean"),
        sizes.p50("fct_us").alias("fct_us_p50"),
        sizes.p99("fct_us").alias("fct_us_p99"),
        pl.col("fct_us").max().alias("fct_us_max"),
        sizes.mean("slowdown").alias("slowdown_mean"),
        sizes.p99("slowdown").alias("slowdown_p99"),
    )
    return table.sort("bytes").collect(engine="streaming")


def percentile(
    rows: pl.LazyFrame, part: float, flow_class: str | None = None, column: str = "fct_us"
) -> float | None:
    """A percentile of a column of `completions`, of one class or of all finite flows; None if there is nothing."""
    if not 0 <= part <= 100:
        raise PlanError(f"percentile {part} must lie between 0 and 100")
    if flow_class is not None:
        rows = rows.filter(pl.col("class") == flow_class)
    quantile = rows.select(pl.col(column).quantile(part / 100, "nearest"))
    quantile = quantile.collect(engine="streaming").item()
    return None if quantile is None else float(quantile)
