# SPDX-License-Identifier: MIT OR Apache-2.0
"""The packet network beside circuits."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from etalon.plan.routing.base import Way


class Packet(Way):
    """Over the packet network, like short flows in a hybrid RotorNet."""

    which: ClassVar = 'of kind "packet"'
    about: ClassVar = "over the packet network beside the circuits"
    needs_packet_network: ClassVar = True
    kind: Literal["packet"] = "packet"
    """The packet network."""

    def resolve(self) -> Any:
        """As the core takes it."""
        return "packet"
