# SPDX-License-Identifier: MIT OR Apache-2.0
"""Users' workloads: generators of flows, which may wait for other flows."""

from __future__ import annotations

import heapq
import inspect
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from etalon.arguments import checked, fitting
from etalon.custom import source
from etalon.errors import EtalonError, PlanError
from etalon.units import SIZE, TIME, rounded, shown

MOST_AT_ONCE = 100_000
"""Steps of a workload at one instant: of more, it probably never waits."""


@dataclass(frozen=True)
class Hosts:
    """The argument `network` of a workload: hosts and rates of the experiment. Times in ns, rates in bit/s."""

    racks: int
    """Number of racks."""
    hosts: int
    """Number of hosts in each rack."""
    duration_ns: int
    """Length of the experiment."""
    packet_bps: int
    """Rate of a rack's link to the packet network; of the narrowest link of a dumbbell."""
    circuit_bps: int
    """Rate of a circuit; in networks without circuits the packet network's."""
    rng: np.random.Generator
    """A random stream of its own, from the experiment's seed. Draw only from it, so that runs can be repeated."""
    clock: Callable[[], int] = field(default=lambda: 0, repr=False)

    @property
    def now_ns(self) -> int:
        """Virtual time."""
        return self.clock()

    def host(self, rack: int, number: int = 0) -> str:
        """The name of a host, such as "r0h3"."""
        return f"r{rack}h{number}"

    def all_hosts(self) -> list[str]:
        """The names of all hosts, rack by rack."""
        return [self.host(rack, host) for rack in range(self.racks) for host in range(self.hosts)]


@dataclass(eq=False)
class Flow:
    """A flow of `size` from one host to another, both written like "r0h3".

    `yield Flow(...)` starts it and returns it; `yield after(flow)` waits until its receiver has all bytes.
    """

    src: str
    dst: str
    size: str | int
    """Payload: text such as "1MB", or bytes."""
    flow_class: str = ""
    """Results report completion times by class; by default the class of the workload's table."""
    start_ns: int | None = None
    """Start in virtual time; None until then."""
    end_ns: int | None = None
    """When its receiver had all bytes; None until then."""

    @property
    def is_done(self) -> bool:
        """Whether its receiver has all bytes."""
        return self.end_ns is not None

    @property
    def duration_ns(self) -> int:
        """Its completion time. Raises `PlanError` if it is not complete."""
        if self.start_ns is None or self.end_ns is None:
            raise PlanError(f"{self!r} is not complete: wait with `yield after(flow)`")
        return self.end_ns - self.start_ns


@dataclass(eq=False)
class Process:
    """A generator that runs beside the one that yielded it; `yield after(process)` waits for its end."""

    generator: Generator[Any, Any, Any]
    end_ns: int | None = None
    value: Any = None
    """Its return value."""

    @property
    def is_done(self) -> bool:
        """Whether it has ended."""
        return self.end_ns is not None


Awaited = Flow | Process


@dataclass(frozen=True)
class _After:
    things: tuple[Awaited, ...]
    number: int

    @property
    def is_over(self) -> bool:
        return sum(one.is_done for one in self.things) >= self.number

    @property
    def answer(self) -> Any:
        done = [one for one in self.things if one.is_done]
        if self.number < len(self.things):
            return min(done, key=lambda one: one.end_ns or 0)
        return self.things[0] if len(self.things) == 1 else list(self.things)


@dataclass(frozen=True)
class _Wait:
    ns: int


@fitting
def after(*things: Awaited | Iterable[Awaited]) -> _After:
    """Waits until all of these flows and processes are done: `done = yield after(flow)`. The `yield` returns a single one, or
    a list of several. Raises `PlanError` for anything else."""
    found = _awaited(things)
    return _After(found, len(found))


@fitting
def after_any(*things: Awaited | Iterable[Awaited]) -> _After:
    """Waits until the first of these flows and processes is done; `first = yield after_any(a, b)` returns it."""
    return _After(_awaited(things), 1)


@checked
def wait(duration: str | int) -> _Wait:
    """Waits for virtual time, text such as "10us" or ns: `yield wait("10us")`. Raises `PlanError` for anything else."""
    if isinstance(duration, str):
        try:
            return _Wait(TIME.parse(duration))
        except ValueError as error:
            raise PlanError(f'wait: "{duration}" {error}; a time is written like "10us"') from None
    if isinstance(duration, (int, float, np.integer, np.floating)) and duration >= 0:
        return _Wait(int(duration))
    raise PlanError(f'wait takes a time such as "10us", or ns, not {shown(duration)}')


def _awaited(things: tuple[Any, ...]) -> tuple[Awaited, ...]:
    found: list[Awaited] = []
    for one in things:
        found += list(one) if isinstance(one, (list, tuple)) else [one]
    wrong = next((one for one in found if not isinstance(one, (Flow, Process))), None)
    if wrong is not None or not found:
        what = "nothing" if not found else shown(wrong)
        raise PlanError(f"after() waits for flows and processes that were yielded, not for {what}")
    return tuple(found)


Opened = tuple[int, int, int, int, int, str]
"""A flow as the core takes it: rack and host of the sender and of the receiver, bytes, class."""


class Running:
    """A workload in one run. The core resumes it at its start, when one of its flows is complete, and when a wait ends."""

    def __init__(
        self,
        reference: str,
        texts: Mapping[str, str],
        arguments: Mapping[str, Any],
        seed: int,
        hosts: Mapping[str, int],
        key: str = "",
    ) -> None:
        file, self.name = source.split(reference)
        function = source.load(reference, texts)
        self.place = source.place_of(function, file)
        rng = np.random.default_rng([seed, *key.encode()])
        self.hosts = Hosts(**hosts, rng=rng, clock=lambda: self.now_ns)
        self.now_ns = 0
        self.flows: list[Flow] = []
        self.opened: list[Opened] = []
        self.ready: list[tuple[Process, Any]] = []
        self.waiting: list[tuple[Process, _After]] = []
        self.sleeping: list[tuple[int, int, Process]] = []
        self.steps = 0
        try:
            generator = function(self.hosts, **arguments)
        except Exception as error:
            raise self._failed(error) from error
        if not inspect.isgenerator(generator):
            raise EtalonError(
                f"{self.place}: {self.name} is not a generator of flows: it must be a function with `yield`"
            )
        self.ready.append((Process(generator), None))

    def __call__(self, now_ns: int, ended: int) -> tuple[list[Opened], int]:
        """What begins at `now_ns`, and when it wants to go on at the latest (-1 for never). `ended` is the number of the flow
        that is complete, in the order in which they were opened; -1 for none. Raises `EtalonError`."""
        self.steps = self.steps if now_ns == self.now_ns else 0
        self.now_ns, self.opened = now_ns, []
        if ended >= 0:
            self.flows[ended].end_ns = now_ns
        while self.sleeping and self.sleeping[0][0] <= now_ns:
            self.ready.append((heapq.heappop(self.sleeping)[2], None))
        while True:
            self._wake()
            if not self.ready:
                break
            process, value = self.ready.pop(0)
            self._run(process, value)
        return self.opened, self.sleeping[0][0] if self.sleeping else -1

    def _wake(self) -> None:
        """Those go on whose flows and processes are done."""
        over = [(process, what.answer) for process, what in self.waiting if what.is_over]
        if over:
            self.waiting = [entry for entry in self.waiting if not entry[1].is_over]
            self.ready += over

    def _run(self, process: Process, value: Any) -> None:
        """Has a process go on until it waits."""
        while True:
            self.steps += 1
            if self.steps > MOST_AT_ONCE:
                raise EtalonError(
                    f"{self.place}: {self.name} has taken {MOST_AT_ONCE} steps at {rounded(self.now_ns)} without waiting: "
                    "let it yield after(flow) or wait(time)"
                )
            try:
                asked = process.generator.send(value)
                value = self._asked(process, asked)
            except StopIteration as end:
                process.end_ns, process.value = self.now_ns, end.value
                return
            except EtalonError as error:
                raise EtalonError(f"{self._line(process)}: {self.name}: {error}") from None
            except Exception as error:
                raise self._failed(error) from error
            if value is _PAUSED:
                return

    def _asked(self, process: Process, asked: Any) -> Any:
        """What a process that yielded something is sent; or it waits."""
        match asked:
            case Flow():
                return self._open(asked)
            case _After():
                if asked.is_over:
                    return asked.answer
                self.waiting.append((process, asked))
                return _PAUSED
            case _Wait():
                until = self.now_ns + asked.ns
                heapq.heappush(self.sleeping, (until, self._serial(), process))
                return _PAUSED
            case Process():
                return asked
            case _ if inspect.isgenerator(asked):
                beside = Process(asked)
                self.ready.append((beside, None))
                return beside
        raise PlanError(
            f"yields {shown(asked) if not callable(asked) else asked}; it may yield Flow(...), after(...), after_any(...), "
            "wait(...), or a generator that runs beside it"
        )

    def _serial(self) -> int:
        self._count = getattr(self, "_count", 0) + 1
        return self._count

    def _open(self, flow: Flow) -> Flow:
        if flow.start_ns is not None:
            raise PlanError(f"{flow!r} has started already: create another one")
        size = SIZE.parse(flow.size) if isinstance(flow.size, str) else flow.size
        if not isinstance(size, (int, np.integer)) or not 0 < size < 2**62:
            raise PlanError(f'a flow has a size such as "1MB", or bytes, not {shown(flow.size)}')
        ends = [self._host(one) for one in (flow.src, flow.dst)]
        if ends[0] == ends[1]:
            raise PlanError(f"{flow.src} would send to itself")
        flow.start_ns = self.now_ns
        self.flows.append(flow)
        self.opened.append((*ends[0], *ends[1], int(size), flow.flow_class))
        return flow

    def _host(self, name: str) -> tuple[int, int]:
        rack, _, host = str(name).removeprefix("r").partition("h")
        if isinstance(name, str) and name.startswith("r") and rack.isdecimal() and host.isdecimal():
            found = int(rack), int(host)
            if found[0] < self.hosts.racks and found[1] < self.hosts.hosts:
                return found
        raise PlanError(
            f"there is no host {shown(name)} (r0h0..r{self.hosts.racks - 1}h{self.hosts.hosts - 1})"
        )

    def _line(self, process: Process) -> str:
        """File and line where a process stands."""
        frame: Any = getattr(process.generator, "gi_frame", None)
        if frame is None:
            return self.place
        return source.place_at(frame.f_code.co_filename, frame.f_lineno)

    def _failed(self, error: BaseException) -> EtalonError:
        complete = sum(flow.is_done for flow in self.flows)
        return EtalonError(
            f"{source.where(error, self.place)}: {self.name} raised {source.told(error)}; it was {rounded(self.now_ns)}, with "
            f"{len(self.flows)} flows started and {complete} complete"
        )


_PAUSED = object()
