# SPDX-License-Identifier: MIT OR Apache-2.0
"""What flaps: a port, or a switch's connection, that goes down again and again is used again only after a while. Sans I/O.

As routers damp interfaces (after RFC 2439, which damps routes): each time that something goes down adds 1 to its penalty,
which halves every half-life. Above `SUPPRESS` it is damped until its penalty has fallen to `REUSE`. So what fails once or twice
is used again at once. A port that is damped counts as down, and what goes down counts as down at once, whatever its penalty.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from etalon_otcp.network import PortId
from etalon_otcp.topology import PortDescription

SUPPRESS, REUSE, MOST = 2.0, 1.0, 16.0
"""Penalties. With the most a port is damped for four half-lives (Cisco IOS's `dampening` has the same numbers, times 1000)."""
Place = TypeVar("Place", bound=Hashable)


@dataclass
class _Flaps:
    penalty: float = 0.0
    at: float = 0.0
    is_damped: bool = False


class Penalties(Generic[Place]):
    """The penalties of places; times are monotonic seconds. Without a half-life nothing is damped."""

    def __init__(self, half_life_s: float) -> None:
        self._half_life_s = half_life_s
        self._flaps: dict[Place, _Flaps] = {}
        self.flaps = 0
        """How often something went down, of all."""

    def went_down(self, place: Place, now: float) -> bool:
        """Counts that; whether the place is damped from now on, and was not before."""
        self.flaps += 1
        if not self._half_life_s:
            return False
        flaps = self._flaps.setdefault(place, _Flaps(at=now))
        left = flaps.penalty * 2 ** ((flaps.at - now) / self._half_life_s)
        flaps.penalty, flaps.at = min(MOST, left + 1), now
        was_damped = flaps.is_damped
        flaps.is_damped |= flaps.penalty > SUPPRESS
        return flaps.is_damped and not was_damped

    def is_damped(self, place: Place) -> bool:
        """Whether a place is not to be used."""
        return place in self._flaps and self._flaps[place].is_damped

    def expire(self, now: float) -> list[Place]:
        """The places that are damped no more, from now on."""
        found: list[Place] = []
        for place, flaps in [*self._flaps.items()]:
            if now >= self._until(flaps):
                if flaps.is_damped:
                    found.append(place)
                else:
                    del self._flaps[place]
                flaps.is_damped = False
        return found

    def due(self) -> float | None:
        """When the next place is damped no more."""
        return min(
            (self._until(one) for one in self._flaps.values() if one.is_damped), default=None
        )

    def damped(self) -> dict[Place, float]:
        """Places that are damped, and until when."""
        return {
            place: self._until(flaps) for place, flaps in self._flaps.items() if flaps.is_damped
        }

    def _until(self, flaps: _Flaps) -> float:
        """When a penalty has fallen to where a place is used, and, below that, when to forget it."""
        least = REUSE if flaps.is_damped else REUSE / 2
        return flaps.at + self._half_life_s * math.log2(flaps.penalty / least)


class Damping:
    """Ports, and what their switches say of those that are damped."""

    def __init__(self, half_life_s: float) -> None:
        self._penalties: Penalties[PortId] = Penalties(half_life_s)
        self._held: dict[PortId, tuple[PortDescription, bool]] = {}
        """What switches say of ports that are damped, if they are up or deleted."""

    @property
    def flaps(self) -> int:
        """How often a port went down, of all."""
        return self._penalties.flaps

    def take(
        self, place: PortId, port: PortDescription, deleted: bool, was_up: bool, now: float
    ) -> tuple[PortDescription, bool]:
        """What is to be believed of a port, and whether it is deleted: one that is damped is there, and down.

        `was_up` is what was believed until now.
        """
        is_up = port.up and not deleted
        held, held_deleted = self._held.pop(place, (None, False))
        if not is_up and (was_up or (held and not held_deleted)):
            self._penalties.went_down(place, now)
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
        return self._penalties.is_damped(place)

    def over(self, now: float) -> list[tuple[PortId, PortDescription, bool]]:
        """The ports that are damped no more, as their switches describe them, and whether they are deleted."""
        self._penalties.expire(now)
        return [
            (place, *self._held.pop(place)) for place in [*self._held] if not self.is_damped(place)
        ]

    def due(self) -> float | None:
        """When the next port is damped no more."""
        return self._penalties.due()

    def damped(self) -> int:
        """How many ports are damped."""
        return len(self._penalties.damped())

    def problems(self, now: float) -> list[str]:
        """A sentence for each port that is damped."""
        return [
            f"port {place.number} of {place.switch} flaps: it counts as down for another "
            f"{max(0.0, until - now):.0f} s, longer if it goes down again"
            for place, until in sorted(self._penalties.damped().items())
        ]
