# SPDX-License-Identifier: MIT OR Apache-2.0
"""Direct routing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from etalon.circuits import Circuits
from etalon.errors import PlanError
from etalon.plan.routing.base import Way, never_met


class Direct(Way):
    """Packets wait at their source for a circuit to their destination."""

    which: ClassVar = 'of kind "direct"'
    about: ClassVar = "packets wait for a circuit to their destination"
    kind: Literal["direct"] = "direct"
    """Wait for the direct circuit."""

    def resolve(self) -> Any:
        """As the core takes it."""
        return "direct"

    def problems(self, key: str, net: Circuits, racks: int) -> Iterator[PlanError]:
        """Racks that never meet."""
        return never_met(key, net, racks)
