"""A network of circuits: racks with several uplinks, each to a circuit switch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from etalon.errors import PlanError
from etalon.plan.base import Rack, Table
from etalon.plan.network.base import GBPS, Circuits, Jitter, Passage, Racks
from etalon.plan.network.switched import Layer
from etalon.units import TIME, Rate, Size, Time, shown

ETHERNET = 14


class Uplinks(Table):
    """The circuit switches, to each of which every rack has an uplink."""

    in_order: ClassVar = ("rate", "delay", "switches")
    rate: Rate = 10 * GBPS
    """Rate of a circuit."""
    delay: Time = 500
    """Propagation delay from rack to rack."""
    switches: int = Field(default=4, strict=True, ge=1, le=64)
    """How many there are. A graph from a file has as many as its busiest node has links."""


class OcsHosts(Table):
    """The link of every host to its rack."""

    in_order: ClassVar = ("rate", "delay", "jitter")
    rate: Rate = 10 * GBPS
    """Rate, both ways."""
    delay: Time = 0
    """Delay between TCP and the rack, on the way up."""
    jitter: Jitter = 0
    """Uniform random addition to that delay, without reordering."""
    queues: bool = Field(default=False, strict=True)
    """Hosts have queues in front of their link in which classes go in their order; without, their NICs are FIFO."""


class ClassQueue(Table):
    """What one queue holds of a class: of an uplink, of a rack that is met later, of the link to a host."""

    in_order: ClassVar = ("packets",)
    packets: int | None = Field(default=None, strict=True, ge=1, le=10_000_000)
    """So many packets, what is in transmission included."""
    bytes: Size | None = None
    """Or so many bytes."""
    unlimited: bool = Field(default=False, strict=True)
    """Or all."""
    ecn_threshold: int | None = Field(default=None, strict=True, ge=0)
    """A packet is marked CE if, with it, the queue is longer: packets, or bytes if the queue counts those."""
    trim: Size | None = None
    """What finds no room is cut down to so many bytes, a header, which goes on (NDP, SIGCOMM 2017). Headers have as many
    bytes of room as packets have. Without it, packets are lost."""
    headers_per_packet: int = Field(default=10, strict=True, ge=0, le=1000)
    """Headers that go before a packet has its turn, where both wait; 0 for all."""
    coin: bool = Field(default=False, strict=True)
    """A fair coin decides whether the packet that comes is trimmed, or the last that waits."""
    returns: bool = Field(default=False, strict=True)
    """What finds no room goes back to its sender: a packet, or, if packets are trimmed, a header."""

    downlink: int | None = Field(default=None, strict=True, ge=1, le=10_000_000)
    """Packets that fit at a link to a host, if these are others."""

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
                f"packets of {mtu} bytes cannot be cut down to {self.trim}", key=f"{key}.trim"
            )
        if self.trim is not None and self.unlimited:
            yield PlanError("where all find room nothing is trimmed", key=f"{key}.trim")


DEFAULT = 100
"""Packets of a queue that does not say."""


class Queues(Table):
    """The queues by class."""

    in_order: ClassVar = ("low", "bulk")
    low: ClassQueue = ClassQueue()
    """Of packets that go first."""
    bulk: ClassQueue = ClassQueue()
    """Of the others."""


class OcsFailure(Table):
    """Something that fails for a time: a link, one end of it, a rack's switch, or a circuit switch."""

    link: tuple[Rack, int] | None = None
    """A rack and its uplink, both ways."""
    sender: tuple[Rack, int] | None = None
    """The end of an uplink that sends."""
    receiver: tuple[Rack, int] | None = None
    """The end of an uplink that receives."""
    rack: Rack | None = None
    """A ToR switch, with all its uplinks."""
    switch: Annotated[int, Field(strict=True, ge=0)] | None = None
    """A circuit switch."""
    start: Time = Field(alias="from")
    """When."""
    end: Time | None = Field(default=None, alias="to")
    """When it is well again; without it, never."""
    locks_after: Time | None = None
    """It does not go down, but its circuits come up so much later each day."""

    @property
    def part(self) -> dict[str, Any]:
        """What fails, as the core takes it; one entry, if it is given once."""
        parts = ("link", "sender", "receiver", "rack", "switch")
        return {name: value for name in parts if (value := getattr(self, name)) is not None}


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
    """A packet network beside the circuits, to which each rack has a link up and a link down; without it, there is none."""
    queue: Annotated[Queues, BeforeValidator(_queues)] = Queues()
    guard: Time = 0
    """Guard band: for so long after a day begins racks start no transmission, and none that would end later than so long
    before the day's end."""
    skew: Time = 0
    """The clock of each rack is wrong by up to this, before or behind, drawn once. Guard bands should be as long."""
    late: Literal["lost", "completes"] = "lost"
    """What becomes of a packet whose circuit goes while it is transmitted."""
    hops: int = Field(default=32, strict=True, ge=1, le=255)
    """Hops of a packet at most; what takes more is lost."""
    reroute: Time = 0
    """How long racks take to choose other ways when something fails or is well again."""
    failure: tuple[OcsFailure, ...] = ()
    """What fails for a time."""

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
        resolved["failures"] = [
            {
                "part": {name: list(part) if isinstance(part, tuple) else part},
                "from_ns": one.start,
                "to_ns": one.end,
                "locks_after_ns": one.locks_after,
            }
            for one in self.failure
            for name, part in one.part.items()
        ]
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
        for index, failure in enumerate(self.failure):
            yield from self._wrong_failure(f"network.failure.{index}", failure)

    def _wrong_failure(self, key: str, failure: OcsFailure) -> Iterator[PlanError]:
        if len(failure.part) != 1:
            yield PlanError(
                "names one part that fails: link, sender, receiver, rack, or switch", key=key
            )
        if failure.end is not None and failure.end <= failure.start:
            yield PlanError(
                f"{shown(TIME.format(failure.end))} must be later than its start at {TIME.format(failure.start)}",
                key=f"{key}.to",
                value=failure.end,
            )
        for name, part in failure.part.items():
            rack = part[0] if isinstance(part, tuple) else part if name == "rack" else 0
            if rack >= self.racks:
                yield PlanError(
                    f"there is no rack {rack} (racks 0..{self.racks - 1})", key=f"{key}.{name}"
                )

    def warnings(self, controls: set[str], week: int) -> Iterator[str]:
        """What flows with these congestion controls will not find here."""
        marks = any(queue.ecn_threshold is not None for queue in (self.queue.low, self.queue.bulk))
        if "dctcp" in controls and not marks:
            yield "flows use dctcp, but no queue of the network has an ecn_threshold: no packet will be marked"
        if "retcp" in controls:
            yield "flows use retcp, but racks of this network do not tell hosts of circuits: it will never hear of one"
        if self.skew > self.guard:
            yield (
                f"clocks are wrong by up to {TIME.format(self.skew)}, and guard bands are {TIME.format(self.guard)}: "
                "packets will be sent into the dark"
            )
