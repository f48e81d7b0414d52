# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the controller asks of switches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from etalon_otcp.probing import Action


class Southbound(Protocol):
    """Calls do not wait for switches."""

    def send(self, action: Action) -> None:
        """Sends a probe or a frame; does nothing if the switch is gone."""

    def write(
        self, switch: str, written: Mapping[str, tuple[int, ...]], deleted: Iterable[str]
    ) -> None:
        """Writes and deletes flow entries (`forwarding.Table`)."""

    def count_flows(self, switch: str) -> None:
        """Asks for flow statistics, which come by `Controller.flows`."""
