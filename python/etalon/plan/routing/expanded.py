"""Ways through the time-expanded graph: earliest arrival, and uniform cost."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from etalon.plan.routing.base import Way


class Earliest(Way):
    """Whatever arrives first, waiting for circuits included: hop on, hop off."""

    which: ClassVar = 'of kind "earliest"'
    about: ClassVar = (
        "whatever arrives first, waiting included: the time-expanded graph's shortest way"
    )
    kind: Literal["earliest"] = "earliest"
    """The way that arrives first."""
    hops_per_slice: int = Field(default=1, strict=True, ge=1, le=8)
    """Hops within one slice on which each rack counts."""

    def resolve(self) -> Any:
        """As the core takes it."""
        return {"earliest": {"hops_per_slice": self.hops_per_slice}}


class Ucmp(Way):
    """Ways of the least uniform cost: the time that a way takes, and for each hop a share of the time that its flow takes to
    transmit. Short flows hop on, long ones wait (UCMP, SIGCOMM 2024)."""

    which: ClassVar = 'of kind "ucmp"'
    about: ClassVar = "time and hops in one cost, by a flow's size: UCMP's"
    kind: Literal["ucmp"] = "ucmp"
    """The way that costs least."""
    alpha: float = Field(default=0.5, ge=0, le=1000)
    """The share of a flow's transmission time that a hop costs."""
    hops: int = Field(default=4, strict=True, ge=1, le=8)
    """Hops at most."""
    hops_per_slice: int = Field(default=1, strict=True, ge=1, le=8)
    """Hops within one slice on which each rack counts."""

    def resolve(self) -> Any:
        """As the core takes it."""
        return {
            "ucmp": {
                "alpha_milli": round(1000 * self.alpha),
                "hops": self.hops,
                "hops_per_slice": self.hops_per_slice,
            }
        }
