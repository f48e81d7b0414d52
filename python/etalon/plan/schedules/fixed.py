"""A week whose configurations are given, in the plan or in a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from etalon import _core
from etalon.errors import PlanError
from etalon.plan.base import Rack, Table
from etalon.plan.network import CircuitNetwork, Network
from etalon.plan.schedules.base import Rule, text_of, too_long, wrong_day
from etalon.units import TIME, Duration, Rate, Time

MOST_KINDS = 15
"""Of circuits: the number of a plane has four bits in a record of what leaves the network."""

Circuit = Annotated[tuple[Rack, Rack], Field(description="source rack, destination rack")]


class Configuration(Table):
    """A day with these circuits, then a night without."""

    circuits: tuple[Circuit, ...] = ()
    """The circuits of the day, each [source rack, destination rack]."""
    day: Duration | None = None
    """Without it, the schedule's day."""
    night: Time | None = None
    """Without it, the schedule's night."""
    repeat: int = Field(default=1, strict=True, ge=1, le=10_000)
    """How many times it follows itself."""
    rate: Rate | None = None
    """Rate of the day's circuits; without it, that of `network.circuit`."""
    delay: Time | None = None
    """Propagation delay of the day's circuits; without it, that of `network.circuit`."""

    def kind(self, network: Network) -> CircuitNetwork:
        """The kind of its circuits. Those of the same rate and delay are of one kind."""
        own = {"rate": self.rate, "delay": self.delay}
        return network.circuit.model_copy(update={k: v for k, v in own.items() if v is not None})


class Fixed(Rule):
    """Always the same week."""

    about: ClassVar = (
        "the configurations that the plan lists, from a file, or computed once for a known demand"
    )
    which: ClassVar = 'of kind "fixed"'
    kind: Literal["fixed"] = "fixed"
    """The configurations that the plan lists, or those of a file."""
    configurations: tuple[Configuration, ...] = ()
    """The week, in order."""
    file: str | None = None
    """A file with the week, either a line "180us 20us 0>1 1>0" for each day, night and circuits, or as the original
    emulator writes it (in us of the hosts' clocks)."""

    def expand(self, network: Network, seed: int = 1) -> list[dict[str, Any]]:
        """The configurations of the week."""
        return [
            self._resolved(configuration, network)
            for configuration in self.configurations
            for _ in range(configuration.repeat)
        ]

    def circuits(self, network: Network) -> tuple[CircuitNetwork, ...]:
        """The kinds of circuits, in the order in which they first appear in the week."""
        kinds = dict.fromkeys(c.kind(network) for c in self.configurations if c.circuits)
        return tuple(kinds) or super().circuits(network)

    def _resolved(self, configuration: Configuration, network: Network) -> dict[str, Any]:
        sources = [-1] * network.racks
        for src, dst in configuration.circuits:
            sources[dst] = src
        day, night = self.lengths(configuration)
        kinds = self.circuits(network)
        plane = 1 + kinds.index(configuration.kind(network)) if configuration.circuits else 1
        return {"sources": sources, "day_ns": day, "night_ns": night, "plane": plane}

    def lengths(self, configuration: Configuration) -> tuple[int, int]:
        """Day and night of a configuration in ns."""
        return (
            self.day if configuration.day is None else configuration.day,
            self.night if configuration.night is None else configuration.night,
        )

    def problems(self, network: Network) -> Iterator[PlanError]:
        """What is wrong with this schedule in this network."""
        if not self.configurations:
            yield PlanError(
                'kind = "fixed" needs at least one configuration, '
                "for instance [{ circuits = [[0, 1], [1, 0]] }], or a file, or a demand",
                key="schedule.configurations",
            )
        for index, configuration in enumerate(self.configurations):
            key = f"schedule.configurations.{index}"
            yield from wrong_day(key, *self.lengths(configuration))
            yield from _no_matching(f"{key}.circuits", configuration.circuits, network.racks)
            own = [name for name in ("rate", "delay") if getattr(configuration, name) is not None]
            if own and not configuration.circuits:
                yield PlanError("a day without circuits has none", key=f"{key}.{own[0]}")
        week = sum(c.repeat * sum(self.lengths(c)) for c in self.configurations)
        yield from too_long("schedule.day", self.day, week)
        if len(kinds := self.circuits(network)) > MOST_KINDS:
            yield PlanError(
                f"circuits are of {len(kinds)} different rates and delays; at most {MOST_KINDS} kinds are run",
                key="schedule.configurations",
            )


def with_week(table: Mapping[str, Any], folder: Path, racks: Any, tdf: Any) -> dict[str, Any]:
    """The table of a fixed schedule with what its file holds in the file's place; paths start at `folder`."""
    schedule = dict(table)
    name = schedule.pop("file")
    if "configurations" in schedule or "demand" in schedule:
        other = "configurations" if "configurations" in schedule else "a demand"
        raise PlanError(f"the week is given already, by {other}", key="schedule.file", value=name)
    text = text_of(folder / name, "schedule.file")
    try:
        week = _core.read_week(text, racks, tdf)
    except (ValueError, TypeError, OverflowError) as error:
        raise PlanError(f"{name}: {error}", key="schedule.file") from None
    return schedule | {"configurations": [_written(configuration) for configuration in week]}


def _written(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration of the core as a plan has it."""
    sources = enumerate(configuration["sources"])
    return {
        "circuits": [[src, dst] for dst, src in sources if src >= 0],
        "day": TIME.format(configuration["day_ns"]),
        "night": TIME.format(configuration["night_ns"]),
    }


def _no_matching(key: str, circuits: Sequence[tuple[int, int]], racks: int) -> Iterator[PlanError]:
    sources: set[int] = set()
    destinations: set[int] = set()
    for src, dst in circuits:
        circuit = f"[{src}, {dst}]"
        for rack in (src, dst):
            if rack >= racks:
                yield PlanError(
                    f"{circuit} names rack {rack}, which does not exist (racks 0..{racks - 1})",
                    key=key,
                    value=rack,
                )
        if src == dst:
            yield PlanError(
                f"{circuit} is not a circuit: rack {src} would be joined to itself",
                key=key,
                value=src,
            )
        elif src in sources:
            yield PlanError(
                f"not a matching: rack {src} is the source of two circuits", key=key, value=src
            )
        elif dst in destinations:
            yield PlanError(
                f"not a matching: rack {dst} is the destination of two circuits", key=key, value=dst
            )
        sources.add(src)
        destinations.add(dst)
