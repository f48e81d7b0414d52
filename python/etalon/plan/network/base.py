# SPDX-License-Identifier: MIT OR Apache-2.0
"""What all kinds of network share: racks of hosts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol

from pydantic import AfterValidator, Field

from etalon.errors import PlanError
from etalon.plan.base import Table
from etalon.units import TIME, US, Rate, Time, problem, shown

GBPS = 1_000_000_000


LONGEST_JITTER = 1_000_000_000


def _jitter(jitter: int) -> int:
    if jitter > LONGEST_JITTER:
        raise problem(f"{shown(TIME.format(jitter))} is too large: jitter is at most 1s")
    return jitter


Jitter = Annotated[Time, AfterValidator(_jitter)]
"""A uniform random addition to a delay."""


class Hosts(Table):
    """The link and the delay of every end host, each way."""

    in_order: ClassVar = ("rate", "delay", "jitter")
    rate: Rate = 40 * GBPS
    """Rate of the link between a host and its rack."""
    delay: Time = 2 * US
    """Delay between TCP and the wire."""
    jitter: Jitter = 1 * US
    """Uniform random addition to the delay, without reordering. Exact timing would lock flows out."""
    downlink_queue: int | None = Field(default=None, strict=True, ge=1, le=1_000_000)
    """Capacity in packets of the queue on a ToR switch's link to a host, the packet in transmission included. The link is
    as fast as the host's own. Without it, packets reach their hosts as they leave the network, as on the papers'
    testbeds."""

    def resolve(self, racks: int, per_rack: int, mtu: int) -> dict[str, Any]:
        """The hosts of so many racks as the core takes them."""
        return {
            "racks": racks,
            "per_rack": per_rack,
            "mtu": mtu,
            "rate_bps": self.rate,
            "delay_ns": self.delay,
            "jitter_ns": self.jitter,
            "downlink_packets": self.downlink_queue,
        }

    def passage(self, there: int = 0, back: int = 0, rate: int | None = None) -> Passage:
        """The way between two hosts over a network with these delays and this rate; without one, within a rack."""
        return Passage(self.delay + there, self.delay + back, min(rate or self.rate, self.rate))


class Circuits(Protocol):
    """A kind of circuits: in bit/s and ns."""

    @property
    def rate(self) -> int: ...
    @property
    def delay(self) -> int: ...


@dataclass(frozen=True)
class Passage:
    """From host to host on an empty network: delays in ns, and the narrowest link's rate in bit/s."""

    there: int
    back: int
    rate: int


class Racks(Table):
    """A network between racks of hosts; each kind says what lies between them."""

    if TYPE_CHECKING:  # each kind has its own defaults and words for them
        kind: str
        hosts: int
        mtu: int

        @property
        def racks(self) -> int: ...

    carries_within_racks: ClassVar[bool] = False
    """Whether what stays in a rack passes queues of the network, and is measured like what does not."""

    def resolve(self) -> dict[str, Any]:
        """What lies between racks, as the core takes it."""
        raise NotImplementedError

    def resolve_hosts(self) -> dict[str, Any]:
        """The hosts as the core takes them."""
        raise NotImplementedError

    @property
    def rates(self) -> tuple[int, int]:
        """In bit/s, of a rack's way to others: what workloads call the packet network's rate, and a circuit's (the same where
        there are none)."""
        raise NotImplementedError

    @property
    def racks_per_pod(self) -> int:
        """Racks of each pod; all, where there are no pods."""
        return self.racks

    @property
    def uplinks(self) -> int:
        """Circuits of each direction that a rack may have at a time, where circuits are asked for."""
        return 1

    def passage(self, src: int, dst: int, circuits: Sequence[Circuits]) -> Passage:
        """The way of a flow between these racks that is alone on the network, where circuits of these kinds are always up."""
        raise NotImplementedError

    def problems(self) -> Iterator[PlanError]:
        """What is wrong with it."""
        yield from ()

    def warnings(self, controls: set[str], week: int) -> Iterator[str]:
        """Sentences about what flows with these congestion controls will not find here; a `week` in ns, 0 for none."""
        yield from ()
