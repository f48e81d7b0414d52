# SPDX-License-Identifier: MIT OR Apache-2.0
"""Calls with wrong arguments get a `PlanError` with a sentence, as plans do, and never a TypeError."""

from __future__ import annotations

import difflib
import inspect
import types
from collections.abc import Callable
from functools import wraps
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from etalon.errors import PlanError
from etalon.units import shown

P = ParamSpec("P")
R = TypeVar("R")


def fitting(function: Callable[P, R]) -> Callable[P, R]:
    """The same function, which refuses a call that does not fit its signature; values are looked at by those whom it calls."""
    signature = inspect.signature(function)
    name = name_of(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            signature.bind(*args, **kwargs)
        except TypeError:
            raise misfit(name, signature, args, kwargs) from None
        return function(*args, **kwargs)

    return call


def name_of(function: Callable[..., Any]) -> str:
    """A function as people call it."""
    name = function.__qualname__
    return name if "." in name else f"etalon.{name}"


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """The same function, which refuses a call that does not fit its signature, or values of another type than it says."""
    signature = inspect.signature(function)
    name = name_of(function)
    hints: dict[str, Any] = {}

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            raise misfit(name, signature, args, kwargs) from None
        if not hints:
            hints.update(hints_of(function))
        for key, value in bound.arguments.items():
            kind = signature.parameters[key].kind
            values = value if kind is inspect.Parameter.VAR_POSITIONAL else (value,)
            if kind is inspect.Parameter.VAR_KEYWORD or key not in hints:
                continue
            for one in values:
                if not _fits(one, hints[key]):
                    raise PlanError(
                        f"{name}: {key} must be {_words(hints[key])}, not {_brief(one)}", value=one
                    )
        return function(*args, **kwargs)

    return call


def misfit(
    name: str, signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> PlanError:
    """The sentence for a call whose arguments do not fit."""
    parameters = [one for one in signature.parameters.values() if one.name not in ("self", "cls")]
    hidden = len(signature.parameters) - len(parameters)
    named = [one.name for one in parameters if one.kind not in _VARIABLE]
    open_ended = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters)
    for key in kwargs:
        if key not in named and not open_ended:
            near = difflib.get_close_matches(key, named, n=1, cutoff=0.5)
            hint = f"did you mean {shown(near[0])}?" if near else f"there are {', '.join(named)}"
            return PlanError(f"{name} has no argument {shown(key)}; {hint}", key=None)
    places = [one for one in parameters if one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    many = any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in parameters)
    given = len(args) - hidden
    if given > len(places) and not many:
        most = f"at most {len(places)} without a name" if places else "none without a name"
        return PlanError(f"{name} takes {most}, and {given} are given: {', '.join(named)}")
    for one in places[: max(given, 0)]:
        if one.name in kwargs:
            return PlanError(f"{name}: {one.name} is given twice")
    missing = [
        one.name
        for at, one in enumerate(parameters)
        if one.default is inspect.Parameter.empty
        and one.kind not in _VARIABLE
        and one.name not in kwargs
        and (one not in places or at >= given)
    ]
    return PlanError(f"{name}: {' and '.join(missing) or 'an argument'} must be given")


_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The types of arguments that are known at run time."""
    found: dict[str, Any] = {"return": None}
    space = getattr(inspect.unwrap(function), "__globals__", {})
    for key, text in inspect.get_annotations(function).items():
        try:
            found[key] = get_type_hints(
                types.SimpleNamespace(__annotations__={key: text}), globalns=space, localns={}
            )[key]
        except (NameError, TypeError, AttributeError):
            found[key] = Any  # known to type checkers alone
    return found


def _fits(value: Any, hint: Any) -> bool:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, one) for one in get_args(hint))
    if origin is Literal:
        return any(value == one and type(value) is type(one) for one in get_args(hint))
    if origin is not None and isinstance(origin, type):
        return isinstance(value, origin) and _items_fit(value, origin, get_args(hint))
    if hint is Any:
        return True
    if hint is None or hint is type(None):
        return value is None
    if not isinstance(hint, type) or getattr(hint, "_is_protocol", False):
        return True  # Any, a type variable, or what is known by its methods alone
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, hint)


def _items_fit(value: Any, origin: type, of: tuple[Any, ...]) -> bool:
    """Whether the entries of a list or a tuple are of the type that is asked for; text is no list."""
    if isinstance(value, (str, bytes)):
        return False
    if not isinstance(value, (list, tuple)):
        return True
    if origin is tuple and of[-1:] != (...,):
        return len(value) == len(of) and all(map(_fits, value, of))
    return not of or all(_fits(one, of[0]) for one in value)


def _words(hint: Any) -> str:
    """A type in words."""
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(_words(one) for one in get_args(hint)))
    if get_origin(hint) is Literal:
        return " or ".join(shown(one) for one in get_args(hint))
    kind = get_origin(hint) or hint
    if kind is type(None):
        return "None"
    return _WORDS.get(getattr(kind, "__name__", ""), f"a {getattr(kind, '__name__', kind)}")


_WORDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "True or False",
    "Path": "a path",
    "Mapping": "a table with keys",
    "Sequence": "a list",
    "tuple": "a tuple",
    "Callable": "a function",
}


def _brief(value: Any) -> str:
    if value is None or isinstance(value, (bool, int, float, str, list, tuple, dict)):
        return shown(value) if value is not None else "None"
    return f"a {type(value).__name__}"
