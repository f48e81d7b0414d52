"""The `[network]` table: the hybrid switch with its hosts, or a plain drop-tail path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from etalon.plan.base import Count, Kinds, Queue, Rack, Table
from etalon.units import US, Rate, Time

GBPS = 1_000_000_000


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
    """Packets held per VOQ for a full internal queue; stands for priority flow control."""


class CircuitNetwork(Table):
    """A crossbar without queues."""

    in_order: ClassVar = ("rate", "delay")
    rate: Rate = 80 * GBPS
    """Rate of a circuit."""
    delay: Time = 30 * US
    """Propagation delay from rack to rack."""


class Hosts(Table):
    """The link and the delay of every end host, each way."""

    in_order: ClassVar = ("rate", "delay", "jitter")
    rate: Rate = 40 * GBPS
    """Rate of the link between a host and its rack."""
    delay: Time = 2 * US
    """Delay between TCP and the wire."""
    jitter: Time = 1 * US
    """Uniform random addition to the delay, without reordering. Exact timing would lock flows out."""
    downlink_queue: int | None = Field(default=None, strict=True, ge=1, le=1_000_000)
    """Packets that fit into the queue of the link from a ToR switch to a host, which is as fast as the host's own, the one in
    transmission included. Without it, packets reach their hosts as they leave the network, as on the papers' testbeds."""


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
    """The virtual output queue of every rack pair. A packet in transmission does not count."""

    packets: Queue = 16
    """Capacity in packets; `voq = 16` is short for it."""
    resize: Resize | None = None
    """If set, the VOQ grows before its day."""
    pairs: tuple[PairQueue, ...] = ()
    """Rack pairs whose VOQs have a capacity of their own."""


class Marking(Table):
    """ECN: a packet is marked CE if, with it, the VOQ is longer than the threshold (DCTCP)."""

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

    before: Time = 5 * US
    """How long before a change it is told; at most as long as the shortest configuration. That it is 5us is inferred: with it,
    both the throughput and the queues that are published hold."""
    delay: Time = 0
    """From the ToR switch to the host."""
    jitter: Time = 0
    """Uniform random addition to the delay."""
    lost: float = Field(default=0.0, ge=0, le=1)
    """Share of notifications that do not arrive."""
    each: Time = 0
    """From one connection of a host that hears of it to the next."""


def _voq(value: Any) -> Any:
    alone = isinstance(value, (int, float, str)) and not isinstance(value, bool)
    return {"packets": value} if alone else value


class Network(Table):
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
    voq: Annotated[Voq, BeforeValidator(_voq)] = Voq()
    marking: Marking | None = None
    ece: Ece | None = None
    notify: Notify | None = None
    ack_bypass: Time | None = None
    """If set, segments without payload skip the switch and take this long."""
    host: Hosts = Hosts()

    @property
    def tdns(self) -> int:
        """How many networks take turns: the packet network, and circuits."""
        return 2


class Stage(Table):
    """A drop-tail queue, a transmitter and a delay. On a return path the rate may be left out: a pure delay."""

    rate: Rate | None = None
    """Rate of the transmitter."""
    queue: Count | None = None
    """Capacity in packets; without it the queue has no bound."""
    delay: Time = 0
    """Propagation delay behind the transmitter."""


class Dumbbell(Table):
    """Hosts of rack 0 send to hosts of rack 1 over one chain of drop-tail queues. No circuits, no schedule."""

    which: ClassVar = 'of kind "dumbbell"'
    kind: Literal["dumbbell"] = "dumbbell"
    """A chain of drop-tail queues."""
    hosts: int = Field(default=16, strict=True, ge=1, le=1024)
    """Hosts at each end."""
    mtu: int = Field(default=9000, strict=True, ge=576, le=65535)
    """In bytes."""
    path: tuple[Stage, ...] = Field(
        default=(Stage.model_validate({"rate": "10Gbps", "queue": 100, "delay": "30us"}),),
        min_length=1,
    )
    """The queues from sender to receiver, in order; each has a rate."""
    return_path: tuple[Stage, ...] | None = None
    """The queues back; without it, one delay as long as the path's."""
    host: Hosts = Hosts()

    @property
    def racks(self) -> int:
        """The two ends."""
        return 2

    @property
    def tdns(self) -> int:
        """One network."""
        return 1


NETWORKS = Kinds("rdcn", {"rdcn": Network, "dumbbell": Dumbbell})

if TYPE_CHECKING:
    AnyNetwork: TypeAlias = Network | Dumbbell
else:
    AnyNetwork = NETWORKS.annotation()
