# SPDX-License-Identifier: MIT OR Apache-2.0
"""From pydantic's errors to sentences: file, key, value, what was expected."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

from annotated_types import Ge, Le
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from etalon.errors import PlanError, gather
from etalon.plan.base import Kinds, Table
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


@dataclass
class _Place:
    """Where an error is: the dotted path, and what the schema knows there."""

    path: tuple[int | str, ...]
    table: type[BaseModel] | None
    """The table that the last key stands in."""
    rivals: Kinds | None = None
    """What else that table could have been."""
    field: FieldInfo | None = None
    """What stands at the path, if that is known."""
    kinds: Kinds | None = None
    """What it could be, if it is a table of several kinds."""


def _place(loc: Sequence[int | str], model: type[BaseModel]) -> _Place:
    """Follows pydantic's location, which has a tag behind each table of several kinds, and "[key]" behind a key."""
    place = _Place((), model)
    below: tuple[type[BaseModel] | None, Kinds | None] = model, None
    for part in loc:
        tags = dict(place.kinds.tags()) if place.kinds else {}
        if part in tags:
            below, place.kinds = (tags[str(part)], place.kinds), None
        elif part != "[key]":
            place.path = (*place.path, part)
            if isinstance(part, str):
                place.table, place.rivals = below
                place.field = field = _field(place.table, part)
                metadata = field.metadata if field else ()
                place.kinds = next((kind for kind in metadata if isinstance(kind, Kinds)), None)
                below = next(iter(_models(field.annotation)), None) if field else None, None
    return place


def _field(table: type[BaseModel] | None, key: str) -> FieldInfo | None:
    fields = table.model_fields.items() if table else ()
    return next((field for name, field in fields if key in (name, field.alias)), None)


def explain(detail: ErrorDetails, model: type[BaseModel], under: str = "") -> PlanError:
    """The sentence for one of pydantic's errors."""
    place = _place(detail["loc"], model)
    path, kind, value = place.path, detail["type"], detail["input"]
    if kind == "extra_forbidden":
        sentence = _unknown_key(place, under)
    elif kind == "union_tag_invalid" and place.kinds is not None:
        path = (*path, "kind")
        value = value.get("kind") if isinstance(value, Mapping) else value
        sentence = _one_of(value, list(place.kinds.classes), place.kinds.meant(value))
    elif kind in _NO_TABLE:
        sentence = f"{shown(value)} must be {_a_table(place.field)}"
    elif kind in ("tuple_type", "list_type") and isinstance(value, dict) and _several(place.field):
        sentence = f"write [[{'.'.join(map(str, path))}]], in double brackets: there may be several"
    elif kind in ("int_type", "int_from_float"):
        sentence = f"{shown(value)} must be a whole number{_bounds(place.field)}"
    else:
        sentence = _SENTENCES.get(kind, _other)(detail)
    key = ".".join([*([under] if under else []), *map(str, path)])
    return PlanError(sentence, key=key or None, value=value)


def _unknown_key(place: _Place, under: str) -> str:
    if place.table is None:
        return "unknown key"
    key = str(place.path[-1])
    rivals = dict.fromkeys(place.rivals.all_classes() if place.rivals else ())
    having = [table.which for table in rivals if _field(table, key)]
    if having and issubclass(place.table, Table):
        what = next((part for part in reversed(place.path[:-1]) if isinstance(part, str)), under)
        if place.table.aside:  # the kind is the mistake, rather than the key
            return f"is not a key of a {what} {place.table.which}{place.table.aside}"
        return f"only a {what} {' or '.join(having)} takes this key, not one {place.table.which}{place.table.aside}"
    names = [field.alias or name for name, field in place.table.model_fields.items()]
    if len(place.path) == 1 and not under and (below := keys_named(place.table, key)):
        shown_ones = " or ".join(map(shown, below[:3]))
        return f"unknown key; did you mean {shown_ones}{' ...' if below[3:] else ''}?"
    near = difflib.get_close_matches(key, names, n=1, cutoff=0.5)
    if near:
        return f"unknown key; did you mean {shown(near[0])}?"
    return f"unknown key; known are {', '.join(names)}"


def keys_named(table: type[BaseModel], name: str) -> list[str]:
    """The dotted keys below a table that end in this name: those of the least depth."""
    level: list[tuple[str, type[BaseModel]]] = [("", table)]
    seen: set[type[BaseModel]] = set()
    while level:
        found = [f"{path}{name}" for path, model in level if _field(model, name)]
        if found:
            return list(dict.fromkeys(found))
        seen |= {model for _, model in level}
        level = [
            (f"{path}{field.alias or key}.", below)
            for path, model in level
            for key, field in model.model_fields.items()
            for below in _models(field.annotation)
            if below not in seen
        ]
    return []


def _several(field: FieldInfo | None) -> bool:
    """Whether a list of tables stands there."""
    return (
        field is not None
        and get_origin(field.annotation) is tuple
        and bool(_models(field.annotation))
    )


def _a_table(field: FieldInfo | None) -> str:
    """What a table at this place is like."""
    table = next(iter(_models(field.annotation)), None) if field else None
    if field is None or table is None or not issubclass(table, Table) or not table.in_order:
        return "a table with keys"
    names = " and ".join(table.in_order)
    if not isinstance(field.default, Table):
        return f"a list of {names}, or a table with keys"
    example = field.default.model_dump(mode="json")
    values = [shown(example[name]) for name in table.in_order if example[name] is not None]
    return f"{names}, like [{', '.join(values)}], or a table with keys"


def _bounds(field: FieldInfo | None) -> str:
    """The bounds of the number at this place, if it has any of its own."""
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


def _one_of(value: Any, choices: Sequence[str], meant: str | None = None) -> str:
    near = [meant] if meant else difflib.get_close_matches(str(value), choices, n=1, cutoff=0.5)
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
