"""The packet network beside circuits."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from etalon.plan.routing.base import Way


class Packet(Way):
    """Over the packet network, as short flows of hybrid RotorNet go."""

    which: ClassVar = 'of kind "packet"'
    about: ClassVar = "over the packet network beside the circuits"
    needs_packet_network: ClassVar = True
    kind: Literal["packet"] = "packet"
    """Not over circuits."""

    def resolve(self) -> Any:
        """As the core takes it."""
        return "packet"
