# SPDX-License-Identifier: MIT OR Apache-2.0
"""How many flows leave by each port, from what switches count of their entries. Sans I/O."""

from __future__ import annotations

from collections.abc import Mapping

from etalon_otcp.network import PortId


class FlowCounts:
    """A flow counts if its entry has other packets than at the count before.

    Fewer than before are those of a counter that has wrapped, or of a new entry.
    """

    def __init__(self) -> None:
        self._packets: dict[PortId, dict[object, int]] = {}
        self._counts: dict[PortId, int] = {}

    def take(self, switch: str, packets: Mapping[PortId, Mapping[object, int]]) -> bool:
        """Packets of all TCP flow entries of a switch, by egress port; whether a count is another now."""
        before = dict(self._counts)
        last = {port: self._packets.pop(port) for port in [*self._packets] if port.switch == switch}
        for port in last:
            del self._counts[port]
        for port, entries in packets.items():
            known = last.get(port, {})
            self._counts[port] = sum(
                count not in (0, known.get(entry)) for entry, count in entries.items()
            )
            self._packets[port] = dict(entries)
        return before != self._counts

    def counts(self) -> dict[PortId, int]:
        """Flows that sent something between the last two counts, by egress port."""
        return dict(self._counts)
