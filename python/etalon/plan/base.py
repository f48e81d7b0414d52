# SPDX-License-Identifier: MIT OR Apache-2.0
"""What all tables of a plan share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Union

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    model_validator,
)
from pydantic_core import core_schema

from etalon.errors import PlanError
from etalon.units import problem, shown


class Table(BaseModel):
    """One table of a plan: immutable, and every key is known."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_by_alias=True,
        validate_by_name=True,
        serialize_by_alias=True,
        defer_build=True,
    )

    in_order: ClassVar[tuple[str, ...]] = ()
    """Keys whose values may be given alone, in this order: ("10Gbps", "5us") for {rate: "10Gbps", delay: "5us"}."""
    which: ClassVar[str] = ""
    """Where a table may be of several kinds, which this is: 'of kind "strobe"'."""
    aside: ClassVar[str] = ""
    """What follows `which` where the table is given keys of another kind."""

    def __repr__(self) -> str:
        """What was given, as a plan has it."""
        given = self.model_dump(mode="json", exclude_none=True, exclude_unset=True)
        return f"{type(self).__name__}({', '.join(f'{key}={shown(value)}' for key, value in given.items())})"

    def __str__(self) -> str:
        return repr(self)

    @model_validator(mode="before")
    @classmethod
    def _from_sequence(cls, value: Any) -> Any:
        return cls._by_key(value)

    @classmethod
    def _by_key(cls, value: Any) -> Any:
        """Values that were given alone, with their keys."""
        if isinstance(value, (list, tuple)) and 0 < len(value) <= len(cls.in_order):
            return dict(zip(cls.in_order, value, strict=False))
        return value

    def completing(self, given: Any) -> Any:
        """What is given of a table of which this is the default: what it does not say is as it is here."""
        if isinstance(given, type(self)):
            given = given.model_dump(mode="json", exclude_unset=True)
        given = self._by_key(given)
        own = self.model_dump(mode="json", exclude_unset=True)
        return {**own, **given} if isinstance(given, Mapping) else given


def _bare(name: object) -> str:
    return str(name).lower().translate({ord(mark): None for mark in "-_ "})


@dataclass(frozen=True)
class Kinds:
    """The classes that a table may be of, told apart by its key `kind`."""

    default: str
    """The kind of a table that does not say."""
    classes: Mapping[str, type[Table]]
    """By kind."""
    variants: Mapping[tuple[str, str], type[Table]] = field(default_factory=dict)
    """Classes of tables of a kind that have a certain key."""
    also: Mapping[str, str] = field(default_factory=dict)
    """Other names that the field has for kinds."""
    marks: Mapping[str, str] = field(default_factory=dict)
    """By what is in the name of a kind that the user defines: the kind that stands for all such."""

    def meant(self, name: object) -> str | None:
        """The kind that has this other name, with or without hyphens; None if no kind has."""
        return next((kind for one, kind in self.also.items() if _bare(one) == _bare(name)), None)

    def tags(self) -> Iterator[tuple[str, type[Table]]]:
        """What names each class in pydantic's errors."""
        for kind, table in self.classes.items():
            yield kind, table
            for (of, key), variant in self.variants.items():
                if of == kind:
                    yield f"{kind} with {key}", variant

    def all_classes(self) -> Iterator[type[Table]]:
        """All of them; one that is of several kinds comes more than once."""
        return (table for _, table in self.tags())

    def tag(self, value: Any) -> str:
        """The tag of a table, or of one that was read already."""
        given = (
            value if isinstance(value, Mapping) else dict(value) if isinstance(value, Table) else {}
        )
        kind = str(given.get("kind", self.default))
        kind = next((stands for mark, stands in self.marks.items() if mark in kind), kind)
        keys = (key for of, key in self.variants if of == kind and key in given)
        return next((f"{kind} with {key}" for key in keys), kind)

    def annotation(self) -> Any:
        """The type of a field with such a table."""
        parts = tuple(Annotated[table, Tag(tag)] for tag, table in self.tags())
        return Annotated[Union[parts], Discriminator(self.tag), self]  # noqa: UP007


def said_of_file(error: PlanError, name: str, key: str) -> PlanError:
    """What is wrong with the file of this name that a plan gives at a key; with the line, if it says one."""
    line = (error.file or "").rpartition(":")[2]
    where = f"{shown(name)}, line {line}" if line.isdecimal() else shown(name)
    return PlanError(f"{where}: {error.expected}", key=key)


@dataclass(frozen=True)
class Choice:
    """Text that is one of these, where they come from a registry."""

    names: tuple[str, ...]

    def __get_pydantic_core_schema__(self, _source: Any, _handler: Any) -> core_schema.CoreSchema:
        return core_schema.literal_schema(list(self.names))


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
Reference = Annotated[str, StringConstraints(pattern=r"^[^:/\\]+\.py:[A-Za-z_][A-Za-z0-9_]*$")]
"""Code of the user's: its file, without folders, and a name in it."""
