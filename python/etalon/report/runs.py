"""Reports: one HTML file a run or a reproduction, with figures, tables, the plan and where the numbers come from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from etalon import figures
from etalon.report.page import Code, Part, Picture, Prose, Section, Table, write
from etalon.results.metrics import METRICS

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from etalon.results import Run

__all__ = ["MOST_LINES", "MOST_ROWS", "drawn", "provenance", "sections_of_run", "write_run"]

MOST_LINES = 40
"""Lines of a program's output that a report shows."""
MOST_ROWS = 64
"""Rows of a table that a report shows; the Parquet files have all."""


def write_run(run: Run, folder: str | os.PathLike[str], *, command: str | None = None) -> Path:
    """Draws the figures that `run` has data for into `folder`/figures and writes `folder`/report.html.

    Args:
        run: the run.
        folder: its folder.
        command: what repeats the run; the default is right for a folder that holds the plan.

    Returns:
        The path of the report.
    """
    folder = Path(folder)
    pictures = []
    for name, caption in _figures_of(run).items():
        png, _ = figures.save(figures.draw(name, run), folder / "figures", name)
        pictures.append(Picture(caption, png, figures.interactive(name, run)))
    sections = sections_of_run(run, pictures, command=command)
    subtitle = (
        run.plan.description or f"engine `{run.meta.get('engine', 'sim')}`, seed {run.plan.seed}"
    )
    return write(folder / "report.html", run.plan.name, sections, subtitle=subtitle)


def sections_of_run(
    run: Run, pictures: list[Picture], *, command: str | None = None
) -> list[Section]:
    """The report of a run: summary, pictures, tables, plan, provenance."""
    summary: list[Part] = [_summary(run)]
    if run.partial and run.console:
        text = "The kernel did not come to the end; `console.log` has what it said last."
        summary.insert(0, Prose(text, warning=True))
    if run.partial:
        share = run.meta["simulated_ns"] / run.plan.resolve()["duration_ns"]
        text = (
            f"This run was stopped after {100 * share:.1f} % of its time. Numbers are of that part."
        )
        summary.insert(0, Prose(text, warning=True))
    sections = [Section("Summary", summary)]
    if pictures:
        sections.append(Section("Figures", pictures))
    if len(run.programs):
        sections.append(Section("Programs", _programs(run)))
    sections.append(Section("Tables", [table for table in _tables(run) if table.rows]))
    sections.append(Section("Plan", [Code(run.plan.to_toml())]))
    engine = run.meta.get("engine", "sim")
    option = "" if engine == "sim" else f" --engine {engine}"
    facts = provenance(run.meta, command=command or f"etalon run plan.toml{option}")
    sections.append(Section("Where this comes from", [facts]))
    return sections


def drawn(name: str, caption: str, *args: Any, **kwargs: Any) -> Picture:
    """The figure called `name`, printed and interactive; further arguments are the figure's."""
    return Picture(
        caption, figures.draw(name, *args, **kwargs), figures.interactive(name, *args, **kwargs)
    )


def provenance(meta: Mapping[str, Any], *, command: str) -> Table:
    """What is needed to get the same numbers again, as a table: version, seed, digests, command."""
    labels = {
        "version": "version of Etalon",
        "engine": "engine",
        "kernel": "kernel",
        "kernel_image": "digest of the kernel",
        "hz": "HZ of the kernel",
        "seed": "seed",
        "plan_digest": "digest of the plan",
        "digest": "digest of all events",
        "simulated_ns": "simulated",
        "events": "events",
        "packets_delivered": "data packets delivered",
    }
    rows: list[tuple[str, Any]] = [("command", f"`{command}`")]
    for key, label in labels.items():
        if key in meta:
            value = meta[key]
            if key == "simulated_ns":
                value = f"{value / 1e9:.10g} s"
            elif "digest" in label:
                value = f"`{value}`"
            rows.append((label, value if isinstance(value, str) else str(value)))
    return Table(("", ""), rows)


_SCALES = {"0..1": (100.0, "%"), "bit/s": (1e-9, "Gb/s"), "us": (1.0, "µs")}
"""Factor and unit in which a report shows the unit of a metric."""


def _summary(run: Run) -> Table:
    rows = []
    for name, value in run.summary().items():
        if value is None:
            continue
        metric = METRICS[name]
        factor, unit = _SCALES.get(metric.unit, (1.0, metric.unit))
        rows.append(
            (metric.description, factor * value if factor != 1 else value, unit, f"`{name}`")
        )
    return Table(("quantity", "value", "unit", "name"), rows)


MOST_BARS = 1000
"""Flows that have a bar each."""


def _figures_of(run: Run) -> dict[str, str]:
    """Name and caption of each figure that the run has data for."""
    resolved = run.plan.resolve()
    chosen = {}
    if run.sequence.height and run.flows.height:
        chosen["sequence"] = (
            "Bytes that a flow has sent (mean over flows and weeks) and length of the VOQ, "
            "from the end of a circuit on. Circuit days are shaded."
        )
    if run.tcp.height:
        chosen["cwnd"] = (
            "Congestion window, threshold (dashed) and smoothed RTT of the flows that `measure.flows` names. "
            "Circuit days are shaded where they can be told apart."
        )
    src, dst = resolved["measure"]["pair"]
    of_pair = (pl.col("src") == src) & (pl.col("dst") == dst)
    if not run.latency_histogram.filter(of_pair).is_empty():
        chosen["latency_cdf"] = (
            f"Time in the switch of packets over 1000 B from rack {src} to rack {dst}, "
            "by the network that carried them."
        )
    if run.goodput is not None and run.flows.height <= MOST_BARS:
        chosen["goodput"] = "Goodput of each flow over the measured time."
    if not run.flows.filter((pl.col("bytes") >= 0) & (pl.col("end_ns") >= 0)).is_empty():
        chosen["fct_cdf"] = (
            "Completion times of finite flows; flows cut off by the end of the run count as not done."
        )
        chosen["network_bytes"] = "Payload that each network carried, all rack pairs."
    if run.ports.height:
        chosen["ports"] = "Utilisation of egress ports, the busiest first."
    if not run.writes.filter(pl.col("end_ns") >= 0).is_empty():
        chosen["write_cdf"] = "Times in which files were written to HDFS."
    if "demand" in run.meta.get("schedule", {}):
        chosen["demand"] = (
            "The largest demand that a week was computed for, and this week: when racks' circuits have something to send."
        )
    elif resolved.get("schedule") is not None:
        chosen["schedule"] = (
            f"One week of circuits, and when the packet network is open to packets from rack {src} to rack {dst}."
        )
    return chosen


def _programs(run: Run) -> list[Part]:
    """The programs of the plan, and the last lines of what each wrote."""
    rows = [
        (
            row["name"],
            row["host"],
            f"`{row['command']}`",
            row["start_ns"] / 1e6,
            None if row["end_ns"] is None else row["end_ns"] / 1e6,
            "cut off by the end" if row["status"] is None else str(row["status"]),
        )
        for row in run.programs.iter_rows(named=True)
    ]
    columns = ("program", "host", "command", "started (ms)", "ended (ms)", "exit status")
    caption = "Programs; times are those of the network, output is in the folder `programs`"
    parts: list[Part] = [Table(columns, rows, caption)]
    for row in run.programs.iter_rows(named=True):
        for name in (row["out"], row["err"]):
            lines = run.outputs[name].decode(errors="replace").splitlines()
            if lines:
                cut = [f"... {len(lines) - MOST_LINES} lines more in {name}"]
                shown = [*(cut if len(lines) > MOST_LINES else []), *lines[-MOST_LINES:]]
                parts.append(Code("\n".join([f"{name}:", *shown])))
    return parts


def _tables(run: Run) -> list[Table]:
    return [
        _days(run),
        _pairs(run),
        _ports(run),
        _classes(run),
        _flows(run),
    ]


_DAYS = {
    "day_ns": ("day", 1e-3, "µs"),
    "week_ns": ("week", 1e-3, "µs"),
    "packet_rate_bps": ("packet network, while busy*", 1e-9, "Gb/s"),
    "circuit_rate_bps": ("circuit, while busy*", 1e-9, "Gb/s"),
}
"""Name, factor and unit in which a report shows a quantity of the table of days."""


def _days(run: Run) -> Table:
    rows = []
    for quantity, mean, deviation, count in run.days.select(
        "quantity", "mean", "std", "count"
    ).iter_rows():
        name, factor, unit = _DAYS.get(quantity, (quantity, 1.0, ""))
        scaled = [None if value is None else factor * value for value in (mean, deviation)]
        rows.append((name, *scaled, unit, count))
    columns = ("quantity", "mean", "standard deviation", "unit", "count")
    caption = (
        "Days as they came out. *Rate on the wire from the first to the last packet that starts in a day, "
        "over days with ten packets or more."
    )
    return Table(columns, rows, caption)


def _pairs(run: Run) -> Table:
    """A column a pair if there are few: the rows are many."""
    if run.pairs.height > 6:
        return _table(run.pairs, "Rack pairs")
    quantities = [name for name in run.pairs.columns if name not in ("src", "dst")]
    columns = ["", *(f"{src} → {dst}" for src, dst in run.pairs.select("src", "dst").iter_rows())]
    rows = [(name, *run.pairs[name].to_list()) for name in quantities] if run.pairs.height else []
    return Table(columns, rows, "Rack pairs")


def _ports(run: Run) -> Table:
    """Egress ports by what one asks of them first, the busiest first; the Parquet file has every column."""
    frame = run.ports.sort("utilization", descending=True, maintain_order=True).select(
        pl.concat_str("from", "to", separator=" → ").alias("port"),
        (100 * pl.col("utilization")).alias("utilisation (%)"),
        pl.col("queue_mean").alias("mean queue"),
        pl.col("longest").alias("longest queue"),
        pl.col("packets"),
        pl.col("dropped"),
        pl.col("marked"),
    )
    return _table(frame, "Egress ports, the busiest first; queues are in packets")


def _classes(run: Run) -> Table:
    """Classes of finite flows, a column each."""
    classes = run.by_class()
    columns = ["", *(name or "flows" for name in classes["class"])]
    quantities = [name for name in classes.columns if name != "class"]
    rows = [(name, *classes[name].to_list()) for name in quantities] if classes.height else []
    caption = (
        "Finite flows by class. *fct* is of flows that finished, *lasted* of all, with the time that they had; "
        "*slowdown* is over the time on an empty network."
    )
    return Table(columns, rows, caption)


def _flows(run: Run) -> Table:
    """The flows by what one asks of them first; the Parquet file has every column."""
    carried = pl.sum_horizontal(f"{plane}_bytes" for plane in run.planes)
    # Of two planes the share of one says it all.
    shares = [
        pl.when(carried > 0).then(100 * pl.col(f"{plane}_bytes") / carried).alias(f"by {plane} (%)")
        for plane in run.planes[1:]
    ]
    finished = pl.col("end_ns") >= 0
    host = "r{}h{}"
    frame = run.flows.select(
        pl.col("flow"),
        pl.format(host, "src_rack", "src_host").alias("from"),
        pl.format(host, "dst_rack", "dst_host").alias("to"),
        pl.col("cc"),
        pl.when(pl.col("bytes") >= 0).then(pl.col("bytes") / 1e6).alias("size (MB)"),
        pl.when(finished)
        .then((pl.col("end_ns") - pl.col("start_ns")) / 1e6)
        .alias("completed in (ms)"),
        (pl.col("bytes_delivered") / 1e6).alias("delivered (MB)"),
        *shares,
        pl.col("retransmits"),
        pl.col("rtos").alias("RTOs"),
        pl.col("tlps").alias("TLPs"),
        pl.col("undos"),
        pl.col("mean_cwnd").alias("mean cwnd"),
    )
    empty = [name for name in frame.columns if frame[name].null_count() == frame.height]
    return _table(frame.drop(empty), "Flows")


def _table(frame: pl.DataFrame, caption: str) -> Table:
    if frame.height > MOST_ROWS:
        caption += f" (the first {MOST_ROWS} of {frame.height}; the Parquet files have all)"
    return Table(frame.columns, frame.head(MOST_ROWS).rows(), caption)
