# SPDX-License-Identifier: MIT OR Apache-2.0
"""Quantities in plans: text with a unit outside ("180us", "10Gbps", "1MB"), exact integers inside.

The reading and the writing are the Rust core's, so that every part of Etalon knows the same units.
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, PlainSerializer
from pydantic_core import PydanticCustomError

from etalon import _core

NS = 1
US = 1_000
MS = 1_000_000
S = 1_000_000_000

MB = 1_000_000
KIB = 1 << 10
MIB = 1 << 20


@dataclass(frozen=True)
class Quantity:
    """How one kind of quantity is read and written, and the largest value that makes sense in a plan."""

    noun: str
    example: str
    units: str
    largest: str
    parse: Callable[[str], int]
    format: Callable[[int], str]

    def read(self, value: Any) -> int:
        """Reads text with a unit; 0 needs none. Raises pydantic's error with a sentence otherwise."""
        if value == 0 and type(value) is int:
            return 0
        if not isinstance(value, str):
            raise self._refusal(value, "has no unit")
        try:
            amount = self.parse(value)
        except ValueError as error:
            raise self._refusal(value, str(error)) from None
        if amount > self.parse(self.largest):
            raise problem(f'{shown(value)} is too large: {self.noun} is at most "{self.largest}"')
        return amount

    def positive(self, amount: int) -> int:
        """Refuses zero."""
        if amount <= 0:
            raise problem(f"0 must be more than zero: {self.noun} like {shown(self.example)}")
        return amount

    def _refusal(self, value: Any, reason: str) -> PydanticCustomError:
        example = shown(self.example)
        return problem(
            f"{shown(value)} {reason}; {self.noun} is written like {example} (units: {self.units})"
        )


def problem(sentence: str) -> PydanticCustomError:
    """A validation error whose message is exactly this sentence."""
    return PydanticCustomError("etalon", "{sentence}", {"sentence": sentence})


def shown(value: Any) -> str:
    """A value as it would stand in a plan file."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _cut(json.dumps(value, ensure_ascii=False))
    return _cut(_BRIEF.repr(value) if isinstance(value, (dict, list, tuple)) else str(value))


MOST_SHOWN = 200


class _Brief(reprlib.Repr):
    """Lists and tables, with texts, truth values and lists in them as plan files have them."""

    def repr_str(self, x: str, level: int) -> str:
        return shown(x)

    def repr_bool(self, x: bool, level: int) -> str:
        return shown(x)

    def repr_tuple(self, x: tuple[Any, ...], level: int) -> str:
        return self.repr_list(list(x), level)


_BRIEF = _Brief()
_BRIEF.maxlevel, _BRIEF.maxlist, _BRIEF.maxtuple, _BRIEF.maxdict = 4, 12, 12, 12
_BRIEF.maxstring = _BRIEF.maxother = _BRIEF.maxlong = MOST_SHOWN


def _cut(text: str) -> str:
    """A text without its middle if it is long."""
    if len(text) <= MOST_SHOWN:
        return text
    return f"{text[: MOST_SHOWN - 40]} ... {text[-30:]}"


def rounded(ns: int) -> str:
    """A time for people, in three digits: "33.4 s"."""
    for unit, name in ((S, "s"), (MS, "ms"), (US, "us")):
        if ns >= 0.9995 * unit:
            amount = ns / unit
            return f"{amount:.0f} {name}" if amount >= 99.95 else f"{amount:.3g} {name}"
    return f"{ns} ns"


def counted(number: int, one: str, many: str = "") -> str:
    """A count for people: "1 packet", "2 packets"; `many` is the plural if that is not `one` and an s."""
    return f"{number} {one if number == 1 else many or one + 's'}"


TIME = Quantity("a time", "180us", "s, ms, us, ns", "60min", _core.parse_span, _core.format_span)
RATE = Quantity(
    "a rate",
    "10Gbps",
    "Tbps, Gbps, Mbps, kbps, bps",
    "100Tbps",
    _core.parse_rate,
    _core.format_rate,
)
SIZE = Quantity(
    "an amount of data",
    "1MB",
    "TB, GB, MB, kB, B, GiB, MiB, KiB",
    "1000TB",
    _core.parse_bytes,
    _core.format_bytes,
)

Time = Annotated[int, BeforeValidator(TIME.read), PlainSerializer(TIME.format, return_type=str)]
"""Nanoseconds of virtual time, written as text; may be zero."""
Duration = Annotated[Time, AfterValidator(TIME.positive)]
"""Nanoseconds of virtual time, more than zero."""
Rate = Annotated[
    int,
    BeforeValidator(RATE.read),
    AfterValidator(RATE.positive),
    PlainSerializer(RATE.format, return_type=str),
]
"""Bits a second, more than zero."""
Size = Annotated[
    int,
    BeforeValidator(SIZE.read),
    AfterValidator(SIZE.positive),
    PlainSerializer(SIZE.format, return_type=str),
]
"""Bytes, more than zero."""
