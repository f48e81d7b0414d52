# SPDX-License-Identifier: MIT OR Apache-2.0
"""Where hosts are, by those who claim it: any port may answer for an address, and hosts move. Sans I/O.

A claim is a port and a hardware address that answered a probe for a host. One that still answers is alive; a policy says
which of several counts. Nothing is decided silently: `problems` names hosts that are claimed twice, or by another than at
first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from etalon_otcp.network import PortId

EACH_S = 0.25
"""Claims are probed so often in a network of a few hundred hosts; of more hosts a thousand a second are."""
HOSTS_PER_S = 1000
PATIENCE = 2.8
"""A claim that has not answered for so many rounds is dead: two probes, and time for the answer to a third."""
FORGOTTEN_S = 60.0
"""A claim that has been dead for so long is forgotten, unless it is the first."""


class Policy(StrEnum):
    """Who counts, of those who claim to be a host and are alive."""

    FIRST = "first"
    """Who claimed it first; when that one is dead, the next."""
    LATEST = "latest"
    """Who claimed it last."""
    PINNED = "pinned"
    """Who has the hardware address of the topology file, or else the one that was seen first; nobody if that one is dead."""


@dataclass
class Claim:
    """Who has answered for a host: where, with which hardware address, when first and when last (monotonic seconds)."""

    port: PortId
    mac: str
    first: float
    last: float


@dataclass
class Seats:
    """All claims."""

    policy: Policy = Policy.FIRST
    hosts: int = 0
    """How many hosts there are to ask."""
    _claims: dict[str, list[Claim]] = field(default_factory=dict)
    """By host, the first first."""

    @property
    def each_s(self) -> float:
        """How often claims are to be probed."""
        return max(EACH_S, self.hosts / HOSTS_PER_S)

    def is_alive(self, claim: Claim, now: float) -> bool:
        """Whether a claim has answered lately."""
        return now - claim.last <= PATIENCE * self.each_s

    def seen(self, host: str, port: PortId, mac: str, now: float) -> None:
        """A host has answered at a port."""
        claims = self._claims.setdefault(host, [])
        for claim in claims:
            if (claim.port, claim.mac) == (port, mac):
                if self.policy is Policy.LATEST and not self.is_alive(claim, now):
                    claim.first = now  # it is back
                claim.last = now
                break
        else:
            claims.append(Claim(port, mac, now, now))
        first = claims[0]
        claims[1:] = [one for one in claims[1:] if now - one.last <= FORGOTTEN_S]
        assert claims[0] is first

    def port_down(self, port: PortId) -> None:
        """Whoever was at a port may be unplugged."""
        for claims in self._claims.values():
            for claim in claims:
                if claim.port == port:
                    claim.last = float("-inf")

    def owner(self, host: str, now: float) -> Claim | None:
        """Whose claim counts; None if nobody's who is alive."""
        claims = self._claims.get(host, [])
        alive = [claim for claim in claims if self.is_alive(claim, now)]
        if self.policy is Policy.PINNED:
            alive = [claim for claim in alive if claim.mac == claims[0].mac]
        if not alive:
            return None
        pick = max if self.policy is Policy.LATEST else min
        return pick(alive, key=lambda claim: claim.first)

    def ports(self, host: str) -> list[PortId]:
        """Where it was seen, and is to be asked whether it still is there."""
        return list(dict.fromkeys(claim.port for claim in self._claims.get(host, ())))

    def hosts_of(self, port: PortId) -> list[str]:
        """Hosts that were seen at a port, or still are."""
        return [host for host in self._claims if port in self.ports(host)]

    def problems(self, now: float) -> list[str]:
        """A sentence for each host that is claimed twice, or by another than at first."""
        return [
            sentence
            for host, claims in sorted(self._claims.items())
            if (sentence := self._problem(host, claims, now))
        ]

    def _problem(self, host: str, claims: list[Claim], now: float) -> str:
        alive = [claim for claim in claims if self.is_alive(claim, now)]
        owner = self.owner(host, now)
        if len(alive) > 1:
            where = " and ".join(_where(claim) for claim in alive)
            counts = f"{_where(owner)} counts" if owner else "none counts"
            return f"host {host} is claimed by {where}: {counts} ({self.policy})"
        if alive and alive[0].mac != claims[0].mac:
            counts = "counts" if owner else "does not count"
            return (
                f"host {host} is claimed by {_where(alive[0])}, at first it was {_where(claims[0])}: "
                f"the new one {counts} ({self.policy})"
            )
        return ""


def _where(claim: Claim) -> str:
    return f"{claim.mac} at port {claim.port.number} of {claim.port.switch}"
