# SPDX-License-Identifier: MIT OR Apache-2.0
"""`etalon list`: what there is to choose from."""

from __future__ import annotations

import difflib
import re
import shutil
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from etalon.cli import common
from etalon.errors import PlanError

if TYPE_CHECKING:
    from rich.table import Table


class Kind(StrEnum):
    """What can be listed."""

    CC = "cc"
    ENGINES = "engines"
    EXECUTORS = "executors"
    SCHEDULERS = "schedulers"
    NETWORKS = "networks"
    ROUTINGS = "routings"
    TRANSPORTS = "transports"
    WORKLOADS = "workloads"
    COLLECTIVES = "collectives"
    FIGURES = "figures"
    PAPERS = "papers"
    EXAMPLES = "examples"
    METRICS = "metrics"
    KEYS = "keys"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("list", epilog="Example:  etalon list cc")(show)


def show(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="|".join(Kind),
            help="The list to print; by default all lists but the keys of plans.",
            show_default=False,
        ),
    ] = None,
    part: Annotated[
        str | None,
        typer.Argument(
            metavar="PART",
            help="Only entries with this in their name: etalon list keys voq.",
            show_default=False,
        ),
    ] = None,
    code: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="With cc: the congestion controls of this Python file, which is executed.",
            show_default=False,
        ),
    ] = None,
    json: common.Json = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the keys as Markdown, as in docs/plan.md.")
    ] = False,
) -> None:
    """List the choices. Congestion controls, engines, workloads, ..., or the keys of a plan."""
    kind = None if what is None else _kind(what)
    if markdown:
        if kind is not Kind.KEYS or json or part:
            raise PlanError("--markdown is for `etalon list keys`, without --json and PART")
        from etalon.plan import keys

        typer.echo(keys.markdown(), nl=False)
    elif code is not None:
        if kind is not Kind.CC or part:
            raise PlanError("--from is for `etalon list cc`, without PART")
        _show_own(code, json)
    else:
        _show(kind, part, json)


def _show(kind: Kind | None, part: str | None, json: bool) -> None:
    """Prints one list, or all."""
    kinds = [kind for kind in Kind if kind is not Kind.KEYS] if kind is None else [kind]
    listed = {kind.value: _LISTS[kind]() for kind in kinds}
    if part is not None and kind is not None:
        listed = {name: _with(part, name, entries) for name, entries in listed.items()}
    if json:
        common.print_json(listed if kind is None else listed[kind.value])
        return
    if kind is Kind.KEYS:
        _show_keys(listed[kind.value])
        return
    for name, entries in listed.items():
        if kind is None:
            typer.secho(name, bold=True)
        common.print_table(_controls_table(entries) if name == Kind.CC else _table(entries))
        if kind is None:
            typer.echo()


def _with(part: str, name: str, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries whose names have this part."""
    found = [entry for entry in entries if part.lower() in entry["name"].lower()]
    if not found:
        raise PlanError(
            f'none of the {name} has "{part}" in its name; `etalon list {name}` prints all'
        )
    return found


def _show_keys(entries: list[dict[str, Any]]) -> None:
    """Each key with its type and default, and below what it means: types are too long for columns."""
    from etalon.plan.keys import REQUIRED

    width = max(min(shutil.get_terminal_size().columns, 100) - 4, 20)
    for table, keys in groupby(entries, itemgetter("table")):
        typer.secho(table.replace("`", ""), bold=True)
        for key in keys:
            default = key["default"]
            if default and default != REQUIRED:
                default = f"default {default}"
            typer.echo("  ".join(filter(None, (key["name"], key["type"], default))))
            meaning = textwrap.fill(key["description"], width, break_on_hyphens=False)
            typer.echo(textwrap.indent(meaning, "    "))


def _show_own(file: Path, json: bool) -> None:
    """The congestion controls of a file of the user's."""
    from etalon.controls import written_in

    entries = [control.as_dict() for control in written_in(file)]
    if json:
        common.print_json(entries)
    else:
        common.print_table(_controls_table(entries))


def _table(entries: Sequence[Mapping[str, Any]]) -> Table:
    table = common.plain_table("", "")
    table.show_header = False
    for entry in entries:
        table.add_row(entry["name"], entry["description"])
    return table


def _controls_table(entries: Sequence[Mapping[str, Any]]) -> Table:
    """Congestion controls and their parameters (default, range), with the engines that have them."""
    from etalon.controls import ENGINES

    table = common.plain_table("name", *ENGINES, "")
    for entry in entries:
        marks = ("x" if engine in entry["engines"] else "" for engine in ENGINES)
        table.add_row(entry["name"], *marks, entry["description"])
        for parameter in entry["parameters"]:
            marks = ("x" if engine in parameter["engines"] else "" for engine in ENGINES)
            table.add_row("", *marks, f"  {_parameter(parameter)}")
    return table


def _parameter(entry: Mapping[str, Any]) -> str:
    """`beta = 0.5 (0.1 to 0.9): what it is`."""
    default, low, high = (
        str(int(value)) if float(value).is_integer() else f"{value:g}"
        for value in (entry["default"], entry["min"], entry["max"])
    )
    values = f"{low} to {high}"
    if entry["whole"]:
        values = "0 or 1" if values == "0 to 1" else f"whole, {values}"
    about = f": {entry['description']}" if entry["description"] else ""
    return f"{entry['name']} = {default} ({values}){about}"


def _kind(text: str) -> Kind:
    kinds = [kind.value for kind in Kind]
    if text in kinds:
        return Kind(text)
    from etalon.plan.schedules import SCHEDULES

    if also := SCHEDULES.meant(text):
        raise PlanError(
            f'there is no list "{text}"; the schedule of this name is "{also}" here: `etalon list schedulers`'
        )
    for kind in Kind:
        names = [entry["name"] for entry in _LISTS[kind]()] if kind is not Kind.KEYS else ()
        if text in names or f"{text}.toml" in names:
            raise PlanError(f'there is no list "{text}"; `etalon list {kind}` has it')
    near = difflib.get_close_matches(text, kinds, n=1, cutoff=0.5)
    hint = f'did you mean "{near[0]}"?' if near else f"there are {', '.join(kinds)}"
    raise PlanError(f'there is no list "{text}"; {hint}')


def _controls() -> list[dict[str, Any]]:
    from etalon.controls import controls

    return [control.as_dict() for control in controls().values()]


def _engines() -> list[dict[str, Any]]:
    from etalon.engine import descriptions

    return _entries(descriptions())


def _executors() -> list[dict[str, Any]]:
    from etalon.campaign.executors import EXECUTORS

    return _entries({name: executor.DESCRIPTION for name, executor in EXECUTORS.items()})


def _schedulers() -> list[dict[str, Any]]:
    from etalon.plan.schedules import DESCRIPTIONS

    return _entries(DESCRIPTIONS)


def _routings() -> list[dict[str, Any]]:
    from etalon.plan.routing import WAYS

    kinds = {name: str(getattr(way, "about", "")) for name, way in WAYS.classes.items()}
    return _entries(kinds)


def _networks() -> list[dict[str, Any]]:
    from etalon.plan.network import NETWORKS

    return _entries({name: _first_sentence(of) for name, of in NETWORKS.classes.items()})


def _transports() -> list[dict[str, Any]]:
    from etalon.plan.transport import TRANSPORTS

    return _entries({name: _first_sentence(of) for name, of in TRANSPORTS.classes.items()})


def _first_sentence(of: type) -> str:
    whole = " ".join((of.__doc__ or "").split())
    return re.split(r"(?<=\.) ", whole)[0]


def _workloads() -> list[dict[str, Any]]:
    from etalon.plan.experiment import WORKLOADS
    from etalon.plan.program import Program
    from etalon.plan.workloads.base import Workload

    kinds: dict[str, type[Workload | Program]] = {**WORKLOADS, "program": Program}
    return _entries({name: kind.about for name, kind in kinds.items()})


def _collectives() -> list[dict[str, Any]]:
    from etalon import _core

    return _entries(
        {f"{kind} {name}": about for kind, name, about in _core.collective_algorithms()}
    )


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
    from etalon.results.metrics import METRICS

    return [
        {
            "name": metric.name,
            "description": f"{metric.description} [{metric.unit}]",
            "unit": metric.unit,
        }
        for metric in METRICS.values()
    ]


def _keys() -> list[dict[str, Any]]:
    from etalon.plan import keys

    return [asdict(key) for key in keys.all_keys()]


def _entries(descriptions: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        {"name": name, "description": description} for name, description in descriptions.items()
    ]


_LISTS: dict[Kind, Callable[[], list[dict[str, Any]]]] = {
    Kind.CC: _controls,
    Kind.ENGINES: _engines,
    Kind.EXECUTORS: _executors,
    Kind.SCHEDULERS: _schedulers,
    Kind.NETWORKS: _networks,
    Kind.ROUTINGS: _routings,
    Kind.TRANSPORTS: _transports,
    Kind.WORKLOADS: _workloads,
    Kind.COLLECTIVES: _collectives,
    Kind.FIGURES: _figures,
    Kind.PAPERS: _papers,
    Kind.EXAMPLES: _examples,
    Kind.METRICS: _metrics,
    Kind.KEYS: _keys,
}
