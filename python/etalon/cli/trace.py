# SPDX-License-Identifier: MIT OR Apache-2.0
"""`etalon trace`: what happened, packet by packet: pcapng for Wireshark, a timeline for Perfetto."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etalon.cli import common, given
from etalon.cli.run import default_folder
from etalon.errors import Interrupted, PlanError
from etalon.progress import bar

if TYPE_CHECKING:
    from etalon.plan import Plan


EngineOfRun = Annotated[
    str | None,
    typer.Option(
        "--engine",
        help="The engine: sim or linux; by default the run's own, else sim.",
        show_default=False,
    ),
]


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Example:  etalon trace strobe.toml --start 48ms --end 58ms --at tor1")(
        trace
    )


def trace(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="PLAN|RUN", help="A plan file, or a run's folder.", show_default=False
        ),
    ],
    out: common.Out = None,
    start: Annotated[
        str, typer.Option("--start", help="Beginning of the trace, in network time.")
    ] = "0us",
    end: Annotated[str, typer.Option("--end", help="End of the trace.")] = "10ms",
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="POINT",
            help="Capture at one point only, such as tor1: each packet of rack 1 once, in both directions.",
        ),
    ] = None,
    pcapng: Annotated[
        bool, typer.Option("--pcapng/--no-pcapng", help="Packets, for Wireshark.")
    ] = True,
    timeline: Annotated[
        bool, typer.Option("--timeline/--no-timeline", help="Circuits and VOQs, for Perfetto.")
    ] = True,
    engine: EngineOfRun = None,
    patience: common.Patience = "60s",
    force: common.Force = False,
    code: common.Code = False,
    json: common.Json = False,
) -> int:
    """Record every packet and event in a part of a run. Runs the plan again, up to the end of that part."""
    from etalon import tracing

    if not pcapng and not timeline:
        raise PlanError("--no-pcapng and --no-timeline together leave nothing to write")
    plan = _plan_of(source)
    first, last = _span(plan, start, end)
    name = engine or _engine_of(source)
    chosen = common.prepare(name, [plan], patience, [source])
    folder = out or _default_folder(source, plan, name)
    try:
        with bar(f"{plan.name}, trace") as progress:
            paths = tracing.write(
                plan, folder, start_ns=first, end_ns=last, at=at, pcapng=pcapng, timeline=timeline, engine=chosen,
                force=force, progress=progress,
            )  # fmt: skip
    except Interrupted:
        partial = f"the trace in {folder} is partial, it ends where the run did"
        common.note(f"interrupted: {partial}; --force writes it again")
        return common.INTERRUPTED
    if json:
        common.print_json([str(path) for path in paths])
        return 0
    typer.echo("\n".join(str(path) for path in paths))
    if pcapng:
        _tell(paths[0], tracing.count(paths[0]), None if at else f"tor{plan.measured_pair[1]}")
    return 0


def _span(plan: Plan, start: str, end: str) -> tuple[int, int]:
    """The part of the run to keep, cut to the plan's end."""
    from etalon.units import TIME

    first, last = common.span("--start", start), common.span("--end", end)
    if first >= last:
        raise PlanError(f'--start "{start}" must be before --end "{end}"')
    if first >= plan.duration:
        raise PlanError(f'--start "{start}" is not before the end of the experiment')
    if last > plan.duration:
        common.note(
            f'--end "{end}" is too late: the trace ends with the plan at {TIME.format(plan.duration)}'
        )
    return first, min(last, plan.duration)


def _tell(path: Path, counts: dict[str, int], point: str | None) -> None:
    """How many packets were seen where; of a capture of all points also how to get those of a `point` alone."""
    from etalon.units import counted

    seen = {name: number for name, number in counts.items() if number}
    common.note(
        f"{counted(sum(seen.values()), 'packet')}: "
        f"{', '.join(f'{n} at {name}' for name, n in seen.items())}"
    )
    if point is not None:
        wanted = f'frame.interface_name in {{"{point}-in", "{point}-out"}}'
        common.note(
            f"the file contains each packet where it enters, where it leaves and where it is dropped; --at {point} "
            "keeps each packet once, "
            f"and so does\ntshark -r {shlex.quote(str(path))} -Y '{wanted}' -w {point}.pcapng"
        )


def _plan_of(source: Path) -> Plan:
    """The plan of a file, or of a run's folder."""
    from etalon.plan import Plan
    from etalon.results import store

    if not source.is_dir():
        return given.plan_in(source)
    if not (source / store.PLAN).exists():
        raise PlanError(f"is not the folder of a run: it has no {store.PLAN}", file=str(source))
    return Plan.load(source / store.PLAN)


def _engine_of(source: Path) -> str:
    """The engine that made a run."""
    from etalon.results import store

    meta = store.read_meta(source) or {}
    return str(meta.get("engine", "sim"))


def _default_folder(source: Path, plan: Plan, engine: str) -> Path:
    """Within the run's folder; for a plan file, beside where its run would be."""
    if not source.is_dir():
        run = default_folder(plan, engine)
        return run.with_name(f"{run.name}-trace")
    return source / ("trace" if engine == _engine_of(source) else f"trace-{engine}")
