"""`etalon list`: what there is to choose from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Annotated, Any

import typer

from etalon.cli import common


class Kind(StrEnum):
    """What can be listed."""

    CC = "cc"
    SCHEDULERS = "schedulers"
    WORKLOADS = "workloads"
    FIGURES = "figures"
    PAPERS = "papers"
    EXAMPLES = "examples"
    METRICS = "metrics"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("list", epilog="Example:  etalon list cc")(show)


def show(
    kind: Annotated[
        Kind | None,
        typer.Argument(help="What to list; everything if left out.", show_default=False),
    ] = None,
    json: common.Json = False,
) -> None:
    """List congestion controls, schedulers, workloads, figures, papers, examples or metrics."""
    kinds = list(Kind) if kind is None else [kind]
    listed = {kind.value: _LISTS[kind]() for kind in kinds}
    if json:
        common.print_json(listed if kind is None else listed[kind.value])
        return
    for name, entries in listed.items():
        if kind is None:
            typer.secho(name, bold=True)
        table = common.plain_table("", "")
        table.show_header = False
        for entry in entries:
            table.add_row(entry["name"], entry["description"])
            for parameter in entry.get("parameters", ()):
                table.add_row(
                    "", f"{parameter['name']} = {parameter['default']}: {parameter['description']}"
                )
        common.print_table(table)
        if kind is None:
            typer.echo()


def _controls() -> list[dict[str, Any]]:
    from etalon.plan_workload import controls

    return list(controls().values())


def _schedulers() -> list[dict[str, Any]]:
    from etalon.plan_schedule import KINDS

    return _entries(KINDS)


def _workloads() -> list[dict[str, Any]]:
    from etalon.plan_workload import KINDS

    return _entries(KINDS)


def _figures() -> list[dict[str, Any]]:
    from etalon.figures import FIGURES

    return _entries({entry.name: entry.summary for entry in FIGURES})


def _papers() -> list[dict[str, Any]]:
    from etalon import reproduce

    return _entries(reproduce.papers())


def _examples() -> list[dict[str, Any]]:
    from etalon.cli.examples import descriptions

    return _entries(descriptions())


def _metrics() -> list[dict[str, Any]]:
    from etalon.metrics import METRICS

    return [
        {
            "name": metric.name,
            "description": f"{metric.description} [{metric.unit}]",
            "unit": metric.unit,
        }
        for metric in METRICS.values()
    ]


def _entries(descriptions: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        {"name": name, "description": description} for name, description in descriptions.items()
    ]


_LISTS: dict[Kind, Callable[[], list[dict[str, Any]]]] = {
    Kind.CC: _controls,
    Kind.SCHEDULERS: _schedulers,
    Kind.WORKLOADS: _workloads,
    Kind.FIGURES: _figures,
    Kind.PAPERS: _papers,
    Kind.EXAMPLES: _examples,
    Kind.METRICS: _metrics,
}
