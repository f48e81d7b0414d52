"""The `[schedule]` table: which circuits exist when. A week of (day, night) configurations that repeats, or weeks that
are computed from demand, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from etalon import _core
from etalon.errors import PlanError
from etalon.plan.base import Rack, Table
from etalon.plan.network import Network
from etalon.units import MS, RATE, SIZE, TIME, US, Duration, S, Size, Time, rounded, shown

Circuit = Annotated[tuple[Rack, Rack], Field(description="source rack, destination rack")]

_RULES = ("strobe", "tournament", "fixed", "none")
_COMPUTED = {name: about for name, about in _core.schedulers() if name not in _RULES}

KINDS = {
    "strobe": "every rack meets every other rack once a week (NSDI'20 section 4.5)",
    "tournament": "every rack meets every other rack once a week, both ways at once (the circle method)",
    "fixed": "the configurations that the plan lists, from a file, or computed once for a known demand",
    "none": "no circuits: the packet network alone",
    **{
        name: f"computed from demand, week after week: {about}" for name, about in _COMPUTED.items()
    },
}
"""The kinds of schedule, for `etalon list schedulers`."""

Bytes = Annotated[int, Field(strict=True, ge=0)]

MB = 10**6
SHORTEST_DAY = 1 * US
LONGEST_WEEK = 1000 * S

MIMICKING = 3
"""Racks of the testbed whose schedule mimics more racks; the rule exists for this many."""


class Configuration(Table):
    """A day with these circuits, then a night without."""

    circuits: tuple[Circuit, ...] = ()
    """The circuits of the day, each [source rack, destination rack]."""
    day: Duration | None = None
    """Without it, the schedule's day."""
    night: Time | None = None
    """Without it, the schedule's night."""


class Schedule(Table):
    """The week."""

    kind: Literal[
        "strobe", "tournament", "fixed", "none",
        "bvn", "eclipse", "max-weight", "solstice", "solstice-published", "tms",
    ] = "strobe"  # fmt: skip
    """The rule, or the scheduler that computes weeks from demand: see `etalon list schedulers`."""
    day: Duration = 180 * US
    """How long circuits stay up; of weeks that are computed, the shortest day."""
    night: Time = 20 * US
    """The time that the circuit switch takes to change its circuits."""
    mimic: int | None = Field(default=None, strict=True, ge=3, le=1024)
    """Strobe, with 3 racks only: they stand for this many, by the schedule of NSDI'20's testbed (section 4.5). Rack r
    meets rack r + 1 on the last day of the week, and rack r - 1 on all others."""
    configurations: tuple[Configuration, ...] = ()
    """Fixed: the week, in order."""
    window: Duration = 2 * MS
    """Computed: the length of a week."""
    threshold: Size = 1 * MB
    """Solstice: demand below it is left to the packet network, if any is above, or if hosts announce their demand."""
    estimator: Literal["voq", "adu", "oracle"] = "voq"
    """Computed: demand is what stands in the VOQs, what hosts announce less what left the VOQs (Etalon'18, section 5.2),
    or what truly has not been delivered."""
    compute: Time = 0
    """Computed: the time that a computation takes. It looks at demand when it starts."""
    interval: Time = 0
    """Computed: between the starts of two computations at least; they follow each other without a break if zero."""
    report: Time = 0
    """Computed, estimator "adu": the time that announcements of hosts take."""
    demand: tuple[tuple[Bytes, ...], ...] | None = None
    """Fixed: the week that `scheduler` computes for this demand, in bytes: a row for each source rack, or the name of a
    file with such rows."""
    scheduler: str = "solstice"
    """Fixed, with `demand`: who computes the week."""
    file: str | None = None
    """Fixed: a file with the week, either a line "180us 20us 0>1 1>0" for each day, night and circuits, or as the original
    emulator writes it (in us of the hosts' clocks)."""

    @property
    def computed(self) -> bool:
        """Whether weeks are computed from demand."""
        return self.kind in _COMPUTED

    def resolve(self, network: Network, seed: int) -> dict[str, Any] | None:
        """The schedule as the core takes it; None without circuits."""
        if self.kind == "none":
            return None
        if not self.computed:
            return {"configurations": self.expand(network, seed)}
        idle = {
            "sources": [-1] * network.racks,
            "day_ns": self.window - self.night,
            "night_ns": self.night,
        }
        control = {
            "scheduler": self.kind,
            "estimator": self.estimator,
            "window_ns": self.window,
            "min_day_ns": self.day,
            "night_ns": self.night,
            "threshold_bytes": self.threshold,
            "only_big": self.estimator != "voq",
            "compute_ns": self.compute,
            "interval_ns": self.interval,
            "report_ns": self.report,
        }
        return {"configurations": [idle], "control": control}

    def expand(self, network: Network, seed: int = 1) -> list[dict[str, Any]]:
        """The week as the core takes it: per destination its source rack (-1: none), day and night in ns."""
        racks = network.racks
        match self.kind:
            case "strobe":
                return _core.strobe(racks, self.day, self.night, self.mimic)
            case "tournament":
                return _core.tournament(racks, self.day, self.night)
            case "fixed" if self.demand is not None:
                return self._known(network, self.demand, seed)
            case "fixed":
                return [self._fixed(configuration, racks) for configuration in self.configurations]
            case _:
                return []

    def _known(
        self, network: Network, demand: Sequence[Sequence[int]], seed: int
    ) -> list[dict[str, Any]]:
        """Perfect knowledge (Etalon'18, section 5.3)."""
        from etalon import schedulers

        try:
            week = schedulers.compute(
                self.scheduler,
                demand,
                window=TIME.format(self.window),
                day=TIME.format(self.day),
                night=TIME.format(self.night),
                circuit=RATE.format(network.circuit.rate),
                packet=RATE.format(network.packet.rate),
                threshold=SIZE.format(self.threshold),
                only_big=True,
                seed=seed,
            )
        except PlanError as error:
            key = "schedule.scheduler" if self.scheduler not in _COMPUTED else "schedule.demand"
            raise PlanError(error.expected, key=key) from None
        return [dict(configuration) for configuration in week.configurations]

    def _fixed(self, configuration: Configuration, racks: int) -> dict[str, Any]:
        sources = [-1] * racks
        for src, dst in configuration.circuits:
            sources[dst] = src
        day, night = self.lengths(configuration)
        return {"sources": sources, "day_ns": day, "night_ns": night}

    def lengths(self, configuration: Configuration) -> tuple[int, int]:
        """Day and night of a configuration in ns."""
        return (
            self.day if configuration.day is None else configuration.day,
            self.night if configuration.night is None else configuration.night,
        )

    def _length(self, racks: int) -> int:
        """The length of a week in ns."""
        if self.computed or self.demand is not None:
            return self.window
        match self.kind:
            case "strobe":
                return ((self.mimic or racks) - 1) * (self.day + self.night)
            case "tournament":
                return (racks - 1 + racks % 2) * (self.day + self.night)
            case "fixed":
                return sum(
                    sum(self.lengths(configuration)) for configuration in self.configurations
                )
            case _:
                return 0

    def problems(self, network: Network) -> Iterator[PlanError]:
        """What is wrong with this schedule in this network."""
        racks = network.racks
        yield from self._foreign()
        if self.kind == "fixed" and not self.configurations and self.demand is None:
            yield PlanError(
                'kind = "fixed" needs at least one configuration, '
                "for instance [{ circuits = [[0, 1], [1, 0]] }], or a file, or a demand",
                key="schedule.configurations",
            )
        if self.configurations and self.demand is not None:
            yield PlanError(
                "the week is given already, by configurations or a file", key="schedule.demand"
            )
        if self.mimic is not None and self.kind == "strobe" and racks != MIMICKING:
            yield PlanError(
                f"{self.mimic} racks can only be stood for by {MIMICKING}, as on the testbed of NSDI'20 "
                f"(section 4.5); this network has {racks}, and without mimic it runs them all",
                key="schedule.mimic",
                value=self.mimic,
            )
        if self.kind in ("strobe", "tournament"):
            yield from _day("schedule", self.day, self.night)
        if self.computed or self.demand is not None:
            yield from self._window()
            if self.demand is not None:
                yield from self._demand(network, self.demand)
        for index, configuration in enumerate(self.configurations):
            key = f"schedule.configurations.{index}"
            yield from _day(key, *self.lengths(configuration))
            yield from _matching(f"{key}.circuits", configuration.circuits, racks)
        week = self._length(racks)
        if week > LONGEST_WEEK:
            yield PlanError(
                f"the week would last {rounded(week)}; at most {rounded(LONGEST_WEEK)} is run",
                key="schedule.window" if self.computed else "schedule.day",
                value=TIME.format(self.window if self.computed else self.day),
            )

    def _foreign(self) -> Iterator[PlanError]:
        """Keys that this kind of schedule does not have."""
        allowed: dict[str, Sequence[str]] = {
            "configurations": ("fixed",),
            "demand": ("fixed",),
            "scheduler": ("fixed",),
            "mimic": ("strobe",),
            "estimator": tuple(_COMPUTED),
            "compute": tuple(_COMPUTED),
            "interval": tuple(_COMPUTED),
            "report": tuple(_COMPUTED),
        }
        for key, kinds in allowed.items():
            given = getattr(self, key) != type(self).model_fields[key].default
            if not given or self.kind in kinds:
                continue
            what = "configurations" if key == "configurations" else "it"
            one = (
                f"of kind {shown(kinds[0])}" if len(kinds) == 1 else "that is computed from demand"
            )
            yield PlanError(
                f"only a schedule {one} has {what}, not {shown(self.kind)}", key=f"schedule.{key}"
            )
        if self.report and self.estimator != "adu":
            yield PlanError(
                f'only the estimator "adu" waits for announcements, not {shown(self.estimator)}',
                key="schedule.report",
            )

    def _window(self) -> Iterator[PlanError]:
        if self.day < SHORTEST_DAY:
            yield from _day("schedule", self.day, 0)
        if self.day + self.night > self.window:
            yield PlanError(
                f"{shown(TIME.format(self.window))} has no room for one day of {TIME.format(self.day)} and its "
                f"night of {TIME.format(self.night)}",
                key="schedule.window",
                value=TIME.format(self.window),
            )

    def _demand(self, network: Network, demand: Sequence[Sequence[int]]) -> Iterator[PlanError]:
        if len(demand) != network.racks:
            yield PlanError(
                f"the demand matrix is for {len(demand)} racks, but the network has {network.racks}",
                key="schedule.demand",
            )
            return
        if self.day + self.night > self.window:
            return
        try:
            self._known(network, demand, seed=1)
        except PlanError as error:
            yield error


def with_files(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The values of a plan with what the files of its schedule hold in their place; paths start at `folder`.

    So a plan says all that is run, wherever it is kept.
    """
    given = dict(values)
    table = given.get("schedule")
    if not isinstance(table, Mapping):
        return given
    schedule = dict(table)
    if isinstance(name := schedule.get("file"), str):
        if schedule.get("kind") != "fixed":
            raise PlanError('only a schedule of kind "fixed" has a file', key="schedule.file")
        if "configurations" in schedule:
            raise PlanError(
                "the week is given already, by configurations", key="schedule.file", value=name
            )
        network = given.get("network")
        racks = network.get("racks", 3) if isinstance(network, Mapping) else 3
        text = _text(folder / name, "schedule.file")
        try:
            week = _core.read_week(text, racks, given.get("tdf", 20))
        except (ValueError, TypeError, OverflowError) as error:
            raise PlanError(f"{name}: {error}", key="schedule.file") from None
        schedule["configurations"] = [_written(configuration) for configuration in week]
        del schedule["file"]
    if isinstance(name := schedule.get("demand"), str):
        text = _text(folder / name, "schedule.demand")
        try:
            schedule["demand"] = _core.read_demand(text)
        except ValueError as error:
            raise PlanError(f"{name}: {error}", key="schedule.demand") from None
    given["schedule"] = schedule
    return given


def _text(path: Path, key: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise PlanError(f"there is no file {path}", key=key) from None
    except UnicodeDecodeError:
        raise PlanError(f"{path} is not text", key=key) from None
    except OSError as error:
        raise PlanError(f"{path} cannot be read: {error.strerror}", key=key) from None


def _written(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration of the core as a plan has it."""
    sources = enumerate(configuration["sources"])
    return {
        "circuits": [[src, dst] for dst, src in sources if src >= 0],
        "day": TIME.format(configuration["day_ns"]),
        "night": TIME.format(configuration["night_ns"]),
    }


def _day(key: str, day: int, night: int) -> Iterator[PlanError]:
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


def _matching(key: str, circuits: Sequence[tuple[int, int]], racks: int) -> Iterator[PlanError]:
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
