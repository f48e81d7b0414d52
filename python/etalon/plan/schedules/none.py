# SPDX-License-Identifier: MIT OR Apache-2.0
"""No schedule: the packet network alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from etalon.errors import PlanError
from etalon.plan.network import Network
from etalon.plan.schedules.base import Schedule


class NoCircuits(Schedule):
    """The packet network alone."""

    about: ClassVar = "no circuits: the packet network alone"
    which: ClassVar = 'of kind "none"'
    kind: Literal["none"] = "none"
    """No circuits: the packet network alone."""

    def resolve(self, network: Network, seed: int) -> dict[str, Any] | None:
        """There is none."""
        return None

    def problems(self, network: Network) -> Iterator[PlanError]:
        """Nothing can be wrong with it."""
        yield from ()
