# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reports: one HTML file a run or a reproduction, with figures, tables, the plan and where the numbers come from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from etalon import amounts, figures
from etalon.report.page import Answer, Code, Part, Picture, Prose, Section, Table, write
from etalon.report.quantities import by_column, by_row, described
from etalon.results import highlights

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from etalon.results import Run

__all__ = ["MOST_LINES", "MOST_ROWS", "drawn", "provenance", "sections_of_run", "write_run"]

MOST_LINES = 40
"""Lines of a program's output that a report shows."""
MOST_ROWS = 64
"""Rows of a table that a report shows; the Parquet files have all."""


def write_run(
    run: Run, folder: str | os.PathLike[str], *, command: str | None = None, pdf: bool = False
) -> Path:
    """Draws the figures that `run` has data for into `folder`/figures and writes `folder`/report.html.

    Args:
        run: the run.
        folder: its folder.
        command: what repeats the run; the default is right for a folder that holds the plan.
        pdf: whether the figures are written as PDF, too, for papers: this takes as long as the rest.

    Returns:
        The path of the report.
    """
    folder = Path(folder)
    pictures = []
    for name, caption in highlights.figures_of(run).items():
        png, *_ = figures.save(figures.draw(name, run), folder / "figures", name, pdf=pdf)
        pictures.append(Picture(caption, png, figures.interactive(name, run)))
    sections = sections_of_run(run, pictures, command=command)
    subtitle = (
        run.plan.description or f"engine `{run.meta.get('engine', 'sim')}`, seed {run.plan.seed}"
    )
    return write(folder / "report.html", run.plan.name, sections, subtitle=subtitle)


def sections_of_run(
    run: Run, pictures: list[Picture], *, command: str | None = None
) -> list[Section]:
    """The report of a run: answer and main picture, summary, further pictures, tables, plan, provenance."""
    warnings: list[Part] = []
    if run.partial:
        share = run.meta["simulated_ns"] / run.plan.duration
        text = (
            f"This run was stopped after {100 * share:.1f} % of its time. Numbers are of that part."
        )
        warnings.append(Prose(text, warning=True))
    if run.partial and run.console:
        text = "The kernel did not finish; `console.log` contains its last messages."
        warnings.append(Prose(text, warning=True))
    sections = [
        Section("", [*warnings, Answer(run.answer), *pictures[:1]]),
        Section("Summary", [_summary(run)]),
    ]
    if len(pictures) > 1:
        sections.append(Section("Figures", pictures[1:]))
    if len(run.programs):
        sections.append(Section("Programs", _programs(run)))
    sections.append(Section("Tables", [table for table in _tables(run) if table.rows]))
    sections.append(Section("Plan", [Code(run.plan.to_toml())]))
    engine = run.meta.get("engine", "sim")
    option = "" if engine == "sim" else f" --engine {engine}"
    facts = provenance(run.meta, command=command or f"etalon run plan.toml{option}")
    sections.append(Section("Provenance", [facts]))
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


def _summary(run: Run) -> Table:
    rows = [
        (what, value, unit, f"`{name}`") for what, value, unit, name in highlights.summary_rows(run)
    ]
    return Table(("quantity", "value", "unit", "name"), rows, right=(1,), spare=(3,))


def _programs(run: Run) -> list[Part]:
    """The programs of the plan, and the last lines of what each wrote."""
    ended = pl.col("status").cast(pl.String).fill_null("cut off by the end").alias("exit status")
    command = pl.format("`{}`", "command").alias("command")
    frame = run.programs.select("name", "host", command, "start_ns", "end_ns", ended)
    frame = frame.rename({"name": "program", "start_ns": "started_ns", "end_ns": "ended_ns"})
    caption = "Programs; times are network time, output is in the folder `programs`"
    parts: list[Part] = [by_column(frame, caption)]
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
    "day_ns": ("day", "ns"),
    "week_ns": ("week", "ns"),
    "packet_rate_bps": ("packet network, while busy", "bit/s"),
    "circuit_rate_bps": ("circuit, while busy", "bit/s"),
}
"""Name and unit of a quantity of the table of days."""


def _days(run: Run) -> Table:
    table = run.days.filter(pl.col("count") > 0).select("quantity", "mean", "std", "count").rows()
    said = {name: _DAYS.get(name) or described(name) for name, *_ in table}
    if not run.plan.week_ns and "packet_rate_bps" in said:  # measured as one network
        said["packet_rate_bps"] = ("network, while busy", "bit/s")
    units = amounts.units_of((said[name][1], mean) for name, mean, *_ in table)
    rows = []
    for name, mean, deviation, count in table:
        label, unit = said[name]
        scale = units(unit, [mean])
        rows.append((label, scale.text(mean), scale.text(deviation), scale.unit, count))
    columns = ("quantity", "mean", "standard deviation", "unit", "count")
    caption = (
        "Days as measured. A rate while busy is the rate on the wire from the first to the last packet that starts in a day, "
        "over days with ten packets or more."
    )
    return Table(columns, rows, caption, right=(1, 2))


def _pairs(run: Run) -> Table:
    """A column a pair if there are few: the rows are many."""
    if run.pairs.height > 6:
        return _limited(run.pairs, "Rack pairs")
    heads = [f"{src} → {dst}" for src, dst in run.pairs.select("src", "dst").iter_rows()]
    caption = "Rack pairs; numbers without a unit are packets"
    return by_row(run.pairs, heads, caption, leave=("src", "dst"))


def _ports(run: Run) -> Table:
    """Egress ports by what one asks of them first, the busiest first; the Parquet file has every column."""
    frame = run.ports.sort("utilization", descending=True, maintain_order=True).select(
        pl.concat_str("from", "to", separator=" → ").alias("port"),
        pl.col("utilization"),
        pl.col("queue_mean").alias("mean queue"),
        pl.col("queue_p99").alias("p99 of the queue"),
        pl.col("longest").alias("longest queue"),
        pl.col("packets"),
        pl.col("dropped"),
        pl.col("marked"),
    )
    return _limited(frame, "Egress ports, the busiest first; queues are in packets")


def _classes(run: Run) -> Table:
    """Classes of finite flows, a column each."""
    classes = run.by_class()
    caption = (
        "Finite flows by class. Completion covers flows that completed; lasted covers all flows, up to the end of the run; "
        "slowdown is completion over the time on an empty network."
    )
    heads = [name or "all flows" for name in classes["class"]]
    return by_row(classes, heads, caption, leave=("class",))


def _flows(run: Run) -> Table:
    """The flows by what one asks of them first; the Parquet file has every column."""
    carried = pl.sum_horizontal(f"{plane}_bytes" for plane in run.planes)
    # Of two planes the share of one says it all.
    shares = {
        f"by {plane}": pl.when(carried > 0).then(pl.col(f"{plane}_bytes") / carried)
        for plane in run.planes[1:]
    }
    finished = pl.col("end_ns") >= 0
    host = "r{}h{}"
    frame = run.flow_table.select(
        pl.col("flow"),
        pl.format(host, "src_rack", "src_host").alias("from"),
        pl.format(host, "dst_rack", "dst_host").alias("to"),
        pl.col("cc"),
        pl.when(pl.col("bytes") >= 0).then(pl.col("bytes")).alias("size"),
        pl.when(finished).then(pl.col("end_ns") - pl.col("start_ns")).alias("completed in"),
        pl.col("bytes_delivered").alias("delivered"),
        *(share.alias(name) for name, share in shares.items()),
        pl.col("retransmits").alias("sent again"),
        pl.col("rtos"),
        pl.col("tlps"),
        pl.col("undos"),
        pl.col("mean_cwnd").alias("mean cwnd"),
    )
    units = {"size": "B", "delivered": "B", "completed in": "ns"} | dict.fromkeys(shares, "0..1")
    told = frame.select(pl.all().count()).collect().row(0, named=True)
    some = frame.select(name for name, count in told.items() if count).head(MOST_ROWS).collect()
    number = int(frame.select(pl.len()).collect().item())
    return _limited(some, "Flows", units, number)


def _limited(
    frame: pl.DataFrame,
    caption: str,
    units: Mapping[str, str] | None = None,
    number: int | None = None,
) -> Table:
    """The first rows of a frame, or of one with a `number` of rows, of which these are the first."""
    number = frame.height if number is None else number
    if number > MOST_ROWS:
        caption += f" (the first {MOST_ROWS} of {number}; the Parquet files have all)"
    return by_column(frame, caption, units, MOST_ROWS)
