# SPDX-License-Identifier: MIT OR Apache-2.0
"""How what was computed reaches hosts: some first, and no value farther at a time than a step. Sans I/O.

Without a word in the controller's file everybody is told everything at once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_network

from etalon_otcp.publication import Route

Told = tuple[Route, ...]
LINUX = Route("", 200_000, 1_000_000, 65_535, 10, 10)
"""What a host does of itself: a destination that it was told nothing of starts there."""
VALUES = ("rto_min_us", "rto_init_us", "initial_cwnd", "initial_rwnd", "max_cwnd")


@dataclass(frozen=True)
class Manner:
    """Who is told first and how long before the others, in seconds; the largest factor of a step, and seconds between steps."""

    canaries: frozenset[str] = frozenset()
    wait_s: float = 0.0
    step: float | None = None
    every_s: float = 0.0

    @property
    def is_gradual(self) -> bool:
        """Whether anybody is told later than others, or in steps."""
        return bool(self.canaries) or self.step is not None


@dataclass(frozen=True)
class Kept:
    """What outlives the controller: what hosts were told, and how far a roll-out is; times are seconds since 1970."""

    told: Mapping[str, Told] = field(default_factory=dict)
    held: bool = False
    waiting: Mapping[str, tuple[Told, float]] = field(default_factory=dict)
    """By host, what it waits for, and since when."""
    stepped: Mapping[str, float] = field(default_factory=dict)
    """By host, when it was last told a step."""


@dataclass
class Rollout:
    """What hosts were told, and what they are still to be told."""

    manner: Manner = field(default_factory=Manner)
    told: dict[str, Told] = field(default_factory=dict)
    held: bool = False
    """Whether an operator holds back what is new from all but the first."""
    pending: dict[str, Told] = field(default_factory=dict)
    """By host, what was computed and not told yet."""
    _since: dict[str, tuple[Told, float]] = field(default_factory=dict)
    _stepped: dict[str, float] = field(default_factory=dict)
    _released: bool = False

    @property
    def progress(self) -> object:
        """Equal at two instants if nothing has been told, waited for or stepped in between."""
        if not self.manner.is_gradual:
            return None
        return dict(self.told), dict(self._since), dict(self._stepped)

    def kept(self, now: float, wall: float) -> Kept:
        """What is to be kept; `now` in monotonic seconds and `wall` since 1970 are the same instant."""
        if not self.manner.is_gradual:
            return Kept(dict(self.told))
        ahead = wall - now
        waiting = {host: (listed, since + ahead) for host, (listed, since) in self._since.items()}
        stepped = {host: at + ahead for host, at in self._stepped.items()}
        return Kept(dict(self.told), self.held, waiting, stepped)

    def restore(self, kept: Kept, now: float, wall: float) -> None:
        """Goes on where another one was; a time that is still to come counts as now."""
        self.told = dict(kept.told)  # it is kept again before anything is computed
        if not self.manner.is_gradual:
            return
        behind = now - wall
        self.held = kept.held
        self._since = {
            h: (listed, min(now, at + behind)) for h, (listed, at) in kept.waiting.items()
        }
        self._stepped = {host: min(now, at + behind) for host, at in kept.stepped.items()}

    def release(self) -> None:
        """All are told what is computed now, without waiting; steps stay."""
        self.held, self._released = False, True

    def next(self, wanted: Mapping[str, Told], now: float) -> tuple[dict[str, Told], float | None]:
        """What all are told now (monotonic seconds), and when to ask again; None if nothing is pending but by a hold."""
        if not self.manner.is_gradual:
            self.told, self.pending = dict(wanted), {}
            return dict(wanted), None
        due: list[float] = []
        for host in [*wanted, *(self.told.keys() - wanted.keys())]:
            at = self._host(host, wanted.get(host, ()), now)
            if at is not None:
                due.append(at)
        self._released = False
        self.pending = {
            host: listed for host, listed in wanted.items() if self.told.get(host) != listed
        }
        return dict(self.told), min(due, default=None)

    def _host(self, host: str, wanted: Told, now: float) -> float | None:
        """Tells a host what it may be told; when it may be told more, if that is not all."""
        told = self.told.get(host)
        if told == wanted:
            self._since.pop(host, None)
            return None
        if self.manner.canaries and host not in self.manner.canaries and not self._released:
            known, since = self._since.setdefault(host, (wanted, now))
            if known != wanted:  # what the first have had for so long is something else
                self._since[host] = wanted, (since := now)
            if self.held:
                return None
            if now < since + self.manner.wait_s:
                return since + self.manner.wait_s
        if self.manner.step is None:
            self.told[host] = wanted
            return None
        last = self._stepped.get(host)
        if last is not None and now < last + self.manner.every_s:
            return last + self.manner.every_s
        self._stepped[host] = now
        self.told[host] = step(told or (), wanted, self.manner.step)
        return None if self.told[host] == wanted else now + self.manner.every_s


def step(told: Told, wanted: Told, most: float) -> Told:
    """What is wanted, with no value more than `most` times larger or smaller than what was told of its destination."""
    return tuple(_towards(_covering(told, route), route, most) for route in wanted)


def _covering(told: Told, route: Route) -> Route:
    """What was told of a destination: by the longest prefix that covers it."""
    network, best = ip_network(route.prefix), LINUX
    length = -1
    for one in told:
        if one.prefix == route.prefix:
            return one
        other = ip_network(one.prefix)
        covers = other.version == network.version and network.subnet_of(other)  # type: ignore[arg-type]
        if covers and other.prefixlen > length:
            best, length = one, other.prefixlen
    return best


def _towards(before: Route, wanted: Route, most: float) -> Route:
    """Each value by itself; order (RTOinit >= RTOmin, initial <= largest window) holds because both ends have it."""
    values = {}
    for name in VALUES:
        old, new = getattr(before, name), getattr(wanted, name)
        if name == "max_cwnd" and before is LINUX:
            values[name] = new  # no window is the largest of itself
            continue
        values[name] = min(
            max(new, min(old - 1, -int(-old // most))), max(old + 1, int(old * most))
        )
    values["initial_cwnd"] = min(values["initial_cwnd"], values["max_cwnd"])
    return replace(wanted, **values)


def share(hosts: Iterable[str], of: float) -> frozenset[str]:
    """So large a share of hosts, rounded up: always the same ones, spread over all racks."""
    ordered = sorted(hosts, key=lambda name: hashlib.sha256(name.encode()).digest())
    return frozenset(ordered[: -int(-len(ordered) * of // 1)])
