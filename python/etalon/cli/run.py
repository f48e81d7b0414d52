# SPDX-License-Identifier: MIT OR Apache-2.0
"""`etalon run`: runs plans and shows what came out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from etalon import amounts
from etalon.cli import common, given, report
from etalon.cli.watch import Watching
from etalon.errors import EngineFailed, PlanError
from etalon.progress import bar

if TYPE_CHECKING:
    import polars as pl

    from etalon.campaign.store import Store
    from etalon.plan import Plan
    from etalon.results import Run

RUNS = Path("runs")
Watch = Annotated[bool, typer.Option("--watch", help="Show measurements during the run.")]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Example:  etalon run strobe.toml --set network.voq=32 --set bulk.cc=dctcp")(
        run
    )


def run(
    plans: Annotated[
        list[Path], typer.Argument(metavar="PLAN", help="Plan files (TOML).", show_default=False)
    ],
    out: common.Out = None,
    force: common.Force = False,
    seed: common.Seed = None,
    settings: common.Settings = None,
    engine: common.Engine = "sim",
    patience: common.Patience = "60s",
    jobs: common.Jobs = None,
    code: common.Code = False,
    json: common.Json = False,
    figures: common.Figures = True,
    pdf: common.Pdf = False,
    csv: common.Csv = False,
    watch: Watch = False,
) -> int:
    """Run an experiment and show its results."""
    from etalon.campaign.runs import run_missing
    from etalon.campaign.store import Store
    from etalon.results.store import put_csv

    chosen = [given.changed_plan(path, settings, seed) for path in plans]
    places = _places(chosen, out, engine)
    ready = common.prepare(engine, chosen, patience, plans)
    watching = Watching(ready, chosen)
    store = Store(watching if watch else ready, lambda plan: places[plan.digest], replace=force)
    known = [] if force else [plan for plan in chosen if store.has(plan)]
    for plan in chosen:
        _claim(store, plan, known=plan in known)
    began = time.monotonic()
    names = [plan.name for plan in chosen if plan not in known]
    try:
        with watching.screen() if watch else bar(", ".join(names)) as progress:
            outcome = run_missing(
                chosen, store, fresh=force, keep_partial=True, jobs=jobs, progress=progress
            )
    except EngineFailed as failure:
        if failure.log is not None:
            _note_partial(failure.log.parent)
        raise
    took = time.monotonic() - began
    made = {plan.digest: store.load(plan) for plan in known} | outcome.runs
    kept = []
    for plan in chosen:
        result = made.get(plan.digest)
        if result is not None and _kept(store, result):
            kept.append((result, places[plan.digest]))
            _tell(*kept[-1], json, None if plan in known else took)
    for _, folder in kept if csv else ():
        put_csv(folder)
    if figures and not outcome.interrupted and not _draw(kept, pdf):
        return common.INTERRUPTED
    if json:
        documents = [document(result, folder) for result, folder in kept]
        common.print_json(documents[0] if len(chosen) == 1 and documents else documents)
    if outcome.interrupted:
        return common.INTERRUPTED
    return common.FAILURE if any(one.failed_programs for one, _ in kept) else common.OK


def _note_partial(folder: Path) -> None:
    common.note(f"{folder} contains the results up to the failure, marked as partial")


def _tell(run: Run, folder: Path, json: bool, took_s: float | None) -> None:
    """Warnings, and the summary for people unless JSON is asked for."""
    for sentence in (*run.warnings, *run.failed_programs):
        common.note(f"warning: {sentence}")
    if not json:
        show(run, folder, took_s)


def _places(plans: Sequence[Plan], out: Path | None, engine: str) -> dict[str, Path]:
    """Where the results of each plan go, by its digest."""
    if out is not None and len(plans) > 1:
        folders = [out / default_folder(plan, engine).name for plan in plans]
    else:
        folders = [out or default_folder(plan, engine) for plan in plans]
    places = {plan.digest: folder for plan, folder in zip(plans, folders, strict=True)}
    if len(places) < len(plans):
        raise PlanError("the same experiment is given twice")
    return places


def _claim(store: Store, plan: Plan, *, known: bool) -> None:
    """Refuses, before anything runs, a folder that may not be written; notes results that are already there."""
    folder = store.place(plan)
    if known:
        common.note(f"{folder} already holds the results of this plan; --force runs it again")
        return
    if store.partial(plan):
        common.note(f"{folder} holds partial results; the plan runs again and replaces them")
    store.claim(plan)
    for sentence in plan.warnings:
        common.note(f"warning: {sentence}")


def _kept(store: Store, run: Run) -> bool:
    """Whether these results are in their folder; notes those that Ctrl-C cut short."""
    folder = store.place(run.plan)
    if not run.partial:
        return True
    if store.whole(run.plan):
        common.note(f"interrupted: {folder} keeps its complete results; nothing was written")
        return False
    common.note(
        f"interrupted: {folder} holds partial results, marked as such; the same command runs the plan again"
    )
    return True


def _draw(kept: Sequence[tuple[Run, Path]], pdf: bool) -> bool:
    """Draws the missing figures. Returns whether it finished before Ctrl-C."""
    for run, folder in kept:  # all tables are safe by now, whatever happens here
        if (folder / "report.html").exists():
            continue
        try:
            report.write(run, folder, pdf)
        except KeyboardInterrupt:
            common.note(
                f"interrupted: figures of {folder} are incomplete; `etalon report {folder}` draws them"
            )
            return False
    return True


def default_folder(plan: Plan, engine: str = "sim") -> Path:
    """The default folder of a plan's results. Its name includes any engine but the simulator."""
    mark = "" if engine == "sim" else f"-{engine}"
    return RUNS / f"{plan.name}{mark}-{plan.digest[:8]}"


def document(run: Run, folder: Path) -> dict[str, Any]:
    """A run as JSON: who it is, where it is, and every metric."""
    keys = (
        "name",
        "engine",
        "kernel",
        "hz",
        "version",
        "seed",
        "plan_digest",
        "digest",
        "partial",
        "events",
        "packets_delivered",
    )
    return (
        {key: run.meta[key] for key in keys if key in run.meta}
        | {"folder": str(folder)}
        | run.summary()
        | ({"programs": run.programs.to_dicts()} if len(run.programs) else {})
    )


def show(run: Run, folder: Path, took_s: float | None) -> None:
    """The summary for people: the measured pair, one column a network; then what concerns all pairs."""
    from etalon.units import rounded

    plan = run.plan
    _show_pairs(run)
    _show_flows(run)
    counts = {
        "retransmission": run.counted("retransmits"),
        "timeout": run.counted("rtos"),
        "drop": run.drops,
    }
    what = f"over {rounded(run.measured_ns)}"
    if run.goodput is not None:
        what = f"goodput {_gbps(run.goodput)} {what}"
    counted = (
        f"{number} {name}{'' if number == 1 else 's'}"
        for name, number in counts.items()
        if number is not None
    )
    typer.echo(f"all pairs: {what}, {', '.join(counted)}")
    if len(run.writes):
        done = int((run.writes["end_ns"] >= 0).sum())
        times = (f"p{part} {_milliseconds(run.write_time(part))}" for part in (50, 99))
        typer.echo(
            f"HDFS: {done} of {len(run.writes)} files written, {', '.join(times)}; "
            f"job {_milliseconds(run.job_time)}, {_gbps(run.write_throughput)}"
        )
    if len(run.iterations):
        done = int((run.iterations["end_ns"] >= 0).sum())
        asked = sum(job.iterations for job in plan.job)
        taken = ((part, run.iteration_time(part)) for part in (50, 99))
        times = (f"p{part} {'-' if ms is None else rounded(round(ms * 1e6))}" for part, ms in taken)
        typer.echo(
            f"jobs: {done} of {asked} iterations done, {', '.join(times)}; busbw {_gbps(run.busbw)}"
        )
    if len(run.programs):
        _show_programs(run)
    _show_waiting(run)
    span = rounded(min(plan.duration, int(run.meta["simulated_ns"])))
    seconds = "" if took_s is None else f" in {took_s:.1f} s"
    engine = (
        f", Linux {run.meta['kernel']} with HZ {run.meta['hz']}" if "kernel" in run.meta else ""
    )
    typer.echo(
        f"{plan.name}: {span} of network time{seconds}, seed {plan.seed}{engine}; results in {folder}"
    )


def _show_waiting(run: Run) -> None:
    """Who still waited for circuits at the end, and who had what was in the way."""
    from etalon.units import rounded

    table = run.cross_connects
    asked: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in table.filter(table["granted_ns"] < 0).iter_rows(named=True):
        asked.setdefault((row["asked_by"], row["asked_ns"]), []).append(row)
    for (who, at), rows in asked.items():
        circuits = " ".join(f"r{row['src']}>r{row['dst']}" for row in rows)
        keepers = sorted({name for row in rows for name in row["kept_by"].split(", ") if name})
        its = "its" if len(keepers) == 1 else "their"
        why = (
            f", because {' and '.join(keepers)} did not give back {its} circuits" if keepers else ""
        )
        typer.echo(f"{who} asked for {circuits} at {rounded(at)} and never got them{why}")


def _show_pairs(run: Run) -> None:
    """What the networks carried, a column each: for the measured pair, or for all pairs if no pair stands out."""
    columns: tuple[str | None, ...] = (*run.planes, None)
    names = [name or "total" for name in columns]
    if not run.plan.week_ns:  # measured as one network, whatever it consists of
        columns, names = run.planes[:1], ["network"]
    pair = run.plan.pair_in_question
    title = "all rack pairs" if pair is None else f"rack {pair[0]} -> {pair[1]}"
    of: Literal["all"] | tuple[int, int] = pair or "all"
    table = common.plain_table(title, *(f">{name}" for name in names))
    if pair is not None:  # pairs share uplinks, so that their capacities do not add up
        table.add_row("utilisation", *(_percent(run.utilization(name)) for name in columns if name))
    table.add_row("payload", *(_gbps(run.payload(name, of)) for name in columns))
    for percentile in (50, 99):
        cells = [_microseconds(run.latency(percentile, name, of)) for name in columns]
        table.add_row(f"latency p{percentile}", *cells)
    common.print_table(table)


def _show_flows(run: Run) -> None:
    """Completion times of finite flows: a line, or a table if they have classes."""
    classes = run.by_class()
    if classes.is_empty():
        return
    if classes["class"].to_list() == [""]:
        row = classes.row(0, named=True)
        times = (f"p{part} {_microseconds(row[f'fct_us_p{part}'])}" for part in (50, 99))
        typer.echo(
            f"completion time {', '.join(times)}; {row['finished']} of {row['flows']} finite flows done"
        )
        _say_censored(classes)
        return
    names = (">flows", ">done", ">p50", ">p99", ">p99.9", ">slowdown p50", ">p99", ">unfinished")
    table = common.plain_table("class", *names)
    for row in classes.iter_rows(named=True):
        table.add_row(
            row["class"] or "-",
            str(row["flows"]),
            str(row["finished"]),
            *(_microseconds(row[f"fct_us_p{part}"]) for part in ("50", "99", "99.9")),
            *(_ratio(row[f"slowdown_p{part}"]) for part in ("50", "99")),
            amounts.humane(row["bytes_unfinished"], "B"),
        )
    common.print_table(table)
    _say_censored(classes)


def _say_censored(classes: pl.DataFrame) -> None:
    """That percentiles leave flows out, if some did not finish: the slowest are among these."""
    unfinished = int(classes["flows"].sum()) - int(classes["finished"].sum())
    if unfinished and classes["finished"].sum():
        typer.echo(
            f"percentiles exclude {unfinished} unfinished {'flow' if unfinished == 1 else 'flows'}, "
            "and so are too low"
        )


def _show_programs(run: Run) -> None:
    """What became of the plan's programs; their output is in the folder."""
    from etalon.units import rounded

    table = common.plain_table("program", "host", ">started", ">ended", "exit status", "output")
    for row in run.programs.iter_rows(named=True):
        cut_off = row["status"] is None
        table.add_row(
            row["name"],
            row["host"],
            rounded(row["start_ns"]),
            "-" if row["end_ns"] is None else rounded(row["end_ns"]),
            "cut off by the end" if cut_off else str(row["status"]),
            row["out"],
        )
    common.print_table(table)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def _microseconds(value: float | None) -> str:
    return "-" if value is None or value != value else f"{value:.0f} us"


def _milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} ms"


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _gbps(rate: float | None) -> str:
    return "-" if rate is None else f"{rate / 1e9:.2f} Gb/s"
