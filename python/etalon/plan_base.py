"""What all tables of a plan share."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field


class Table(BaseModel):
    """One table of a plan: immutable, and every key is known."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_by_alias=True,
        validate_by_name=True,
        serialize_by_alias=True,
    )


def from_sequence(*names: str) -> Any:
    """A validator that also takes ("10Gbps", "5us") for {rate: "10Gbps", delay: "5us"}."""

    def read(value: Any) -> Any:
        if isinstance(value, (list, tuple)) and len(value) <= len(names):
            return dict(zip(names, value, strict=False))
        return value

    return read


Count = Annotated[int, Field(strict=True, ge=1, le=1_000_000)]
"""A number of things: packets, flows."""
Queue = Annotated[int, Field(strict=True, ge=1, le=1_000_000)]
"""A capacity in packets."""
Rack = Annotated[int, Field(strict=True, ge=0)]
"""The number of a rack, from 0. Whether it exists is checked with the whole plan."""
