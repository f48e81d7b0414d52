# SPDX-License-Identifier: MIT OR Apache-2.0
"""The `[routing]` table itself: classes and the cutoff between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from pydantic import BeforeValidator, model_validator

from etalon.circuits import Circuits
from etalon.errors import PlanError
from etalon.plan.base import Table
from etalon.plan.routing.base import Way
from etalon.plan.routing.direct import Direct
from etalon.plan.routing.given import with_file
from etalon.plan.routing.ways import WAYS
from etalon.plan.routing.written import with_text
from etalon.units import Size

CLASSES = ("low", "bulk")
"""The classes of packets, those that go first at the front."""


def _kind(value: Any) -> Any:
    return {"kind": value} if isinstance(value, str) else value


if TYPE_CHECKING:
    AnyWay: TypeAlias = (
        Way | None
    )  # no union with None: pydantic finds what it needs at the field itself
else:
    AnyWay = Annotated[WAYS.annotation(), BeforeValidator(_kind)]


class Routing(Table):
    """How packets are routed, by class; `routing = { kind = "vlb" }` is short for one class. Only in networks of kind
    "ocs"."""

    low: AnyWay = None
    """Routing of short flows, whose packets have priority."""
    bulk: AnyWay = None
    """Routing of long flows."""
    cutoff: Size | None = None
    """Flows of at least this length are of class `bulk`, others of class `low`; without it, all flows are `low` if there
    are both classes."""

    @model_validator(mode="before")
    @classmethod
    def _of_one_class(cls, value: Any) -> Any:
        return (
            {"low": value}
            if isinstance(value, str) or (isinstance(value, Mapping) and "kind" in value)
            else value
        )

    @property
    def classes(self) -> dict[str, Way]:
        """The classes that there are, in their order; one that is direct, if none is given."""
        given = {name: way for name in CLASSES if (way := getattr(self, name)) is not None}
        return given or {"low": Direct()}

    def problems(self, net: Circuits, racks: int, has_packet_network: bool) -> Iterator[PlanError]:
        """What is wrong with it in a network."""
        if self.cutoff is not None and len(self.classes) < 2:
            yield PlanError(
                "separates the classes low and bulk, but the plan routes only one",
                key="routing.cutoff",
            )
        for name, way in self.classes.items():
            if way.needs_packet_network and not has_packet_network:
                yield PlanError(
                    "the plan has no packet network: set network.packet, or use another kind",
                    key=f"routing.{name}",
                )
            else:
                yield from way.problems(f"routing.{name}", net, racks)


def with_tables(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The values of a plan with what the files of its routing hold in their place, and the source of functions; paths start
    at `folder`."""
    if "routing" not in values:
        return dict(values)
    routing = with_text(values["routing"], folder, "routing")
    if not isinstance(routing, Mapping):
        return {**values, "routing": routing}
    made = dict(routing)
    if isinstance(made.get("file"), str):
        made = with_file(made, folder, "routing")
    for name in CLASSES:
        if name not in made:
            continue
        way = made[name] = with_text(made[name], folder, f"routing.{name}")
        if isinstance(way, Mapping) and isinstance(way.get("file"), str):
            made[name] = with_file(way, folder, f"routing.{name}")
    return {**values, "routing": made}
