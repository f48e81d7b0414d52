# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figures as methods, `run.plot.sequence()`, with the signature and the docstring of the drawing functions."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from etalon.arguments import checked
from etalon.figures.registry import FIGURES, Entry

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from etalon.figures.types import RunLike


class Method:
    """A figure as a method of a class with figures; its module is imported when somebody asks for it."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry

    def __get__(self, instance: Any, owner: type) -> Callable[..., Figure]:
        function = self.signed(instance)
        function.__name__ = self.entry.name
        function.__qualname__ = f"plot.{self.entry.name}"
        return checked(function)

    def signed(self, instance: Any) -> Callable[..., Figure]:
        """The function that draws what `instance` holds, with the signature that people see."""
        draw = self.entry.draw

        @wraps(draw)
        def method(*args: Any, **kwargs: Any) -> Figure:
            return draw(instance.of, *args, **kwargs)

        first, *others = inspect.signature(draw).parameters.values()
        method.__signature__ = inspect.Signature(others, return_annotation="Figure")  # type: ignore[attr-defined]
        method.__doc__ = _without(draw.__doc__ or "", first.name)
        return method


class Plots:
    """The figures of one run as methods: `run.plot.sequence()`, `run.plot.schedule()`.

    Each returns a matplotlib figure in the house style, which a notebook shows by itself and
    `etalon.figures.save` writes. `etalon list figures` says what each shows.
    """

    def __init__(self, run: RunLike) -> None:
        self.of = run

    def __getattr__(self, name: str) -> Callable[..., Figure]:
        raise AttributeError(no_figure("a run", name, dir(self)))

    def __dir__(self) -> list[str]:
        return [entry.name for entry in FIGURES if entry.of_a_run]


for _entry in FIGURES:
    if _entry.of_a_run:
        setattr(Plots, _entry.name, Method(_entry))


def no_figure(of: str, name: str, there: list[str]) -> str:
    """The sentence for a figure that does not exist."""
    near = difflib.get_close_matches(name, there, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(there)}"
    return f"{of} has no figure {name!r}; {hint}"


def _without(docstring: str, parameter: str) -> str:
    """A docstring without the entry of one of its arguments."""
    entry = rf"^( +){parameter}: .*\n(?:\1 +.*\n)*"
    return re.sub(entry, "", docstring, count=1, flags=re.MULTILINE)
