# SPDX-License-Identifier: MIT OR Apache-2.0
"""The configurations of a week, as a plan lists them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any

from pydantic import Field

from etalon.errors import PlanError
from etalon.plan.base import Rack, Table
from etalon.plan.network import CircuitNetwork, Network
from etalon.units import TIME, US, Duration, Rate, S, Time, rounded, shown

SHORTEST_DAY = 1 * US
LONGEST_WEEK = 1000 * S
MOST_KINDS = 15
"""Of circuits: the number of a plane has four bits in a record of what leaves the network."""

Circuit = Annotated[tuple[Rack, Rack], Field(description="source rack, destination rack")]
Lengths = tuple[int, int]
"""Of a day and of a night, in ns."""


class Configuration(Table):
    """A day with these circuits, then a night without."""

    circuits: tuple[Circuit, ...] = ()
    """The circuits of the day, each [source rack, destination rack]."""
    day: Duration | None = None
    """Its day; by default the schedule's."""
    night: Time | None = None
    """Its night; by default the schedule's."""
    repeat: int = Field(default=1, strict=True, ge=1, le=10_000)
    """How many times it occurs in a row."""
    rate: Rate | None = None
    """Rate of the day's circuits; by default `network.circuit.rate`."""
    delay: Time | None = None
    """Propagation delay of the day's circuits; by default `network.circuit.delay`."""

    def kind(self, network: Network) -> CircuitNetwork:
        """The kind of its circuits. Those of the same rate and delay are of one kind."""
        own = {"rate": self.rate, "delay": self.delay}
        return network.circuit.model_copy(update={k: v for k, v in own.items() if v is not None})

    def lengths(self, usual: Lengths) -> Lengths:
        """Its day and night."""
        day, night = usual
        return (
            day if self.day is None else self.day,
            night if self.night is None else self.night,
        )


class Change(Table):
    """Another week, which begins as the first week ends that does not end before `at`."""

    at: Time
    """When the switch learns of this week."""
    configurations: tuple[Configuration, ...] = Field(min_length=1)
    """The week, in order. It may use new kinds of circuits."""


def kinds(week: Iterable[Configuration], network: Network) -> tuple[CircuitNetwork, ...]:
    """The kinds of a week's circuits, in the order in which they first appear."""
    return tuple(dict.fromkeys(c.kind(network) for c in week if c.circuits))


def expand(
    week: Iterable[Configuration],
    usual: Lengths,
    network: Network,
    circuits: Sequence[CircuitNetwork],
) -> list[dict[str, Any]]:
    """The configurations as the core takes them: per destination its source rack (-1: none), day and night in ns, and the plane
    of the circuits, whose kinds are these."""
    found = []
    for configuration in week:
        sources = [-1] * network.racks
        for src, dst in configuration.circuits:
            sources[dst] = src
        day, night = configuration.lengths(usual)
        plane = 1 + circuits.index(configuration.kind(network)) if configuration.circuits else 1
        one = {"sources": sources, "day_ns": day, "night_ns": night, "plane": plane}
        found += [one] * configuration.repeat
    return found


def problems(
    key: str, week: Sequence[Configuration], usual: Lengths, network: Network
) -> Iterator[PlanError]:
    """What is wrong with a week that stands at `key`."""
    for index, configuration in enumerate(week):
        at = f"{key}.{index}"
        yield from wrong_day(at, *configuration.lengths(usual))
        yield from no_matching(f"{at}.circuits", configuration.circuits, network.racks)
        own = [name for name in ("rate", "delay") if getattr(configuration, name) is not None]
        if own and not configuration.circuits:
            yield PlanError(f"a day without circuits has no {own[0]}", key=f"{at}.{own[0]}")


def length(week: Iterable[Configuration], usual: Lengths) -> int:
    """Of the week, in ns."""
    return sum(c.repeat * sum(c.lengths(usual)) for c in week)


def wrong_day(key: str, day: int, night: int) -> Iterator[PlanError]:
    """That a day is too short, or a night too long for it, if so."""
    if day < SHORTEST_DAY:
        yield PlanError(
            f"{shown(TIME.format(day))} must be at least {TIME.format(SHORTEST_DAY)}: "
            "a packet of 9000 B takes 0.9us at 80 Gb/s",
            key=f"{key}.day",
            value=TIME.format(day),
        )
    if night >= day:
        share = 100 * day / (day + night)
        yield PlanError(
            f"{shown(TIME.format(night))} must be shorter than the day of {TIME.format(day)}: "
            f"the duty cycle would be {share:.0f} %",
            key=f"{key}.night",
            value=TIME.format(night),
        )


def too_long(key: str, value: int, week: int) -> Iterator[PlanError]:
    """That the week is longer than is run, if so; `value` stands at `key`."""
    if week > LONGEST_WEEK:
        yield PlanError(
            f"the week would last {rounded(week)}; it may last at most {rounded(LONGEST_WEEK)}",
            key=key,
            value=TIME.format(value),
        )


def no_matching(
    key: str, circuits: Sequence[tuple[int, int]], racks: int, uplinks: int = 1
) -> Iterator[PlanError]:
    """That circuits name a rack more often in one direction than it has uplinks, or one that does not exist."""
    sources: Counter[int] = Counter()
    destinations: Counter[int] = Counter()
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
        elif sources[src] == uplinks:
            yield _crowded(key, src, "source", uplinks)
        elif destinations[dst] == uplinks:
            yield _crowded(key, dst, "destination", uplinks)
        sources[src] += 1
        destinations[dst] += 1


def _crowded(key: str, rack: int, end: str, uplinks: int) -> PlanError:
    """That a rack has more circuits than uplinks."""
    if uplinks == 1:
        why = f"not a matching: rack {rack} is the {end} of two circuits"
    else:
        why = f"rack {rack} is the {end} of {uplinks + 1} circuits, and has {uplinks} uplinks"
    return PlanError(why, key=key, value=rack)
