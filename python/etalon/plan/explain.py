"""From pydantic's errors to sentences: file, key, value, what was expected."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

from annotated_types import Ge, Le
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from etalon.errors import PlanError
from etalon.plan.base import Table
from etalon.plan.network import NETWORK_KINDS
from etalon.plan.workloads import WORKLOADS
from etalon.units import shown

M = TypeVar("M", bound=BaseModel)


def build(
    model: type[M], values: Mapping[str, Any], *, under: str = "", file: str | None = None
) -> M:
    """Validates `values` as a `model`; raises `PlanError`. `under` is the dotted key at which the model stands."""
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        details = [d for d in error.errors(include_url=False) if d["type"] not in _CONSEQUENCES]
        found = [explain(detail, model, under) for detail in details]
        raise gather(found, file) from None
    except PlanError as error:
        raise error.in_file(file) if file else error from None


def gather(found: Sequence[PlanError], file: str | None = None) -> PlanError:
    """One error that says all of them, each on its line."""
    first, *others = found
    first.others = tuple(others)
    return first.in_file(file) if file else first


def explain(detail: ErrorDetails, model: type[BaseModel], under: str = "") -> PlanError:
    """The sentence for one of pydantic's errors."""
    path = _path(detail["loc"])
    kind, value = detail["type"], detail["input"]
    if kind == "extra_forbidden":
        sentence = _unknown_key(path, model)
    elif kind == "union_tag_invalid":
        path = (*path, "kind")
        value = value.get("kind") if isinstance(value, dict) else value
        sentence = _one_of(value, NETWORK_KINDS)
    elif kind in _NO_TABLE:
        sentence = f"{shown(value)} must be {_a_table(path, model)}"
    elif kind in ("tuple_type", "list_type") and isinstance(value, dict) and path[-1:] in _LISTS:
        sentence = f"write [[{path[-1]}]], in double brackets: there may be several"
    elif kind in ("int_type", "int_from_float"):
        sentence = f"{shown(value)} must be a whole number{_bounds(path, model)}"
    else:
        sentence = _SENTENCES.get(kind, _other)(detail)
    key = ".".join([*([under] if under else []), *map(str, path)])
    return PlanError(sentence, key=key or None, value=value)


def _path(loc: Sequence[int | str]) -> tuple[int | str, ...]:
    """The place of an error without the tags that pydantic adds for the kind of network."""
    return tuple(
        part
        for at, part in enumerate(loc)
        if not (part in NETWORK_KINDS and at > 0 and loc[at - 1] == "network") and part != "[key]"
    )


def _unknown_key(path: Sequence[int | str], model: type[BaseModel]) -> str:
    table: type[BaseModel] | None = model
    for part in path[:-1]:
        table = _table_at(table, part) if table else None
    if table is None:
        return "unknown key"
    names = [field.alias or name for name, field in table.model_fields.items()]
    near = difflib.get_close_matches(str(path[-1]), names, n=1, cutoff=0.5)
    if near:
        return f"unknown key; did you mean {shown(near[0])}?"
    return f"unknown key; known are {', '.join(names)}"


def _table_at(table: type[BaseModel], part: int | str) -> type[BaseModel] | None:
    """The class of the table that stands at `part`; the index of a list stays at the list's class."""
    if isinstance(part, int):
        return table
    for name, field in table.model_fields.items():
        if part in (name, field.alias):
            return next(iter(_models(field.annotation)), None)
    return None


def _a_table(path: Sequence[int | str], model: type[BaseModel]) -> str:
    """What a table at this place is like."""
    table: type[BaseModel] | None = model
    for part in path:
        table = _table_at(table, part) if table else None
    if table is None or not issubclass(table, Table) or not table.in_order:
        return "a table with keys"
    example = table().model_dump(mode="json")
    values = [shown(example[name]) for name in table.in_order]
    return f"{' and '.join(table.in_order)}, like [{', '.join(values)}], or a table with keys"


def _bounds(path: Sequence[int | str], model: type[BaseModel]) -> str:
    """The bounds of the number at this place, if it has any of its own."""
    table: type[BaseModel] | None = model
    for part in path[:-1]:
        table = _table_at(table, part) if table else None
    field = table.model_fields.get(str(path[-1])) if table else None
    metadata = field.metadata if field else []
    low = next((m.ge for m in metadata if isinstance(m, Ge)), None)
    high = next((m.le for m in metadata if isinstance(m, Le)), None)
    if low is None or high is None or high == 2**63 - 1:
        return ""
    return f" from {low} to {high}"


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if get_origin(annotation) in (Union, UnionType, tuple, list) or hasattr(
        annotation, "__metadata__"
    ):
        return [model for argument in get_args(annotation) for model in _models(argument)]
    return []


def _one_of(value: Any, choices: Sequence[str]) -> str:
    near = difflib.get_close_matches(str(value), choices, n=1, cutoff=0.5)
    hint = f"; did you mean {shown(near[0])}?" if near else ""
    return f"{shown(value)} must be one of {', '.join(map(shown, choices))}{hint}"


def _literal(detail: ErrorDetails) -> str:
    expected = detail["ctx"]["expected"].replace("'", "").replace(" or ", ", ").split(", ")
    return _one_of(detail["input"], expected)


def _other(detail: ErrorDetails) -> str:
    message = detail["msg"]
    return f"{shown(detail['input'])}: {message[:1].lower()}{message[1:]}"


def _must(text: str) -> Callable[[ErrorDetails], str]:
    """A sentence 'VALUE must ...', with the bounds that pydantic reports filled in."""

    def sentence(detail: ErrorDetails) -> str:
        return f"{shown(detail['input'])} must {text.format(**detail.get('ctx', {}))}"

    return sentence


_NO_TABLE = ("model_type", "model_attributes_type", "dict_type")
_LISTS = tuple((name,) for name in (*WORKLOADS, "program"))

_CONSEQUENCES = ("default_factory_not_called",)
"""Errors that only say that another key has one."""

_SENTENCES: dict[str, Callable[[ErrorDetails], str]] = {
    "etalon": lambda detail: detail["msg"],
    "missing": lambda _: "must be given",
    "greater_than_equal": _must("be at least {ge}"),
    "less_than_equal": _must("be at most {le}"),
    "greater_than": _must("be more than {gt:g}"),
    "float_type": _must("be a number"),
    "float_parsing": _must("be a number"),
    "bool_type": _must("be true or false"),
    "string_type": _must("be text in quotes"),
    "literal_error": _literal,
    "string_pattern_mismatch": _must("be made of letters, digits and . _ + - only"),
    "string_too_short": _must("not be empty"),
    "tuple_type": _must("be a list"),
    "list_type": _must("be a list"),
    "too_short": lambda detail: f"must have at least {detail['ctx']['min_length']} entry",
    "too_long": lambda detail: f"must have at most {detail['ctx']['max_length']} entries",
}
