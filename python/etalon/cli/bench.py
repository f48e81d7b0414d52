"""`etalon bench`: how fast the simulator is on this machine."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from etalon.cli import common
from etalon.errors import EtalonError, PlanError


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Example:  etalon bench lean full --json")(bench)


def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME...]", help="Benches; all if left out.", show_default=False),
    ] = None,
    json: common.Json = False,
) -> None:
    """Measure data packets delivered per CPU-second on one core."""
    results = measure(names or [])
    if json:
        common.print_json(results)
        return
    table = common.plain_table("bench", ">packets/CPU-s", ">packets", ">CPU", ">peak memory")
    for result in results:
        table.add_row(
            result["name"],
            f"{result['packets_per_cpu_second'] / 1e6:.2f} M",
            f"{result['packets'] / 1e6:.1f} M",
            f"{result['cpu_seconds']:.1f} s",
            f"{result['peak_rss_bytes'] / 1e6:.0f} MB",
        )
    common.print_table(table)


def measure(names: list[str]) -> list[dict[str, Any]]:
    """Runs the core's benches."""
    from etalon import _core

    if not hasattr(_core, "bench"):
        raise EtalonError("this build of Etalon has no benches")
    try:
        results: list[dict[str, Any]] = _core.bench(names)
    except ValueError as error:
        raise PlanError(str(error)) from None
    return results
