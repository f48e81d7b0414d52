# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which circuits the collectives of an MPI program ask for: the key `ask` of `[[program]]`, and `etalon mpirun --ask`."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator

from etalon.units import problem, shown

ALL = "all"
COLLECTIVES = ("allreduce", "reduce_scatter", "allgather", "alltoall", "bcast", "reduce")
"""The collectives that can ask, by their names in MPI."""
NAMED = ("ring", "none")
"""Circuits that have a name: from each rank of the communicator to the next; none."""

_END = r"(?:\d+|r\d+(?:h\d+)?)"
_CIRCUIT = re.compile(rf"{_END}>{_END}")


def _read(value: Any) -> Any:
    """Circuits for all collectives, or by collective."""
    if isinstance(value, str):
        value = {ALL: value}
    if not isinstance(value, dict) or not value:
        raise problem(
            f'{shown(value)} must be "ring", circuits like "0>1 1>0", or a table by collective, '
            'like { allreduce = "ring" }'
        )
    for name, wanted in value.items():
        if name not in (ALL, *COLLECTIVES):
            raise problem(
                f"{shown(name)} is not a collective that can ask for circuits: choose {', '.join((ALL, *COLLECTIVES))}"
            )
        words = wanted.split() if isinstance(wanted, str) else ()
        if not words or (wanted not in NAMED and not all(map(_CIRCUIT.fullmatch, words))):
            raise problem(f'{shown(wanted)} must be "ring", "none", or circuits like "0>1 1>0"')
    return value


Ask = Annotated[dict[str, str], BeforeValidator(_read)]
"""Circuits by collective; those of `all` for the rest."""


def named_ranks(ask: dict[str, str]) -> list[int]:
    """The ranks that circuits name."""
    words = (word for wanted in ask.values() for word in wanted.split() if wanted not in NAMED)
    return [int(end) for word in words for end in word.split(">") if end.isdigit()]


def entries(ask: dict[str, str]) -> str:
    """The same as libask reads it (crates/libask/src/wanted.rs): the last entry that fits a collective counts."""
    first = [ask[ALL]] if ALL in ask else []
    return ";".join([*first, *(f"{name}={ask[name]}" for name in COLLECTIVES if name in ask)])
