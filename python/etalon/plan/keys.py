# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every key of a plan, read off the schema: for `etalon list keys` and docs/plan.md."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby, pairwise
from operator import itemgetter
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Le
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from etalon.plan.base import Choice, Kinds, Rack, Table
from etalon.plan.plan import Plan
from etalon.plan.workloads.base import HostId
from etalon.units import Quantity, shown

REQUIRED = "must be given"
WORTH_FOLDING = 4
"""Keys in a row that an earlier table has, too; fewer are listed again."""


@dataclass(frozen=True)
class Key:
    """A key, as `--set` takes it."""

    table: str
    """The part of the plan that contains it."""
    name: str
    type: str
    default: str
    description: str


def all_keys() -> list[Key]:
    """All keys, table by table."""
    at_top = "Outside all tables"
    top = [name for name in Plan.model_fields if not _tables(Plan.model_fields[name].annotation)]
    said = _docstrings(Plan)
    fields = ((name, Plan.model_fields[name]) for name in top)
    listed = [_key(at_top, name, field, said.get(name), field.default) for name, field in fields]
    choices: dict[str, Kinds] = {}
    for name, field in Plan.model_fields.items():
        for model in _tables(field.annotation):
            several = get_origin(field.annotation) is tuple
            title = f"`[[{name}]]`" if several else f"`[{name}]`"
            title += f" {model.which}".rstrip(" ,") if issubclass(model, Table) else ""
            listed += _below(title, name, model, choices)
    for path, kinds in choices.items():
        for model in kinds.classes.values():
            title = f"`{path}` {model.which}"
            listed += _below(title, path, model, choices)
    return listed


def markdown() -> str:
    """The keys as docs/plan.md has them."""
    lines = [
        "# The keys of a plan",
        "",
        "`etalon list keys --markdown` prints this page. A plan is a TOML file. A key that it leaves out has the default",
        "given here, the value of NSDI'20's testbed. Times are network time, as papers print them; those in `[tcp]` are on",
        'the hosts\' clocks, which run `tdf` times as fast. Write a time as `"180us"` (s, ms, us, ns), a rate as',
        '`"10Gbps"`, an amount of data as `"1MB"`. The page writes keys as `--set` takes them; in a list of tables, `bulk.cc`',
        "refers to all tables and `bulk.0.cc` to the first. `--set KEY=null` takes a key or a table out of a plan.",
        "[Examples](../examples/) show whole plans.",
    ]
    known: dict[tuple[Key, ...], str] = {}
    for table, keys in groupby(all_keys(), lambda key: key.table):
        lines += ["", f"## {table}", ""]
        lines += ["| key | type | default | meaning |", "|---|---|---|---|"]
        parts = [tuple(part) for _, part in groupby(keys, lambda key: key.name.split(".")[:2])]
        firsts = [known.setdefault(_without_table(part), table) for part in parts]
        for first, group in groupby(zip(firsts, parts, strict=True), itemgetter(0)):
            repeated = [part for _, part in group]
            names = [f"`{'.'.join(part[0].name.split('.')[:2])}`" for part in repeated]
            if first != table and len(repeated) >= WORTH_FOLDING:
                lines.append(f"| {', '.join(names)} |  |  | As in {first}. |")
                continue
            for name, part in zip(names, repeated, strict=True):
                if first != table and len(part) > 1:
                    lines.append(f"| {name} |  |  | As in {first}, with all keys below it. |")
                else:
                    lines += map(_row, part)
    return "\n".join(lines) + "\n"


def _without_table(part: tuple[Key, ...]) -> tuple[Key, ...]:
    """Keys as another table of the plan may have them, too."""
    return tuple(
        replace(
            key, table="", name=f".{key.name.partition('.')[2]}" if "." in key.name else key.name
        )
        for key in part
    )


def _row(key: Key) -> str:
    default = f"`{key.default}`" if key.default not in ("", REQUIRED) else key.default
    cells = (f"`{key.name}`", key.type, default, key.description)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _below(
    title: str, prefix: str, model: type[BaseModel], choices: dict[str, Kinds], given: Any = None
) -> Iterator[Key]:
    """The keys of a table, which may be `given` as a default. What may be one of several tables is listed
    once: `choices` has where it was met first."""
    said = _docstrings(model)
    for name, field in model.model_fields.items():
        path = f"{prefix}.{field.alias or name}"
        yield _key(title, path, field, said.get(name), getattr(given, name, field.default))
        kinds = _kinds(field)
        if kinds is not None:
            if kinds not in choices.values():
                choices[path] = kinds
            continue
        for table in _tables(field.annotation):
            default = field.default if isinstance(field.default, table) else None
            yield from _below(title, path, table, choices, default)


@cache
def _docstrings(model: type[BaseModel]) -> dict[str, str]:
    """What stands below each field in the source. Pydantic would read it whenever a plan is loaded, which takes as long as all
    the rest."""
    found: dict[str, str] = {}
    for table in reversed(model.__mro__):
        if table in (BaseModel, object) or not issubclass(table, BaseModel):
            continue
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(table))).body
        assert isinstance(definition, ast.ClassDef)
        for entry, below in pairwise(definition.body):
            match entry, below:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ):
                    found[name] = text
    return found


def _key(title: str, name: str, field: FieldInfo, said: str | None, default: Any) -> Key:
    tables, kinds = _tables(field.annotation), _kinds(field)
    meaning = said or " ".join((table.__doc__ or "") for table in tables)
    return Key(
        title,
        name,
        _type(field.annotation, field.metadata) if kinds is None else _names(kinds),
        _default(field, default) if kinds is None else shown(kinds.default),
        " ".join(meaning.split()),
    )


def _tables(annotation: Any) -> list[type[BaseModel]]:
    """The tables that may stand where this type is expected."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    found = (table for part in get_args(annotation) for table in _tables(part))
    return list(dict.fromkeys(found))


def _kinds(field: FieldInfo) -> Kinds | None:
    """The kinds of table that may stand there, if there are several."""
    return next((entry for entry in field.metadata if isinstance(entry, Kinds)), None)


def _names(kinds: Kinds) -> str:
    return f"{' or '.join(map(shown, kinds.classes))}, or table"


def _quantity(metadata: Any) -> Quantity | None:
    """Which quantity a type reads, seen at its validator."""
    readers = (getattr(getattr(entry, "func", None), "__self__", None) for entry in metadata)
    return next((reader for reader in readers if isinstance(reader, Quantity)), None)


def _all_metadata(field: FieldInfo) -> list[Any]:
    """What is attached to a field's type, or to one of its alternatives."""
    parts = (part for part in get_args(field.annotation) if get_origin(part) is Annotated)
    return [*field.metadata, *(entry for part in parts for entry in get_args(part)[1:])]


def _type(annotation: Any, metadata: Any = ()) -> str:
    """A type in words."""
    if get_origin(annotation) is Annotated:
        inner, *more = get_args(annotation)
        return _type(inner, [*more, *metadata])
    if get_origin(annotation) in (Union, UnionType):
        parts = [part for part in get_args(annotation) if part is not type(None)]
        words = (word for part in parts for word in _type(part, metadata).split(" or "))
        return " or ".join(dict.fromkeys(words))
    if quantity := _quantity(metadata):
        return quantity.noun.removeprefix("a ").removeprefix("an ")
    if choice := next((entry for entry in metadata if isinstance(entry, Choice)), None):
        return " or ".join(map(shown, choice.names))
    if get_origin(annotation) is Literal:
        return " or ".join(map(shown, get_args(annotation)))
    if get_origin(annotation) is dict:
        _, held = get_args(annotation)
        return "table of numbers" if held in (float, int | float) else "table"
    if get_origin(annotation) is tuple:
        first, *others = get_args(annotation)
        if get_args(first) == (int, float):
            return "list of points"
        is_written = any(getattr(entry, "func", None) is not None for entry in metadata)
        if is_written and first in (str, int, HostId):
            hosts = "list of hosts" if first == HostId else 'host, like "r0h3"'
            return "text or list of words" if first is str else hosts
        if others != [...]:
            names = {str: "text", Rack: "rack"}
            return f"[{', '.join(names.get(one, 'number') for one in (first, *others))}]"
        return "list of tables" if _tables(first) else f"list of {_type(first)}"
    if annotation is int:
        return f"whole number{_range(metadata)}"
    if annotation is float:
        return f"number{_between(metadata)}"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "table"
    return {bool: "true or false", str: "text"}[annotation]


def _range(metadata: Any) -> str:
    flat = [part for entry in metadata for part in getattr(entry, "metadata", [entry])]
    low = next((entry.ge for entry in flat if isinstance(entry, Ge)), None)
    high = next((entry.le for entry in flat if isinstance(entry, Le)), None)
    if high is None or high == 2**63 - 1:
        return "" if low is None else f" from {low}"
    return f", {low} to {high}"


def _between(metadata: Any) -> str:
    flat = [part for entry in metadata for part in getattr(entry, "metadata", [entry])]
    low = next((entry.ge for entry in flat if isinstance(entry, Ge)), None)
    high = next((entry.le for entry in flat if isinstance(entry, Le)), None)
    return f", {low:g} to {high:g}" if low is not None and high is not None else ""


def _default(field: FieldInfo, default: Any) -> str:
    """The default as it would stand in a plan file; empty if the description has to say what comes without the key."""
    if field.is_required():
        return REQUIRED
    if field.default_factory is not None or default is None or default in ("", ()):
        return ""
    if isinstance(default, BaseModel):
        return ""
    if quantity := _quantity(_all_metadata(field)):
        return shown(quantity.format(default))
    if isinstance(default, tuple):
        tables = (entry.model_dump(mode="json") for entry in default)
        return ", ".join(f"[{_inline(table)}]" for table in tables)
    return shown(default)


def _inline(table: dict[str, Any]) -> str:
    return "{ " + ", ".join(f"{key} = {shown(value)}" for key, value in table.items()) + " }"
