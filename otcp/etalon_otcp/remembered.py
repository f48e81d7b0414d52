# SPDX-License-Identifier: MIT OR Apache-2.0
"""What hosts were told before a restart: it counts until the whole network is back, or a time is over. Sans I/O.

A controller that has just started cannot tell a switch that is dead from one that has not connected again yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network

from etalon_otcp.publication import MOST_ROUTES, Route

Told = tuple[Route, ...]


@dataclass
class Remembered:
    """By host, what it was told last; `until` is monotonic seconds."""

    told: Mapping[str, Told]
    until: float

    def is_over(self, now: float, is_back: bool) -> bool:
        """Whether it no longer counts, from now on if the whole network is back."""
        if is_back or now >= self.until:
            self.told = {}
        return not self.told

    def beside(self, computed: Mapping[str, Told], hosts: Iterable[str]) -> Mapping[str, Told]:
        """What these hosts are told: what was computed, and of before what that does not cover."""
        if not self.told:
            return computed
        wanted = dict(computed)
        for host in hosts:
            if before := self.told.get(host):
                wanted[host] = _beside(computed.get(host, ()), before)
        return wanted


def _beside(computed: Told, before: Told) -> Told:
    covered = {ip_network(route.prefix) for route in computed}
    kept = [route for route in before if not _covers(covered, route.prefix)]
    if not kept or len(computed) + len(kept) > MOST_ROUTES:
        return computed
    return (*computed, *kept)


def _covers(covered: set[IPv4Network | IPv6Network], prefix: str) -> bool:
    """Whether one of them is the prefix, or holds it."""
    network = ip_network(prefix)
    return any(
        network.supernet(new_prefix=length) in covered for length in range(network.prefixlen + 1)
    )
