# SPDX-License-Identifier: MIT OR Apache-2.0
"""Networks of switches with a queue in front of every link: what trees and leaf-spine networks share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, ValidationInfo, field_validator

from etalon.errors import PlanError
from etalon.plan.base import Queue, Table
from etalon.plan.network.base import GBPS, Circuits, Jitter, Passage, Racks
from etalon.plan.otcp.equations import PathInputs
from etalon.units import TIME, US, Rate, Time, shown

HANDED_OVER = 1000 * GBPS
"""What a host gives its packets to a queue of its own at, where it has one: their links' rate comes behind that."""
MOST_NUMBERS = 65535
"""Of switches and hosts together."""


class Layer(Table):
    """Links of one layer, each direction alike, and the queue in front of every one."""

    in_order: ClassVar = ("rate", "delay", "queue", "ecn_threshold")
    rate: Rate = 1 * GBPS
    """Rate of a link."""
    delay: Time = 100 * US
    """Propagation delay of a link."""
    queue: Queue = 60
    """Capacity of a port's queue in packets, the one in transmission included."""
    ecn_threshold: Queue | None = None
    """A queue longer than this marks a packet CE, that packet included (DCTCP); without it, none is marked."""

    def resolve(self) -> dict[str, Any]:
        """The links as the core takes them."""
        return {
            "rate_bps": self.rate,
            "delay_ns": self.delay,
            "queue_packets": self.queue,
            "mark_above_packets": self.ecn_threshold,
        }


class Upper(Layer):
    """Links of a layer to switches above, with which every switch below is connected: by flows, spread over them."""

    switches: int = Field(default=1, strict=True, ge=1, le=256)
    """Number of switches above: aggregation switches of each pod, core switches, or spines. A seeded hash assigns each
    flow to one (ECMP)."""


class Failure(Table):
    """A link between two switches that is down for a time: what is queued there or under way is lost."""

    link: tuple[str, str]
    """Its two ends, the lower first: "r0" is the ToR switch of rack 0, "p0a1" aggregation switch 1 of pod 0, "c0" core
    switch 0, "s0" spine 0 of a leaf-spine network."""
    start: Time = Field(alias="from")
    """When the link goes down."""
    end: Time | None = Field(default=None, alias="to")
    """When the link comes up again; by default never."""


class SwitchedHosts(Table):
    """Delay and jitter of every host, each way, beside its link's."""

    in_order: ClassVar = ("delay", "jitter")
    delay: Time = 0
    """Delay between TCP and the wire."""
    jitter: Jitter = 1 * US
    """Uniform random addition to the delay, without reordering. Exact timing would lock flows out."""


class Switched(Racks):
    """Switches, links and next hops; each kind says which."""

    if TYPE_CHECKING:  # each kind has its own defaults and words for them
        racks: int
        rack: Layer

    carries_within_racks: ClassVar = True
    host: SwitchedHosts = SwitchedHosts()
    delay_in_queue: bool = Field(default=False, strict=True)
    """Whether links delay packets before they transmit them, and count them in the queue's capacity, as Mininet's links
    do; hosts then have such a queue as well."""

    reroute: Time = 0
    """How long switches take to reroute when a link goes down or comes up."""
    failure: tuple[Failure, ...] = ()
    """Links that are down for a time."""

    @field_validator("rack", "pod", "core", "spine", mode="before", check_fields=False)
    @classmethod
    def _like_default(cls, given: Any, info: ValidationInfo) -> Any:
        """What a layer does not say is as it is without the layer."""
        default: Layer = cls.model_fields[info.field_name or ""].default
        return default.completing(given)

    @property
    def layers(self) -> Mapping[str, Layer]:
        """The links by layer, from the hosts up."""
        raise NotImplementedError

    @property
    def layers_by_distance(self) -> tuple[str, str, str]:
        """The highest layer between hosts of one rack, of one pod, and of two."""
        raise NotImplementedError

    @property
    def switches(self) -> dict[str, int]:
        """Names of switches, and their numbers in the core."""
        raise NotImplementedError

    def joins(self, below: str, above: str) -> bool:
        """Whether there is a link between these switches."""
        raise NotImplementedError

    def layer(self, src: int, dst: int) -> str:
        """The highest layer that packets from rack to rack pass."""
        raise NotImplementedError

    def resolve(self) -> dict[str, Any]:
        """The network as the core takes it."""
        resolved: dict[str, Any] = {name: layer.resolve() for name, layer in self.layers.items()}
        resolved["delay_in_queue"] = self.delay_in_queue
        if self.failure:
            ends = [[self.switches[end] for end in failure.link] for failure in self.failure]
            resolved["reroute_ns"] = self.reroute
            resolved["failures"] = [
                {"below": below, "above": above, "from_ns": failure.start, "to_ns": failure.end}
                for (below, above), failure in zip(ends, self.failure, strict=True)
            ]
        return resolved

    def resolve_hosts(self) -> dict[str, Any]:
        """The hosts as the core takes them: the way up is their NIC's, or a queue's behind it."""
        behind = self.delay_in_queue
        return {
            "racks": self.racks,
            "per_rack": self.hosts,
            "mtu": self.mtu,
            "rate_bps": HANDED_OVER if behind else self.rack.rate,
            "delay_ns": self.host.delay + (0 if behind else self.rack.delay),
            "jitter_ns": self.host.jitter,
            "downlink_packets": None,
        }

    def passage(self, src: int, dst: int, circuits: Sequence[Circuits]) -> Passage:
        """Up to the layer that joins the racks, and down."""
        passed = self._passed(self.layer(src, dst))
        delay = 2 * sum(layer.delay for layer in passed) + self.host.delay
        return Passage(delay, delay, min(layer.rate for layer in passed))

    def _passed(self, layer: str) -> tuple[Layer, ...]:
        """The layers up to this one."""
        names = list(self.layers)
        return tuple(self.layers[name] for name in names[: names.index(layer) + 1])

    def otcp_inputs(self, layer: str, alpha: int) -> PathInputs:
        """What OTCP's equations take of the way between hosts that this layer joins: there and back are alike. Queues are those
        of switches: two of a layer each way, but one to a host."""
        passed = self._passed(layer)
        rate = min(link.rate for link in passed)
        one_way = 2 * sum(link.delay for link in passed) + self.host.delay
        packet = 8 * 1_000_000_000 * self.mtu
        drains = [link.queue * packet // link.rate for link in passed]
        return PathInputs(
            rtt_ns=2 * one_way,
            queueing_ns=2 * (2 * sum(drains) - drains[0]),
            rate_bps=rate,
            rate_back_bps=rate,
            alpha=alpha,
            alpha_back=alpha,
        )

    def problems(self) -> Iterator[PlanError]:
        """What is wrong with its size, and with failures."""
        switches = len(self.switches)
        if switches + self.racks * self.hosts > MOST_NUMBERS:
            yield PlanError(
                f"{self.racks * self.hosts} hosts and {switches} switches are too many: at most {MOST_NUMBERS} together",
                key="network.hosts",
                value=self.hosts,
            )
        for index, failure in enumerate(self.failure):
            yield from self._wrong_failure(index, failure)

    def _wrong_failure(self, index: int, failure: Failure) -> Iterator[PlanError]:
        """That there is no such link, that it comes up before it fails, or that it is down already."""
        key = f"network.failure.{index}"
        if not self.joins(*failure.link):
            yield PlanError(
                f"there is no link from {shown(failure.link[0])} up to {shown(failure.link[1])}; one is "
                f'["r0", {shown(self._above_first)}]',
                key=f"{key}.link",
            )
        if failure.end is not None and failure.end <= failure.start:
            yield PlanError(
                f"{shown(TIME.format(failure.end))} must be later than its start at {TIME.format(failure.start)}",
                key=f"{key}.to",
                value=failure.end,
            )
        for other in self.failure[:index]:
            apart = (other.end is not None and other.end <= failure.start) or (
                failure.end is not None and failure.end <= other.start
            )
            if other.link == failure.link and not apart:
                yield PlanError("the link is already down then", key=f"{key}.from")

    @property
    def _above_first(self) -> str:
        """A switch above the first rack's."""
        return next(name for name in self.switches if self.joins("r0", name))

    def warnings(self, controls: set[str], week: int) -> Iterator[str]:
        """That nothing is marked."""
        if "dctcp" in controls and all(
            layer.ecn_threshold is None for layer in self.layers.values()
        ):
            yield "flows use dctcp, but no layer of the network has an ecn_threshold: no packet will be marked"
        if "retcp" in controls:
            yield "flows use retcp, but a network of switches has no circuits: it will never hear of one"
