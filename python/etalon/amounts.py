# SPDX-License-Identifier: MIT OR Apache-2.0
"""Numbers for people: four significant digits, no exponents, and one unit for a whole column.

Tables, reports and the screen write amounts here and nowhere else. Files keep base units, and their columns say which.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

_THIN = "\u202f"
"""Between groups of three digits: narrow, and no line breaks there."""
_DIGITS = 4

_TIMES = ((1e-3, "ns"), (1.0, "µs"), (1e3, "ms"), (1e6, "s"))
_LADDERS: dict[str, tuple[tuple[float, str], ...]] = {
    "us": _TIMES,
    "ns": tuple((1e3 * step, name) for step, name in _TIMES),
    "ms": tuple((step / 1e3, name) for step, name in _TIMES),
    "bit/s": ((1.0, "bit/s"), (1e3, "kb/s"), (1e6, "Mb/s"), (1e9, "Gb/s"), (1e12, "Tb/s")),
    "B": ((1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")),
    "0..1": ((0.01, "%"),),
    "1": ((1.0, ""),),
}
"""By unit of a metric or a column: the units that people read, and how much of the first each is."""
_BASES = {"ns": ("us", 1e-3), "ms": ("us", 1e3)}
"""Units of one kind: which stands for all, and how much of it each is."""


@dataclass(frozen=True)
class Scale:
    """One unit for several amounts."""

    size: float
    """How much of the base unit it is."""
    unit: str
    decimals: int
    """Digits behind the point, the same for all."""

    def text(self, amount: float | None) -> str:
        """The amount without its unit; a hyphen if there is none."""
        if amount is None or not math.isfinite(amount):
            return "-"
        return grouped(amount / self.size, self.decimals)

    def full(self, amount: float | None) -> str:
        """The amount with its unit."""
        text = self.text(amount)
        return text if text == "-" or not self.unit else f"{text} {self.unit}"


def scale(amounts: Iterable[Any], unit: str) -> Scale:
    """The unit in which the largest of the amounts has one to three digits before its point.

    `unit` is the amounts' own: "us", "ns", "ms", "bit/s", "B", "0..1", "1", or a word, which stays.
    """
    sizes = [
        abs(float(amount)) for amount in amounts if amount is not None and math.isfinite(amount)
    ]
    largest = max(sizes, default=0.0)
    ladder = _LADDERS.get(unit, ((1.0, unit),))
    fitting = [step for step in ladder if _rounded(largest / step[0]) >= 1]
    size, name = fitting[-1] if fitting else ladder[0]
    if not largest and unit in ("us", "ns", "ms"):
        size, name = ladder[1]
    scaled = [one / size for one in sizes]
    return Scale(size, name, _decimals(scaled))


def units_of(amounts: Iterable[tuple[str, float | None]]) -> Callable[[str, Iterable[Any]], Scale]:
    """For a table whose amounts, with their units, are given: the scale of some of them, in the unit for all of their kind.

    Times in ns, us and ms are of one kind. Decimals suit those that are asked about.
    """
    largest: dict[str, list[float]] = {}
    for unit, amount in amounts:
        if amount is not None and math.isfinite(amount):
            base, factor = _BASES.get(unit, (unit, 1.0))
            largest.setdefault(base, []).append(amount * factor)
    sizes = {base: scale(values, base) for base, values in largest.items()}

    def of(unit: str, some: Iterable[Any]) -> Scale:
        base, factor = _BASES.get(unit, (unit, 1.0))
        found = sizes.get(base) or scale([], base)
        size = found.size / factor
        numbers = [abs(one) / size for one in some if one is not None and math.isfinite(one)]
        return Scale(size, found.unit, _decimals(numbers))

    return of


def humane(amount: float | None, unit: str) -> str:
    """One amount with the unit that suits it: humane(0.479, "0..1") is "47.90 %"."""
    return scale([amount], unit).full(amount)


def number(amount: float | None) -> str:
    """A number without a unit, and without zeros at its end."""
    text = scale([amount], "1").text(amount)
    return text.rstrip("0").rstrip(".") if "." in text else text


def column(values: Sequence[Any], unit: str = "1") -> tuple[list[str], str]:
    """A column's cells as text, and the unit of all of them."""
    numbers = [value for value in values if is_number(value)]
    common = scale(numbers, unit)
    cells = [
        common.text(value) if value is None or is_number(value) else str(value) for value in values
    ]
    return cells, common.unit


def is_number(value: Any) -> bool:
    """Whether a value is an amount: a truth value is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def grouped(value: float, decimals: int) -> str:
    """A number with so many decimals, its digits in groups of three from five digits on."""
    text = f"{value:z.{decimals}f}"
    whole, point, rest = text.partition(".")
    digits = whole.lstrip("-")
    if len(digits) > _DIGITS:
        whole = whole[: len(whole) - len(digits)] + f"{int(digits):,}".replace(",", _THIN)
    text = whole + point + rest
    return text[1:] if text.startswith("-") and not text.strip("-0." + _THIN) else text


def _rounded(value: float) -> float:
    """So that 0.99996 of a unit is one."""
    return float(f"{value:.{_DIGITS}g}")


def _decimals(values: Sequence[float]) -> int:
    """Four digits for the largest; up to two more where the smallest would be shown as zero; none for whole numbers."""
    if all(value == math.floor(value) for value in values):
        return 0
    places = [math.floor(math.log10(_rounded(value))) for value in values if _rounded(value) > 0]
    for_largest = max(_DIGITS - 1 - max(places), 0)
    return min(max(for_largest, min(-min(places), for_largest + 2)), 12)
