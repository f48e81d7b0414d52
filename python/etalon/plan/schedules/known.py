# SPDX-License-Identifier: MIT OR Apache-2.0
"""Perfect knowledge (Etalon'18, section 5.3): a week that is computed once, for a demand that the plan gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from etalon import _core
from etalon.errors import PlanError
from etalon.plan.base import Choice
from etalon.plan.network import Network
from etalon.plan.schedules.base import Windowed, text_of
from etalon.units import RATE, SIZE, TIME

Bytes = Annotated[int, Field(strict=True, ge=0)]
SCHEDULERS = tuple(name for name, _ in _core.schedulers() if name != "fixed")


class Known(Windowed):
    """Always the same week, computed for a demand."""

    which: ClassVar = 'of kind "fixed" with a demand'
    kind: Literal["fixed"] = "fixed"
    """A scheduler computes the week once."""
    demand: tuple[tuple[Bytes, ...], ...]
    """Demand in bytes: one row per source rack, or the name of a file with such rows."""
    scheduler: Annotated[str, Choice(SCHEDULERS)] = "solstice"
    """The scheduler that computes the week."""

    def resolve(self, network: Network, seed: int) -> dict[str, Any] | None:
        """The week as the core takes it."""
        return {"configurations": self.expand(network, seed)}

    def expand(self, network: Network, seed: int = 1) -> list[dict[str, Any]]:
        """The configurations of the week. Raises `PlanError` if there is no week for this demand."""
        from etalon import schedulers

        try:
            week = schedulers.compute(
                self.scheduler,
                self.demand,
                window=TIME.format(self.window),
                day=TIME.format(self.day),
                night=TIME.format(self.night),
                circuit=RATE.format(network.circuit.rate),
                packet=RATE.format(0 if network.circuits_only else network.packet.rate),
                threshold=SIZE.format(self.threshold),
                only_big=True,
                seed=seed,
            )
        except PlanError as error:
            raise PlanError(error.expected, key="schedule.demand") from None
        return [dict(configuration) for configuration in week.configurations]

    def problems(self, network: Network) -> Iterator[PlanError]:
        """What is wrong with this schedule in this network."""
        yield from super().problems(network)
        if len(self.demand) != network.racks:
            yield PlanError(
                f"the demand matrix is for {len(self.demand)} racks, but the network has {network.racks}",
                key="schedule.demand",
            )
        elif self.has_room:
            try:
                self.expand(network)
            except PlanError as error:
                yield error


def with_demand(table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The table with what the file of its demand holds in the file's place; paths start at `folder`."""
    name = table["demand"]
    text = text_of(folder / name, "schedule.demand")
    try:
        return {**table, "demand": _core.read_demand(text)}
    except ValueError as error:
        raise PlanError(f"{name}: {error}", key="schedule.demand") from None
