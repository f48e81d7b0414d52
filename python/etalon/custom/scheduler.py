# SPDX-License-Identifier: MIT OR Apache-2.0
"""Users' schedulers: functions from demand and network to a week, which is checked like a week from a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any

import numpy as np
from numpy.typing import NDArray

from etalon.arguments import checked
from etalon.custom import source
from etalon.custom.capture import capture, unwrapped
from etalon.errors import EtalonError, PlanError
from etalon.units import SIZE, TIME, rounded, shown

Demand = NDArray[np.uint64]
Day = tuple[list[int], int, int]
"""A configuration as the core takes it: per destination its source rack (-1 for none), day and night in ns."""

EXAMPLE = '[([(0, 1), (1, 0)], "180us")]'


@dataclass(frozen=True)
class Surroundings:
    """The argument `network` of a scheduler: its network. Times in ns, rates in bit/s."""

    racks: tuple[str, ...]
    """Names of the racks, in the order of the demand's rows and columns."""
    now_ns: int
    """Virtual time at which demand was read."""
    window_ns: int
    """The longest week: the sum of all days and nights."""
    day_ns: int
    """The shortest day."""
    night_ns: int
    """The night after each day: reconfiguration time of the circuit switch."""
    circuit_bps: int
    """Rate of a circuit."""
    packet_bps: int
    """Rate of a rack's link to the packet network; 0 if there is none."""
    rng: np.random.Generator
    """A random stream of its own, from the experiment's seed. Draw only from it, so that runs can be repeated."""

    def carried_bytes(self, duration: str | int) -> int:
        """Bytes that a circuit carries in `duration`: text such as "180us", or ns."""
        ns = TIME.parse(duration) if isinstance(duration, str) else int(duration)
        return self.circuit_bps * ns // (8 * 10**9)


Function = Callable[[Demand, Surroundings], Iterable[tuple[Any, str | int]]]


class Scheduler:
    """A function that computes weeks, marked by `scheduler`. It can be called as it was."""

    __wrapped__: Function
    __name__: str

    def __init__(self, function: Function) -> None:
        update_wrapper(self, function)

    def __call__(self, demand: Demand, network: Surroundings) -> Iterable[tuple[Any, str | int]]:
        """What the function answers."""
        return self.__wrapped__(demand, network)

    def __repr__(self) -> str:
        return f"<scheduler {self.__name__}>"

    def __reduce__(self) -> Any:
        """Travels as its source does."""
        reference = capture(self)
        return _again, (str(reference), reference.text)


def _again(reference: str, text: str) -> Scheduler:
    source.allow([text])
    return scheduler(source.load(reference, {source.split(reference)[0]: text}))


@checked
def scheduler(function: Function | Scheduler) -> Scheduler:
    """Marks a function as a scheduler.

        @etalon.scheduler
        def longest_first(demand, network):
            src, dst = np.unravel_index(demand.argmax(), demand.shape)
            return [([(src, dst)], "180us")]

        etalon.run(net, etalon.computed(net, longest_first, window="2ms"), ...)

    Args:
        function: takes `demand`, a racks x racks matrix of bytes (rows are source racks), and `network`, the `Surroundings`.
            It returns a list of (matching, duration). A matching is a list of circuits (source rack, destination rack), by
            number or name, or a list with the destination of each source rack, -1 for none. A duration is text such as
            "180us", or ns. A night follows each day. The week is as long as all of them, at most `network.window_ns`; an
            empty list is a week without circuits.

    Raises:
        PlanError: if it is no function.
    """
    if isinstance(function, Scheduler):
        return function
    if not callable(function):
        raise PlanError(f"etalon.scheduler marks a function, not {shown(function)}")
    return Scheduler(function)


def is_scheduler(thing: Any) -> bool:
    """Whether this computes weeks: a marked function, or a plain one."""
    return isinstance(thing, Scheduler) or callable(thing)


class Scheduling:
    """A scheduler in one run: called by the core with the time in ns and the demand."""

    def __init__(
        self, reference: str, texts: Mapping[str, str], seed: int, facts: Mapping[str, int]
    ) -> None:
        self.function = unwrapped(source.load(reference, texts))
        file, self.name = source.split(reference)
        if not callable(self.function):
            raise PlanError(f"{file}: {self.name} is not a function, and so not a scheduler")
        self.place = source.place_of(self.function, file)
        self.facts = dict(facts)
        self.rng = np.random.default_rng([seed, 0x5CED])

    def __call__(self, now_ns: int, demand: Demand) -> list[Day]:
        """The week for this demand, as the core takes it. Raises `EtalonError`."""
        names = tuple(f"r{rack}" for rack in range(len(demand)))
        network = Surroundings(racks=names, now_ns=now_ns, rng=self.rng, **self.facts)
        given = demand.copy()
        try:
            answer = self.function(given, network)
            answer = None if answer is None else list(answer)
        except EtalonError:
            raise
        except Exception as error:
            raise EtalonError(
                f"{source.where(error, self.place)}: {self.name} raised {source.told(error)}; {_given(now_ns, demand)}"
            ) from error
        try:
            return week(answer, network)
        except PlanError as error:
            raise EtalonError(
                f"{self.place}: {self.name} answers {_brief(answer)}: {error.expected}; {_given(now_ns, demand)}"
            ) from None


def week(answer: Any, network: Surroundings) -> list[Day]:
    """An answer as the core takes it. Raises `PlanError`."""
    if answer is None:
        raise PlanError(f"it must be a list of (matching, duration), like {EXAMPLE}")
    days = [_day(at, one, network) for at, one in enumerate(answer)]
    if not days:
        idle = network.window_ns - network.night_ns
        return [([-1] * len(network.racks), idle, network.night_ns)]
    length = sum(day + night for _, day, night in days)
    if length > network.window_ns:
        raise PlanError(
            f"its {len(days)} days and nights last {rounded(length)}, longer than the window of {rounded(network.window_ns)}"
        )
    return days


def _day(at: int, given: Any, network: Surroundings) -> Day:
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise PlanError(
            f"day {at} is {_brief(given)}, and must be (matching, duration), like {EXAMPLE[1:-1]}"
        )
    matching, duration = given
    ns = _duration(at, duration)
    if ns < network.day_ns:
        raise PlanError(
            f"day {at} lasts {shown(duration)}, shorter than the shortest day of {TIME.format(network.day_ns)}"
        )
    return _sources(at, matching, network), ns, network.night_ns


def _duration(at: int, given: Any) -> int:
    if isinstance(given, str):
        try:
            return TIME.parse(given)
        except ValueError as error:
            raise PlanError(f"day {at} lasts {shown(given)}, which {error}") from None
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool) and given > 0:
        return int(given)
    if isinstance(given, (float, np.floating)) and given > 0 and float(given).is_integer():
        return int(given)
    raise PlanError(
        f'day {at} lasts {_brief(given)}, but a duration is text like "180us", or whole ns'
    )


def _sources(at: int, matching: Any, network: Surroundings) -> list[int]:
    """Per destination its source, of a matching in either form."""
    if isinstance(matching, np.ndarray):
        matching = matching.tolist()
    if not isinstance(matching, (Sequence, set, frozenset)) or isinstance(matching, str):
        matching = list(matching) if isinstance(matching, Iterable) else None
    if matching is None:
        raise PlanError(f"day {at}: a matching is a list of circuits (source, destination)")
    entries = list(matching)
    if entries and all(one is None or isinstance(one, (int, np.integer)) for one in entries):
        if len(entries) != len(network.racks):
            raise PlanError(
                f"day {at}: the matching has {len(entries)} destinations for {len(network.racks)} racks"
            )
        entries = [(src, dst) for src, dst in enumerate(entries) if dst is not None and dst != -1]
    sources = [-1] * len(network.racks)
    for circuit in entries:
        if not isinstance(circuit, (tuple, list)) or len(circuit) != 2:
            raise PlanError(
                f"day {at}: {_brief(circuit)} is not a circuit (source rack, destination rack)"
            )
        src, dst = (_rack(at, rack, network) for rack in circuit)
        if src == dst:
            raise PlanError(f"day {at}: ({src}, {dst}) would join rack {src} to itself")
        if src in sources:
            raise PlanError(f"day {at}: not a matching: rack {src} is the source of two circuits")
        if sources[dst] != -1:
            raise PlanError(
                f"day {at}: not a matching: rack {dst} is the destination of two circuits"
            )
        sources[dst] = src
    return sources


def _rack(at: int, given: Any, network: Surroundings) -> int:
    if isinstance(given, str) and given in network.racks:
        return network.racks.index(given)
    if isinstance(given, (int, np.integer)) and 0 <= given < len(network.racks):
        return int(given)
    last = len(network.racks) - 1
    raise PlanError(f"day {at}: there is no rack {shown(given)} (racks 0..{last}, or r0..r{last})")


def _brief(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 120 else f"{text[:100]} ... {text[-16:]}"


def _given(now_ns: int, demand: Demand) -> str:
    """What a scheduler was given, in words."""
    src, dst = np.unravel_index(int(demand.argmax()), demand.shape)
    most = f", most of it {SIZE.format(int(demand[src, dst]))} from rack {src} to rack {dst}"
    total = int(demand.sum())
    return (
        f"it was given {len(demand)} racks at {rounded(now_ns)} with {SIZE.format(total)} in all"
        f"{most if total else ''}"
    )
