# SPDX-License-Identifier: MIT OR Apache-2.0
"""A network of circuits: racks with several uplinks, each to a circuit switch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from etalon.errors import PlanError
from etalon.plan.base import Table
from etalon.plan.network.base import GBPS, Circuits, Jitter, Passage, Racks
from etalon.plan.network.failure import PartFailure, overlapping, resolve_failures
from etalon.plan.network.rdcn import Ece, Notify
from etalon.plan.network.switched import Layer
from etalon.units import TIME, Rate, Size, Time


class Uplinks(Table):
    """The circuit switches. Every rack has an uplink to each."""

    in_order: ClassVar = ("rate", "delay", "switches")
    rate: Rate = 10 * GBPS
    """Rate of a circuit."""
    delay: Time = 500
    """Propagation delay from rack to rack."""
    switches: int = Field(default=4, strict=True, ge=1, le=64)
    """Number of circuit switches. A graph from a file has as many as its busiest node has links."""


class OcsHosts(Table):
    """The link between a host and its rack."""

    in_order: ClassVar = ("rate", "delay", "jitter")
    rate: Rate = 10 * GBPS
    """Rate, both ways."""
    delay: Time = 0
    """Delay between the transport and the rack, on the way up."""
    jitter: Jitter = 0
    """Uniform random addition to that delay, without reordering."""
    queues: bool = Field(default=False, strict=True)
    """Whether hosts' queues serve packets by class; otherwise their NICs are FIFO."""


class ClassQueue(Table):
    """Capacity of a class's queue: on an uplink, for a rack that is met later, or on the link to a host."""

    in_order: ClassVar = ("packets",)
    packets: int | None = Field(default=None, strict=True, ge=1, le=10_000_000)
    """Capacity in packets, the one in transmission included; 100 by default."""
    bytes: Size | None = None
    """Capacity in bytes, instead of `packets`."""
    unlimited: bool = Field(default=False, strict=True)
    """Whether the queue is unbounded."""
    ecn_threshold: int | None = Field(default=None, strict=True, ge=0)
    """A queue longer than this marks a packet CE, that packet included; in packets, or in bytes if the queue counts
    those."""
    trim: Size | None = None
    """A full queue trims packets to headers of this length, which travel on (NDP, SIGCOMM 2017). Headers have as many
    bytes of room as packets. Without it, packets that find no room are lost."""
    headers_per_packet: int = Field(default=10, strict=True, ge=0, le=1000)
    """Number of headers sent before the next packet, if both wait; 0 sends all headers first."""
    coin: bool = Field(default=False, strict=True)
    """Whether a fair coin decides which packet is trimmed, the one that arrives or the last one in the queue."""
    returns: bool = Field(default=False, strict=True)
    """Whether a packet that finds no room returns to its sender; if packets are trimmed, a header that finds no room."""

    downlink: int | None = Field(default=None, strict=True, ge=1, le=10_000_000)
    """Capacity in packets on a link to a host, if it differs."""

    def resolve(self, mtu: int) -> dict[str, Any]:
        """As the core takes it: the queue, and that of a link to a host if it differs."""
        queue = self._limit(mtu)
        if self.downlink is None:
            return {"queue": queue}
        alone = self.model_copy(
            update={"packets": self.downlink, "bytes": None, "unlimited": False}
        )
        return {"queue": queue, "downlink": alone._limit(mtu)}

    def _limit(self, mtu: int) -> dict[str, Any]:
        count = "bytes" if self.bytes is not None else "packets"
        room = None if self.unlimited else self.bytes or self.packets or DEFAULT
        full: Any = "return" if self.returns else "drop"
        if self.trim is not None:
            full = {
                "trim": {
                    "header_bytes": self.trim,
                    "room_bytes": self.bytes or (self.packets or DEFAULT) * mtu,
                    "headers_per_packet": self.headers_per_packet,
                    "coin": self.coin,
                    "returns": self.returns,
                }
            }
        return {"count": count, "room": room, "mark_above": self.ecn_threshold, "full": full}

    def problems(self, key: str, mtu: int) -> Iterator[PlanError]:
        """What contradicts itself."""
        given = [name for name in ("packets", "bytes", "unlimited") if getattr(self, name)]
        if len(given) > 1:
            yield PlanError(f"{given[0]} and {given[1]} contradict each other; give one", key=key)
        if self.bytes is not None and self.bytes < mtu:
            yield PlanError(f"has no room for a packet of {mtu} bytes", key=f"{key}.bytes")
        if self.trim is not None and not 0 < self.trim <= mtu:
            yield PlanError(
                f"packets of {mtu} bytes cannot be trimmed to {self.trim}", key=f"{key}.trim"
            )
        for name in ("coin", "headers_per_packet"):
            default = type(self).model_fields[name].default
            if self.trim is None and getattr(self, name) != default:
                yield PlanError(
                    "is for queues that trim packets; set trim, or leave it out",
                    key=f"{key}.{name}",
                )
        if self.trim is not None and self.unlimited:
            yield PlanError(
                "an unlimited queue never trims; leave trim or unlimited out", key=f"{key}.trim"
            )


DEFAULT = 100
"""Packets of a queue that does not say."""


class CircuitNotify(Notify):
    """Racks tell hosts which TDN (time-division network, SIGCOMM'22) leads to which rack. It changes where a slice begins."""

    tdns: Literal["slice", "length", "one"] = "length"
    """The TDN of a rack pair. "slice": the number of the slice in its cycle. "length": the number of circuits in a row that
    packets cross; 0 if they take the packet network, or wait for a circuit. The first class counts, and the first of several
    paths. "one": always 0."""
    longest: int = Field(default=7, strict=True, ge=1, le=254)
    """With `tdns = "length"`, the longest path with a TDN of its own; longer ones share it."""
    before: Time = 0
    """How long before a slice hosts learn of it; at most the length of a slice."""

    def resolve_tdns(self) -> Any:
        """What a TDN is, as the core takes it."""
        return {"length": self.longest} if self.tdns == "length" else self.tdns


class Queues(Table):
    """The queues by class."""

    in_order: ClassVar = ("low", "bulk")
    low: ClassQueue = ClassQueue()
    """The queue of class `low`, which has priority."""
    bulk: ClassQueue = ClassQueue()
    """The queue of class `bulk`."""


def _queues(value: Any) -> Any:
    """One queue's settings for both classes."""
    own = {"packets", "bytes", "unlimited", "ecn_threshold", "trim"}
    if isinstance(value, int) and not isinstance(value, bool):
        value = {"packets": value}
    alike = isinstance(value, Mapping) and bool(own & set(value))
    return {"low": value, "bulk": value} if alike else value


class Ocs(Racks):
    """Racks with several uplinks, each to a circuit switch with a schedule of its own; packets may pass several racks."""

    which: ClassVar = 'of kind "ocs"'
    carries_within_racks: ClassVar = True
    kind: Literal["ocs"] = "ocs"
    """A network of circuits."""
    racks: int = Field(default=8, strict=True, ge=2, le=4096)
    """Number of racks."""
    hosts: int = Field(default=4, strict=True, ge=1, le=1024)
    """Hosts a rack."""
    mtu: int = Field(default=1500, strict=True, ge=576, le=65535)
    """In bytes."""
    host: OcsHosts = OcsHosts()
    circuits: Uplinks = Uplinks()
    packet: Layer | None = None
    """A packet network beside the circuits, with a link up and a link down per rack; by default there is none."""
    queue: Annotated[Queues, BeforeValidator(_queues)] = Queues()
    guard: Time = 0
    """Guard band: racks transmit nothing for this long after a day begins, nor for this long before it ends."""
    skew: Time = 0
    """Each rack's clock is wrong by up to this, fast or slow, drawn once per run. Choose guard bands at least as long."""
    late: Literal["lost", "completes"] = "lost"
    """The fate of a packet whose circuit ends during its transmission."""
    hold: bool = Field(default=False, strict=True)
    """Whether hosts start no transmission while all circuit switches are dark."""
    hops: int = Field(default=32, strict=True, ge=1, le=255)
    """Largest number of hops of a packet; a packet that needs more is lost."""
    reroute: Time = 0
    """How long racks take to reroute when something fails or recovers."""
    failure: tuple[PartFailure, ...] = ()
    """Parts that fail for a time."""
    ack_bypass: Time | None = None
    """Delay from rack to rack of packets without payload, which then wait in no queue: for circuits that lead one way. By
    default they go as others do."""
    ece: Ece | None = None
    """reTCP's signal: ECE on every packet from D to S, from this long before a slice with a circuit from S to D until the end
    of that slice. Where ACKs come over direct circuits only, all of them carry it: set `ack_bypass`."""
    notify: CircuitNotify | None = None
    """How racks tell hosts which TDN leads to which rack (TDTCP, SIGCOMM'22 section 4.2). Without this table they use these
    defaults, but only if a transport of the plan listens."""

    def resolve(self) -> dict[str, Any]:
        """The network as the core takes it, but for uplinks, relays and classes, which the schedule and routing say."""
        resolved: dict[str, Any] = {
            "access": {"rate_bps": self.host.rate, "delay_ns": 0},
            "host_queues": self.host.queues,
            "packet": self.packet and self.packet.resolve(),
            "guard_ns": self.guard,
            "skew_ns": self.skew,
            "late": self.late,
            "most_hops": self.hops,
            "reroute_ns": self.reroute,
        }
        if self.ack_bypass is not None:
            resolved["ack_bypass_ns"] = self.ack_bypass
        if self.hold:
            resolved["hold"] = True
        if self.ece is not None:
            resolved["ece_in_advance_ns"] = self.ece.before
        resolved["failures"] = resolve_failures(self.failure)
        return resolved

    def resolve_hosts(self) -> dict[str, Any]:
        """The hosts as the core takes them."""
        return {
            "racks": self.racks,
            "per_rack": self.hosts,
            "mtu": self.mtu,
            "rate_bps": self.host.rate,
            "delay_ns": self.host.delay,
            "jitter_ns": self.host.jitter,
            "downlink_packets": None,
        }

    @property
    def uplinks(self) -> int:
        """Circuits of each direction that a rack may have at a time."""
        return self.circuits.switches

    @property
    def rates(self) -> tuple[int, int]:
        """What the hosts of a rack can send together, and a circuit's rate."""
        return self.hosts * self.host.rate, self.circuits.rate

    def passage(self, src: int, dst: int, circuits: Sequence[Circuits]) -> Passage:
        """One circuit that is there at once, or, within a rack, none."""
        rate, delay = self.host.rate, self.host.delay
        if src != dst:
            rate, delay = min(rate, self.circuits.rate), delay + self.circuits.delay
        return Passage(delay, delay, rate)

    def problems(self) -> Iterator[PlanError]:
        """What is wrong with queues and failures."""
        for name in ("low", "bulk"):
            queue: ClassQueue = getattr(self.queue, name)
            yield from queue.problems(f"network.queue.{name}", self.mtu)
        for index, one in enumerate(self.failure):
            yield from one.problems(f"network.failure.{index}", self.racks)
        yield from overlapping(self.failure)

    def warnings(self, controls: set[str], week: int) -> Iterator[str]:
        """What flows with these congestion controls will not find here."""
        marks = any(queue.ecn_threshold is not None for queue in (self.queue.low, self.queue.bulk))
        if "dctcp" in controls and not marks:
            yield "flows use dctcp, but no queue of the network has an ecn_threshold: no packet will be marked"
        if "retcp" in controls and self.ece is None:
            yield "flows use retcp, but network.ece is not set: it will never learn of a circuit"
        if self.skew > self.guard:
            yield (
                f"clocks are wrong by up to {TIME.format(self.skew)}, and guard bands are {TIME.format(self.guard)}: "
                "some packets will miss their circuit"
            )
