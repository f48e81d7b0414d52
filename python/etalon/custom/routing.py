# SPDX-License-Identifier: MIT OR Apache-2.0
"""Users' routing: functions from a network of circuits to a time-flow table, which is checked like a table from a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from etalon.circuits import Circuits
from etalon.custom import source
from etalon.custom.capture import unwrapped
from etalon.errors import EtalonError, PlanError
from etalon.timeflow import COLUMNS, MOST_ENTRIES, Entry, absent, misleading

EXAMPLE = f"[({', '.join(COLUMNS)}), ...]"


class Answered:
    """The table that a function of the user's answers."""

    def __init__(self, reference: str, texts: Mapping[str, str], net: Circuits) -> None:
        """Calls the function. Raises `EtalonError` if it may not run, if it fails, or if its answer is no table."""
        function = unwrapped(source.load(reference, texts))
        file, self.name = source.split(reference)
        if not callable(function):
            raise PlanError(f"{file}: {self.name} is not a function, and so not routing")
        self.place = source.place_of(function, file)
        given = Circuits(net.name, net.peers.copy(), net.ending)
        try:
            answer = function(given)
            if answer is not None and not isinstance(answer, np.ndarray):
                answer = list(answer)
        except EtalonError:
            raise
        except Exception as error:
            raise EtalonError(
                f"{source.where(error, self.place)}: {self.name} raised {source.told(error)}; it was given {told(net)}"
            ) from error
        try:
            self.entries = table(answer)
            if wrong := absent(self.entries, net) or misleading(self.entries, net):
                raise PlanError("entry {}, {}: {}".format(*wrong))
        except PlanError as error:
            raise EtalonError(
                f"{self.place}: {self.name} answers no table: {error.expected}; it was given {told(net)}"
            ) from None


def table(answer: Any) -> list[Entry]:
    """An answer as a table. Raises `PlanError`."""
    if isinstance(answer, np.ndarray):
        if answer.ndim != 2 or answer.shape[1] != len(COLUMNS) or answer.dtype.kind not in "iu":
            raise PlanError(
                f"an array must have whole numbers and the shape (entries, {len(COLUMNS)}), not {answer.dtype} and "
                f"{answer.shape}"
            )
        answer = answer.tolist()
    if answer is None:
        raise PlanError(f"it must be a list of entries, {EXAMPLE}, not None")
    if not 0 < len(answer) <= MOST_ENTRIES:
        raise PlanError(f"it has {len(answer)} entries, and must have 1 to {MOST_ENTRIES}")
    entries = []
    for number, one in enumerate(answer):
        try:
            here, arrival, destination, after, uplink, departure = map(_whole, one)
        except (TypeError, ValueError):
            raise PlanError(
                f"entry {number} is {_brief(one)}, and must be six whole numbers: {', '.join(COLUMNS)}"
            ) from None
        entries.append((here, arrival, destination, after, uplink, departure))
    return entries


def told(net: Circuits) -> str:
    """A network in a few words."""
    return f"{net.racks} racks with {net.switches} uplinks each, and {net.slices} slices"


def _whole(value: Any) -> int:
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    raise TypeError


def _brief(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:76]} ..."
