"""`etalon run`: runs plans and shows what came out."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from etalon.cli import common, report
from etalon.errors import EngineFailed, Interrupted, PlanError

if TYPE_CHECKING:
    from etalon.plan import Plan
    from etalon.results import Run

RUNS = Path("runs")


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
    json: common.Json = False,
    figures: common.Figures = True,
) -> int:
    """Run an experiment and show its results."""
    from etalon.engine import execute
    from etalon.results import store

    chosen = [common.changed_plan(path, settings, seed) for path in plans]
    if out is not None and len(chosen) > 1:
        folders = [out / default_folder(plan, engine).name for plan in chosen]
    else:
        folders = [out or default_folder(plan, engine) for plan in chosen]
    if len(set(folders)) < len(folders):
        raise PlanError("the same experiment is given twice")
    common.prepare(engine, chosen, patience)

    known: dict[int, Run] = {}
    for index, (plan, folder) in enumerate(zip(chosen, folders, strict=True)):
        if not force and store.finished(folder, plan, engine):
            known[index] = store.load_run(folder)
            common.note(f"{folder} already holds the results of this plan; --force runs it again")
        else:
            again = store.unfinished(folder, plan, engine)
            if again:
                common.note(f"{folder} holds partial results; the plan is run again in their place")
            store.claim(folder, force or again)
            for sentence in plan.warnings:
                common.note(f"warning: {sentence}")

    missing = [index for index in range(len(chosen)) if index not in known]
    began = time.monotonic()
    interrupted = False
    try:
        with common.progress_bar(", ".join(chosen[index].name for index in missing)) as progress:
            measured = execute(
                [chosen[index] for index in missing], engine=engine, jobs=jobs, progress=progress
            )
        runs = known | dict(zip(missing, measured, strict=True))
    except Interrupted as stop:
        interrupted = True
        digests = [plan.digest for plan in chosen]
        runs = known | {digests.index(run.plan.digest): run for run in stop.runs}
    except EngineFailed as failure:
        _keep(failure, {plan.digest: folder for plan, folder in zip(chosen, folders, strict=True)})
        raise
    took = time.monotonic() - began

    documents = []
    for index, result in sorted(runs.items()):
        folder = folders[index]
        if index not in known:
            if result.partial and store.complete(folder):
                common.note(
                    f"interrupted: {folder} keeps its complete results; nothing was written"
                )
                continue
            again = store.unfinished(folder, result.plan, engine)
            store.save_run(result, folder, force or again)
        if result.partial:
            common.note(
                f"interrupted: {folder} holds partial results, marked as such; the same command runs the plan again"
            )
        for sentence in (*result.warnings, *result.failed_programs):
            common.note(f"warning: {sentence}")
        documents.append(document(result, folder))
        if not json:
            show(result, folder, None if index in known else took)
    if figures and not interrupted:  # all tables are safe by now, whatever happens here
        for index, result in runs.items():
            if not (folders[index] / "report.html").exists():
                try:
                    report.write(result, folders[index])
                except KeyboardInterrupt:
                    common.note(
                        f"interrupted: figures of {folders[index]} are incomplete; "
                        f"`etalon report {folders[index]}` draws them"
                    )
                    return common.INTERRUPTED
    if json:
        common.print_json(documents[0] if len(chosen) == 1 and documents else documents)
    if interrupted:
        return common.INTERRUPTED
    failed = any(result.failed_programs for result in runs.values())
    return common.FAILURE if failed else common.OK


def default_folder(plan: Plan, engine: str = "sim") -> Path:
    """Where a plan's results go if nothing else is said; results of the Linux engine say so."""
    mark = "" if engine == "sim" else f"-{engine}"
    return RUNS / f"{plan.name}{mark}-{plan.digest[:8]}"


def _keep(failure: EngineFailed, folders: dict[str, Path]) -> None:
    """Keeps what was measured up to an engine's failure, with the kernel's console, unless it would cost a whole run."""
    from etalon.results import store

    run = failure.run
    if run is None or store.complete(folders[run.plan.digest]):
        return
    folder = folders[run.plan.digest]
    store.save_run(replace(run, console=failure.console), folder, force=True)
    failure.log = folder / store.CONSOLE
    common.note(f"{folder} holds what was measured up to the failure, marked as partial")


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
    src, dst = plan.measured_pair
    columns = ("packet", "circuit", None) if plan.week_ns else ("packet", None)
    table = common.plain_table(f"rack {src} -> {dst}", *(f">{name or 'total'}" for name in columns))
    utilization = {"packet": run.packet_utilization, "circuit": run.circuit_utilization}
    table.add_row("utilisation", *(_percent(utilization[name]) for name in columns if name))
    table.add_row("payload", *(_gbps(run.payload(name)) for name in columns))
    for percentile in (50, 99):
        cells = [_microseconds(run.latency(percentile, name)) for name in columns]
        table.add_row(f"latency p{percentile}", *cells)
    common.print_table(table)
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
    if len(run.programs):
        _show_programs(run)
    span = rounded(min(plan.duration, int(run.meta["simulated_ns"])))
    seconds = "" if took_s is None else f" in {took_s:.1f} s"
    engine = (
        f", Linux {run.meta['kernel']} with HZ {run.meta['hz']}" if "kernel" in run.meta else ""
    )
    typer.echo(
        f"{plan.name}: {span} of network time{seconds}, seed {plan.seed}{engine}; results in {folder}"
    )


def _show_flows(run: Run) -> None:
    """Completion times of finite flows: a line, or a table if they have classes."""
    from etalon.units import SIZE

    classes = run.by_class()
    if classes.is_empty():
        return
    if classes["class"].to_list() == [""]:
        row = classes.row(0, named=True)
        times = (f"p{part} {_microseconds(row[f'fct_us_p{part}'])}" for part in (50, 99))
        typer.echo(
            f"completion time {', '.join(times)}; {row['finished']} of {row['flows']} finite flows done"
        )
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
            SIZE.format(row["bytes_unfinished"]),
        )
    common.print_table(table)


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
    return "-" if value is None else f"{value:.3g}"


def _gbps(rate: float | None) -> str:
    return "-" if rate is None else f"{rate / 1e9:.2f} Gb/s"
