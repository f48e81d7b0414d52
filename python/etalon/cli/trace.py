"""`etalon trace`: what happened, packet by packet: pcapng for Wireshark, a timeline for Perfetto."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from etalon.cli import common
from etalon.errors import PlanError


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Example:  etalon trace strobe.toml --start 48ms --end 58ms")(trace)


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
    pcapng: Annotated[
        bool, typer.Option("--pcapng/--no-pcapng", help="Packets, for Wireshark.")
    ] = True,
    timeline: Annotated[
        bool, typer.Option("--timeline/--no-timeline", help="Circuits and VOQs, for Perfetto.")
    ] = True,
    force: common.Force = False,
    json: common.Json = False,
) -> None:
    """Run a plan again up to a time and keep every packet and event of a part of it."""
    from etalon.plan import Plan

    plan = Plan.load(source / "plan.toml" if source.is_dir() else source)
    span = _span("--start", start), _span("--end", end)
    if span[0] >= span[1]:
        raise PlanError(f'--start "{start}" must be before --end "{end}"')
    from etalon import trace as tracing

    folder = out or (source / "trace" if source.is_dir() else Path("runs") / f"{plan.name}-trace")
    with common.progress_bar(f"{plan.name}, trace") as progress:
        paths = tracing.write(
            plan,
            folder,
            start_ns=span[0],
            end_ns=span[1],
            pcapng=pcapng,
            timeline=timeline,
            force=force,
            progress=progress,
        )
    if json:
        common.print_json([str(path) for path in paths])
    else:
        typer.echo("\n".join(str(path) for path in paths))


def _span(option: str, text: str) -> int:
    from pydantic import TypeAdapter, ValidationError

    from etalon.units import Time

    try:
        return int(TypeAdapter(Time).validate_python(text))
    except ValidationError as error:
        raise PlanError(f"{option}: {error.errors()[0]['msg']}") from None
