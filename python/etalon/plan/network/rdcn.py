# SPDX-License-Identifier: MIT OR Apache-2.0
"""The hybrid switch: racks that a packet network joins and, in turn, circuits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from etalon.errors import PlanError
from etalon.plan.base import Queue, Rack, Table
from etalon.plan.network.base import GBPS, Circuits, Hosts, Passage, Racks
from etalon.plan.network.failure import PartFailure, resolve_failures
from etalon.units import US, Rate, Time, rounded


class PacketNetwork(Table):
    """An uplink and a downlink per rack around one packet switch with small internal queues (NSDI'20)."""

    in_order: ClassVar = ("rate", "delay")
    rate: Rate = 10 * GBPS
    """Rate of each uplink and of each downlink."""
    delay: Time = 5 * US
    """Propagation delay of an uplink, and of a downlink."""
    internal_queue: Queue = 3
    """Capacity in packets of the packet switch's queue of each (input, output)."""
    hold_queue: Queue = 5
    """Packets held per VOQ while the internal queue is full; models priority flow control."""

    def resolve(self) -> dict[str, Any]:
        """The network as the core takes it."""
        return {
            "rate_bps": self.rate,
            "up_delay_ns": self.delay,
            "down_delay_ns": self.delay,
            "internal_queue": self.internal_queue,
            "hold_queue": self.hold_queue,
        }


class CircuitNetwork(Table):
    """A crossbar without queues."""

    in_order: ClassVar = ("rate", "delay")
    rate: Rate = 80 * GBPS
    """Rate of a circuit."""
    delay: Time = 30 * US
    """Propagation delay from rack to rack."""

    def resolve(self) -> dict[str, Any]:
        """The network as the core takes it."""
        return {"rate_bps": self.rate, "delay_ns": self.delay}


class Resize(Table):
    """resize(s, b, tau) of NSDI'20 section 5.2: the VOQ grows to b packets tau before its pair's day."""

    packets: Queue = 50
    """The big capacity (b)."""
    before: Time = 600 * US
    """How long before the day the VOQ grows (tau)."""


class PairQueue(Table):
    """A rack pair whose VOQ has a capacity of its own."""

    src: Rack = Field(alias="from")
    """Source rack."""
    dst: Rack = Field(alias="to")
    """Destination rack."""
    packets: Queue
    """Capacity in packets."""


class Voq(Table):
    """The virtual output queue of every rack pair. A packet in transmission takes no room in it."""

    packets: Queue = 16
    """Capacity in packets; `voq = 16` is short for it."""
    resize: Resize | None = None
    """If set, the VOQ grows before its day."""
    pairs: tuple[PairQueue, ...] = ()
    """Rack pairs whose VOQs have a capacity of their own."""


class Marking(Table):
    """ECN: the VOQ marks a packet CE if it is longer than the threshold, that packet included (DCTCP)."""

    threshold: Queue = 10
    """In packets, while the VOQ has its ordinary capacity."""
    threshold_big: Queue = 31
    """In packets, while the VOQ is resized."""


class Ece(Table):
    """reTCP's signal: ECE on every packet from D to S while a circuit S -> D is up, or starts soon."""

    before: Time = 150 * US
    """How long before the day the signal begins."""


class Notify(Table):
    """ToR switches tell hosts which network leads to which rack (TDTCP, SIGCOMM'22 section 4.2)."""

    before: Time = 0
    """How long before a change hosts learn of it; at most the length of the shortest configuration. SIGCOMM'22's plans
    set 5us, a fitted value: the paper does not print it, but its throughput and queues agree there."""
    delay: Time = 0
    """From the ToR switch to the host."""
    jitter: Time = 0
    """Uniform random addition to the delay."""
    lost: float = Field(default=0.0, ge=0, le=1)
    """Share of notifications that do not arrive."""
    each: Time = 0
    """Time between the notifications of two connections of one host."""

    def resolve(self) -> dict[str, Any]:
        """The notification as the core takes it."""
        return {
            "before_ns": self.before,
            "delay_ns": self.delay,
            "jitter_ns": self.jitter,
            "lost_ppm": round(self.lost * 1_000_000),
            "each_ns": self.each,
        }


def _voq(value: Any) -> Any:
    alone = isinstance(value, (int, float, str)) and not isinstance(value, bool)
    return {"packets": value} if alone else value


class Network(Racks):
    """A reconfigurable data centre network: racks, each pair joined by a packet network and, in turn, a circuit."""

    which: ClassVar = 'of kind "rdcn"'
    kind: Literal["rdcn"] = "rdcn"
    """A reconfigurable data centre network."""
    racks: int = Field(default=3, strict=True, ge=2, le=1024)
    """Number of racks."""
    hosts: int = Field(default=16, strict=True, ge=1, le=1024)
    """Hosts a rack."""
    mtu: int = Field(default=9000, strict=True, ge=576, le=65535)
    """In bytes."""
    packet: PacketNetwork = PacketNetwork()
    circuit: CircuitNetwork = CircuitNetwork()
    circuits_only: bool = Field(default=False, strict=True)
    """Whether to leave out the packet network, so that packets wait for a circuit."""
    night: Literal["own", "all"] = "own"
    """When the packet network is dark: for each pair in the nights before the pair's own days, or for all pairs in all
    nights."""
    voq: Annotated[Voq, BeforeValidator(_voq)] = Voq()
    marking: Marking | None = None
    ece: Ece | None = None
    notify: Notify | None = None
    """How ToR switches tell hosts which network leads to which rack (TDTCP, SIGCOMM'22 section 4.2). Without this table
    they use these defaults, but only if a transport of the plan listens."""
    ack_bypass: Time | None = None
    """If set, segments without payload bypass the switch and take this long."""
    hold: bool = Field(default=False, strict=True)
    """Whether hosts start no transmission in nights, of which the schedule must be one week that never changes."""
    failure: tuple[PartFailure, ...] = ()
    """Parts that fail for a time. Uplink 0 is a rack's link to the packet network, uplink 1 its link to the circuit
    switch, and so on by kind of circuits; switch 0 is the packet network. Packets on a link that fails are lost; packets
    in VOQs wait."""
    reroute: Time = 0
    """How long ToR switches take to learn of a failure or of a recovery. Then the packet network serves the pairs that no
    circuit can join, also in their days."""
    host: Hosts = Hosts()

    def resolve(self) -> dict[str, Any]:
        """The network as the core takes it, but for its circuits, whose kinds the schedule has."""
        voq, resize = self.voq, self.voq.resize
        failures = {
            "failures": resolve_failures(self.failure),
            "reroute_ns": self.reroute,
        }
        own = (failures if self.failure else {}) | ({"hold": True} if self.hold else {})
        return own | {
            "packet": None if self.circuits_only else self.packet.resolve(),
            "night": self.night,
            "voq": {
                "packets": voq.packets,
                "resize": resize and {"packets": resize.packets, "in_advance_ns": resize.before},
                "pairs": [{"pair": [p.src, p.dst], "packets": p.packets} for p in voq.pairs],
            },
            "marking": self.marking and self.marking.model_dump(),
            "ece_in_advance_ns": self.ece.before if self.ece else None,
            "ack_bypass_ns": self.ack_bypass,
            "notify": self.notify and self.notify.resolve(),
        }

    @property
    def rates(self) -> tuple[int, int]:
        """Of the packet network, or what there is instead, and of a circuit."""
        circuit = self.circuit.rate
        return circuit if self.circuits_only else self.packet.rate, circuit

    def resolve_hosts(self) -> dict[str, Any]:
        """The hosts as the core takes them."""
        return self.host.resolve(self.racks, self.hosts, self.mtu)

    def passage(self, src: int, dst: int, circuits: Sequence[Circuits]) -> Passage:
        """The best of the networks: circuits that are always up, or the packet network; within a rack none."""
        if src == dst:
            return self.host.passage()
        ways = [(2 * self.packet.delay, self.packet.rate)] * (not self.circuits_only)
        ways += [(kind.delay, kind.rate) for kind in circuits]
        there = min((delay for delay, _ in ways), default=0)
        return self.host.passage(there, there, max((rate for _, rate in ways), default=None))

    def problems(self) -> Iterator[PlanError]:
        """What is wrong with its VOQs and failures."""
        voq = self.voq
        for key in ("packet", "night"):
            if self.circuits_only and key in self.model_fields_set:
                yield PlanError(
                    "network.circuits_only removes the packet network; leave this out",
                    key=f"network.{key}",
                )
        if voq.resize is not None and voq.resize.packets < voq.packets:
            yield PlanError(
                f"{voq.resize.packets} must be at least network.voq.packets, which is {voq.packets}",
                key="network.voq.resize.packets",
                value=voq.resize.packets,
            )
        seen: set[tuple[int, int]] = set()
        for index, pair in enumerate(voq.pairs):
            if pair.src == pair.dst or (pair.src, pair.dst) in seen:
                why = "is of one rack" if pair.src == pair.dst else "is given twice"
                yield PlanError(
                    f"the VOQ from rack {pair.src} to rack {pair.dst} {why}",
                    key=f"network.voq.pairs.{index}",
                )
            seen.add((pair.src, pair.dst))
            for end, rack in (("from", pair.src), ("to", pair.dst)):
                if rack >= self.racks:
                    yield PlanError(
                        f"there is no rack {rack} (racks 0..{self.racks - 1})",
                        key=f"network.voq.pairs.{index}.{end}",
                        value=rack,
                    )

        for index, one in enumerate(self.failure):
            yield from self._wrong_failure(f"network.failure.{index}", one)

    def _wrong_failure(self, key: str, one: PartFailure) -> Iterator[PlanError]:
        yield from one.problems(key, self.racks)
        for name, uplink in one.uplinks.items():
            if uplink == 0 and self.circuits_only:
                yield PlanError(
                    "network.circuits_only removes the packet network, to which uplink and switch 0 belong",
                    key=f"{key}.{name}",
                )
            elif uplink == 0 and one.locks_after is not None:
                yield PlanError(
                    "uplink and switch 0 are the packet network's, which has no circuits that could lock late",
                    key=f"{key}.locks_after",
                )

    def warnings(self, controls: set[str], week: int) -> Iterator[str]:
        """What flows with these congestion controls will not find here."""
        if "dctcp" in controls and self.marking is None:
            yield "flows use dctcp, but network.marking is not set: no packet will be marked"
        marking, resize = self.marking, self.voq.resize
        if "dctcp" in controls and marking is not None:
            longest = max((self.voq.packets, *(pair.packets for pair in self.voq.pairs)))
            if marking.threshold >= longest and (
                resize is None or marking.threshold_big >= resize.packets
            ):
                yield f"network.marking.threshold is {marking.threshold}, but VOQs hold {longest} packets: none will be marked"
        if "retcp" in controls and self.ece is None:
            yield "flows use retcp, but network.ece is not set: it will never learn of a circuit"
        if resize is not None and week and resize.before >= week:
            yield (
                f"network.voq.resize.before is {rounded(resize.before)}, as long as the week of "
                f"{rounded(week)} or longer: the VOQ will always be large"
            )
        if self.ece is not None and week and self.ece.before >= week:
            yield (
                f"network.ece.before is {rounded(self.ece.before)}, as long as the week of "
                f"{rounded(week)} or longer: hosts will always see the signal"
            )
