"""What all tables of a plan share."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from etalon.units import problem, shown


class Table(BaseModel):
    """One table of a plan: immutable, and every key is known."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_by_alias=True,
        validate_by_name=True,
        serialize_by_alias=True,
        use_attribute_docstrings=True,
    )

    in_order: ClassVar[tuple[str, ...]] = ()
    """Keys whose values may be given alone, in this order: ("10Gbps", "5us") for {rate: "10Gbps", delay: "5us"}."""

    @model_validator(mode="before")
    @classmethod
    def _from_sequence(cls, value: Any) -> Any:
        if isinstance(value, (list, tuple)) and 0 < len(value) <= len(cls.in_order):
            return dict(zip(cls.in_order, value, strict=False))
        return value


def _not_text(value: Any) -> Any:
    if isinstance(value, str):
        raise problem(f"{shown(value)} must be a number of packets, like 16")
    return value


Count = Annotated[int, Field(strict=True, ge=1, le=1_000_000)]
"""A number of things: packets, flows."""
Queue = Annotated[int, BeforeValidator(_not_text), Field(strict=True, ge=1, le=1_000_000)]
"""A capacity in packets."""
Rack = Annotated[int, Field(strict=True, ge=0)]
"""The number of a rack, from 0. Whether it exists is checked with the whole plan."""
