# SPDX-License-Identifier: MIT OR Apache-2.0
"""Ports that flap: one that goes down again and again counts as down for a while after it has come back. Sans I/O.

As routers damp interfaces (after RFC 2439, which damps routes): each time that a port goes down adds 1 to its penalty, which
halves every half-life. Above `SUPPRESS` the port is damped until its penalty has fallen to `REUSE`. So a port that
fails once or twice is used again at once, and what goes down counts as down at once, whatever its penalty.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from etalon_otcp.network import PortId
from etalon_otcp.topology import PortDescription

SUPPRESS, REUSE, MOST = 2.0, 1.0, 16.0
"""Penalties. With the most a port is damped for four half-lives (Cisco IOS's `dampening` has the same numbers, times 1000)."""


@dataclass
class _Flaps:
    penalty: float = 0.0
    at: float = 0.0
    is_damped: bool = False


class Damping:
    """The penalties of all ports; times are monotonic seconds. Without a half-life nothing is damped."""

    def __init__(self, half_life_s: float) -> None:
        self._half_life_s = half_life_s
        self._flaps: dict[PortId, _Flaps] = {}
        self._held: dict[PortId, tuple[PortDescription, bool]] = {}
        """What switches say of ports that are damped, if they are up or deleted."""
        self.flaps = 0
        """How often a port went down, of all."""

    def take(
        self, place: PortId, port: PortDescription, deleted: bool, was_up: bool, now: float
    ) -> tuple[PortDescription, bool]:
        """What is to be believed of a port, and whether it is deleted: one that is damped is there, and down.

        `was_up` is what was believed until now.
        """
        is_up = port.up and not deleted
        held, held_deleted = self._held.pop(place, (None, False))
        if not is_up and (was_up or (held and not held_deleted)):
            self._went_down(place, now)
        if not self.is_damped(place):
            return port, deleted
        if is_up or deleted:
            self._held[place] = port, deleted
        return replace(port, up=False), False

    def switch_down(self, switch: str) -> None:
        """A switch is gone: it will say anew which ports are up."""
        self._held = {place: port for place, port in self._held.items() if place.switch != switch}

    def is_damped(self, place: PortId) -> bool:
        """Whether a port counts as down, whatever its switch says."""
        return place in self._flaps and self._flaps[place].is_damped

    def over(self, now: float) -> list[tuple[PortId, PortDescription, bool]]:
        """The ports that are damped no more, as their switches describe them, and whether they are deleted."""
        for place, flaps in [*self._flaps.items()]:
            if now >= self._until(flaps):
                if not flaps.is_damped:
                    del self._flaps[place]
                flaps.is_damped = False
        return [
            (place, *self._held.pop(place)) for place in [*self._held] if not self.is_damped(place)
        ]

    def due(self) -> float | None:
        """When the next port is damped no more."""
        return min(
            (self._until(one) for one in self._flaps.values() if one.is_damped), default=None
        )

    def damped(self) -> int:
        """How many ports are damped."""
        return sum(one.is_damped for one in self._flaps.values())

    def problems(self, now: float) -> list[str]:
        """A sentence for each port that is damped."""
        return [
            f"port {place.number} of {place.switch} flaps: it counts as down for another "
            f"{max(0.0, self._until(flaps) - now):.0f} s, longer if it goes down again"
            for place, flaps in sorted(self._flaps.items())
            if flaps.is_damped
        ]

    def _went_down(self, place: PortId, now: float) -> None:
        self.flaps += 1
        if not self._half_life_s:
            return
        flaps = self._flaps.setdefault(place, _Flaps(at=now))
        left = flaps.penalty * 2 ** ((flaps.at - now) / self._half_life_s)
        flaps.penalty, flaps.at = min(MOST, left + 1), now
        flaps.is_damped |= flaps.penalty > SUPPRESS

    def _until(self, flaps: _Flaps) -> float:
        """When a penalty has fallen to where a port is used, and, below that, when to forget it."""
        least = REUSE if flaps.is_damped else REUSE / 2
        return flaps.at + self._half_life_s * math.log2(flaps.penalty / least)
