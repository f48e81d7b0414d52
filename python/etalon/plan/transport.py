# SPDX-License-Identifier: MIT OR Apache-2.0
"""What carries flows: TCP, what knows of networks that take turns (time-division networks, TDNs), NDP, or RotorLB."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from etalon.errors import PlanError
from etalon.plan.base import Kinds, Table
from etalon.units import Duration, Size, Time

ETHERNET = 14
"""Bytes of a frame beyond the MTU."""


class PlainTcp(Table):
    """TCP: one window, whichever network carries its segments."""

    which: ClassVar = 'of kind "tcp"'
    kind: Literal["tcp"] = "tcp"
    """Plain TCP."""


class Tdtcp(Table):
    """Time-division TCP (SIGCOMM'22): a state of the path for each network. The defaults are the paper's."""

    which: ClassVar = 'of kind "tdtcp"'
    kind: Literal["tdtcp"] = "tdtcp"
    """Time-division TCP."""
    relaxed: bool = Field(default=True, strict=True)
    """Whether an ACK of one network leaves holes of another unmarked for a while (relaxed loss detection, section 3.4)."""
    pipe: Literal["own", "shared"] = "own"
    """The segments that a network's window limits: its own in flight, or those of all networks."""
    rtt: Literal["matched", "all"] = "matched"
    """The RTT samples that count: only those whose data and ACK used the same network, or all."""
    update: Literal["pull", "push"] = "pull"
    """"pull": a connection checks its network when it sends or receives; "push": its host tells it at once (section 5.4)."""
    options: bool = Field(default=True, strict=True)
    """Whether TCP's headers carry TD_CAPABLE and TD_DATA_ACK; both ends must then agree on the number of networks."""
    pace_burst: bool = Field(default=False, strict=True)
    """Whether to pace the first round trip after a change (section 5.2)."""
    downgrade_at: Time | None = None
    """When senders fall back to plain TCP; by default never."""

    def resolve(self, controls: tuple[str, ...]) -> dict[str, Any]:
        """As the core takes it; `controls` are the congestion controls of its networks, if there are several."""
        return {
            "tdtcp": {
                "cc": list(controls),
                "relaxed": self.relaxed,
                "pipe": self.pipe,
                "rtt": self.rtt,
                "update": self.update,
                "options": self.options,
                "pace_burst": self.pace_burst,
                "downgrade_at_ns": self.downgrade_at,
            }
        }


class Mptcp(Table):
    """Multipath TCP (RFC 8684) with a subflow for each network."""

    which: ClassVar = 'of kind "mptcp"'
    kind: Literal["mptcp"] = "mptcp"
    """Multipath TCP."""
    subflows: int = Field(default=2, strict=True, ge=1, le=8)
    """Number of subflows; at most one for each network. With `scheduler = "mainline"` and `acks = "any"` there may be more,
    even if the plan has one network: each has its own ports, and so its own path where routing tells flows apart."""
    scheduler: Literal["tdm", "mainline"] = "tdm"
    """"tdm" gives data to the subflow of the active network (tdm_schd of SIGCOMM'22); "mainline" is Linux's scheduler."""
    acks: Literal["any", "pinned"] = "any"
    """"any": ACKs leave at any time; "pinned": only while the network of their subflow is active (section 3.3)."""
    reinject: bool = Field(default=False, strict=True)
    """Whether unacknowledged data is sent again on the next subflow when the network changes (section 2.2); "tdm" only."""

    @property
    def needs_tdns(self) -> bool:
        """Whether each subflow needs a network to belong to."""
        return self.scheduler == "tdm" or self.acks == "pinned"

    def resolve(self) -> dict[str, Any]:
        """As the core takes it."""
        return {
            "mptcp": {
                "subflows": self.subflows,
                "scheduler": self.scheduler,
                "acks": self.acks,
                "reinject": self.reinject,
            }
        }


def oversized(key: str, transport: Ndp | RotorLb, mtu: int) -> Iterator[PlanError]:
    """That a full packet of a transport does not fit into a frame."""
    header, payload = transport.header, transport.payload
    most = mtu + ETHERNET - header
    if most < 1 or (payload is None and header >= mtu):
        yield PlanError(
            f"headers of {header} bytes leave no room for payload: the MTU is {mtu}",
            key=f"{key}.header",
        )
    elif payload is not None and payload > most:
        yield PlanError(
            f"packets of {payload} bytes with headers of {header} are longer than frames of an MTU of {mtu}",
            key=f"{key}.payload",
        )


class Ndp(Table):
    """NDP (SIGCOMM 2017): senders push a first window, receivers pull the rest, and switches trim what they cannot hold.

    The defaults are the paper's. Opera's authors (NSDI 2020) ran it with `pacer = "flow"`, `pull_bytes = "1436B"`,
    `pulls = "each"`, `timeout = "never"` and `padded = true`, and took a flow as complete once it was `"acked"`.
    """

    which: ClassVar = 'of kind "ndp"'
    kind: Literal["ndp"] = "ndp"
    """NDP. Flows need no handshake, have no congestion control, and spray their packets over all paths."""
    window: int = Field(default=30, strict=True, ge=1, le=65535)
    """Number of packets that a sender pushes before the first pull."""
    payload: Size | None = None
    """Payload of a full packet; by default the MTU less the header."""
    header: Size = 64
    """Length on the wire, all layers together, of ACKs, NACKs, pulls and trimmed packets."""
    padded: bool = Field(default=False, strict=True)
    """Whether the last packet of a flow is padded to the length of its first."""
    pacer: Literal["host", "flow"] = "host"
    """Which pacer spaces pulls: one per receiving host, which serves its flows in turn, or one per flow."""
    pull_bytes: Size | None = None
    """Pulls are spaced by the time of this many bytes on the receiver's link; by default a full packet with its header."""
    pulls: Literal["needed", "each"] = "needed"
    """"needed": each arriving packet triggers a pull, but no more than packets are missing; "each": every one does."""
    timeout: Duration | Literal["never"] = 1_000_000
    """A packet without an answer is sent again after this time, which then doubles each time."""
    resends_last: bool = Field(default=False, strict=True)
    """Whether a sender that has sent its whole flow retransmits trimmed packets without a pull."""
    paths: int | None = Field(default=None, strict=True, ge=1, le=65535)
    """Number of paths that packets take in turn, in a random order drawn for each round; by default each takes a random
    path."""
    completes: Literal["received", "acked"] = "received"
    """A flow is complete when its last byte has arrived, or when its sender has the ACK of it."""

    def resolve(self) -> dict[str, Any]:
        """As the core takes it."""
        return {
            "ndp": {
                "window": self.window,
                "payload_bytes": self.payload,
                "header_bytes": self.header,
                "padded": self.padded,
                "pacer": self.pacer,
                "pull_bytes": self.pull_bytes,
                "pulls": self.pulls,
                "timeout_ns": None if self.timeout == "never" else self.timeout,
                "resends_last": self.resends_last,
                "paths": self.paths,
                "completes": self.completes,
            }
        }


class RotorLb(Table):
    """RotorLB (RotorNet, SIGCOMM 2017, section 3.2): hosts keep packets until their rack has a circuit to the
    destination, or to a rack with a host that relays them. Its flows belong to the class whose routing is `"rotorlb"`."""

    which: ClassVar = 'of kind "rotorlb"'
    kind: Literal["rotorlb"] = "rotorlb"
    """RotorLB. Flows need no handshake and have no congestion control."""
    payload: Size | None = None
    """Payload of a full packet; by default the MTU less the header."""
    header: Size = 64
    """Length of the headers on the wire, all layers together."""
    padded: bool = Field(default=False, strict=True)
    """Whether the last packet of a flow is padded to the length of its first."""

    def resolve(self) -> dict[str, Any]:
        """As the core takes it."""
        return {
            "rotorlb": {
                "payload_bytes": self.payload,
                "header_bytes": self.header,
                "padded": self.padded,
            }
        }


def _kind(value: Any) -> Any:
    return {"kind": value} if isinstance(value, str) else value


TRANSPORTS = Kinds(
    "tcp", {"tcp": PlainTcp, "tdtcp": Tdtcp, "mptcp": Mptcp, "ndp": Ndp, "rotorlb": RotorLb}
)

if TYPE_CHECKING:
    Transport: TypeAlias = PlainTcp | Tdtcp | Mptcp | Ndp | RotorLb
else:
    Transport = Annotated[TRANSPORTS.annotation(), BeforeValidator(_kind)]
