"""What carries flows: TCP, or what knows of networks that take turns (time-division networks, TDNs)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from etalon.plan.base import Kinds, Table
from etalon.units import Time


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


def _kind(value: Any) -> Any:
    return {"kind": value} if isinstance(value, str) else value


TRANSPORTS = Kinds("tcp", {"tcp": PlainTcp, "tdtcp": Tdtcp, "mptcp": Mptcp})

if TYPE_CHECKING:
    Transport: TypeAlias = PlainTcp | Tdtcp | Mptcp
else:
    Transport = Annotated[TRANSPORTS.annotation(), BeforeValidator(_kind)]
