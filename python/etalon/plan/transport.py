"""What carries flows: TCP, what knows of networks that take turns (time-division networks, TDNs), or NDP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from etalon.plan.base import Kinds, Table
from etalon.units import Size, Time


class PlainTcp(Table):
    """TCP: one window, whichever network carries its segments."""

    which: ClassVar = 'of kind "tcp"'
    kind: Literal["tcp"] = "tcp"
    """TCP as all hosts have it."""


class Tdtcp(Table):
    """Time-division TCP (SIGCOMM'22): a state of the path for each network. The defaults are the paper's."""

    which: ClassVar = 'of kind "tdtcp"'
    kind: Literal["tdtcp"] = "tdtcp"
    """Time-division TCP."""
    relaxed: bool = Field(default=True, strict=True)
    """A hole of another network than the ACK's is not taken for lost at once (relaxed loss detection, section 3.4)."""
    pipe: Literal["own", "shared"] = "own"
    """What the window of a network limits: its own segments in flight, or those of all networks."""
    rtt: Literal["matched", "all"] = "matched"
    """Which round-trip times count: those of which data and ACK went by one network, or all."""
    update: Literal["pull", "push"] = "pull"
    """A connection looks which network there is when it sends or receives, or its host tells it at once (section 5.4)."""
    options: bool = Field(default=True, strict=True)
    """TD_CAPABLE and TD_DATA_ACK are in TCP's headers; both ends have to agree on the number of networks."""
    pace_burst: bool = Field(default=False, strict=True)
    """The first round trip after a change is paced (section 5.2)."""
    downgrade_at: Time | None = None
    """When senders become plain TCP, if ever."""

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
    """How many; at most one for each network."""
    scheduler: Literal["tdm", "mainline"] = "tdm"
    """Which subflow gets data: that of the network of the moment (tdm_schd of SIGCOMM'22), or as Linux chooses."""
    acks: Literal["any", "pinned"] = "any"
    """ACKs are sent at any time, or only while the network of their subflow is there (section 3.3)."""
    reinject: bool = Field(default=False, strict=True)
    """What is not acknowledged when the network changes is sent again on the next one's subflow (section 2.2); by tdm only."""

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


class Ndp(Table):
    """NDP (SIGCOMM 2017): senders push a first window, receivers pull the rest, and switches trim what they cannot hold.

    The defaults are the paper's. Opera's authors (NSDI 2020) ran it with `pacer = "flow"`, `pull_bytes = "1436B"`,
    `pulls = "each"`, `timeout = "never"` and `padded = true`, and took a flow as complete once it was `"acked"`.
    """

    which: ClassVar = 'of kind "ndp"'
    kind: Literal["ndp"] = "ndp"
    """NDP. Flows need no handshake, have no congestion control, and spray their packets over all paths."""
    window: int = Field(default=30, strict=True, ge=1, le=65535)
    """Packets that a sender pushes unasked."""
    payload: Size | None = None
    """Of a full packet; without it, an MTU less the header."""
    header: Size = 64
    """On the wire, all layers together: of ACKs, NACKs, pulls, and of what is left of a trimmed packet."""
    padded: bool = Field(default=False, strict=True)
    """The last packet of a flow is as long as its first."""
    pacer: Literal["host", "flow"] = "host"
    """Who spaces pulls: the receiving host for all its flows in turn, or each flow for itself."""
    pull_bytes: Size | None = None
    """Pulls are as far apart as so many bytes on the receiver's link; without it, a full packet with its header."""
    pulls: Literal["needed", "each"] = "needed"
    """What entitles a flow to a pull: each packet that arrives, but no more than are missing; or each."""
    timeout: Time | Literal["never"] = 1_000_000
    """A packet without any answer is sent again after this, and after twice as long each time."""
    resends_last: bool = Field(default=False, strict=True)
    """A sender that has sent all of a flow sends trimmed packets again without being asked."""
    paths: int | None = Field(default=None, strict=True, ge=1, le=65535)
    """Packets take so many paths in turn, in a random order that is drawn for each round; without it, a random path each."""
    completes: Literal["received", "acked"] = "received"
    """When a flow is complete: when its last byte has arrived, or when its sender knows of that."""

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


def _kind(value: Any) -> Any:
    return {"kind": value} if isinstance(value, str) else value


TRANSPORTS = Kinds("tcp", {"tcp": PlainTcp, "tdtcp": Tdtcp, "mptcp": Mptcp, "ndp": Ndp})

if TYPE_CHECKING:
    Transport: TypeAlias = PlainTcp | Tdtcp | Mptcp | Ndp
else:
    Transport = Annotated[TRANSPORTS.annotation(), BeforeValidator(_kind)]
