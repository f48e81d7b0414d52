# SPDX-License-Identifier: MIT OR Apache-2.0
"""The `[[job]]` table: ranks that compute, and exchange messages in collectives."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, PlainSerializer

from etalon import _core
from etalon.errors import PlanError
from etalon.plan.base import Count, Rack, Table
from etalon.plan.schedules.configuration import no_matching
from etalon.plan.transport import Mptcp, PlainTcp, Tdtcp
from etalon.plan.workloads import chakra
from etalon.plan.workloads.base import (
    FlowClass,
    HostId,
    Setting,
    Workload,
    missing_host,
    read_host,
    write_host,
)
from etalon.plan.workloads.given_file import CHANGED, Stamp, digest, stamp, told
from etalon.plan.workloads.goal import Contents, contents
from etalon.units import SIZE, Duration, Size, Time, problem, shown

MOST_ROWS = 5_000_000
"""Rows of the table of steps that a job has without being asked for them."""
MOST_CONNECTIONS = 1_000_000
"""Connections of all ranks of a job: each takes a few kB while the job runs."""
MOST_RANKS = 4_096
"""Ranks of a job."""

COLLECTIVES = (
    "all_reduce",
    "reduce_scatter",
    "all_gather",
    "all_to_all",
    "broadcast",
    "reduce",
)
"""Keys of collectives, with the size of their data."""
DEEDS = ("compute", *COLLECTIVES, "send")
"""What ranks do: an entry of `do` has one of these keys."""

Rank = Annotated[int, Field(strict=True, ge=0, lt=MOST_RANKS)]


Block = Annotated[int, BeforeValidator(SIZE.read), PlainSerializer(SIZE.format, return_type=str)]
"""Bytes; may be zero."""


def _ranks(value: Any) -> Any:
    if value == "all":
        return value
    if isinstance(value, str) or not isinstance(value, (list, tuple)):
        raise problem(f'{shown(value)} must be "all", or a list of hosts like "r0h3"')
    return tuple(read_host(host) for host in value)


def _write_ranks(ranks: str | tuple[HostId, ...]) -> Any:
    return ranks if isinstance(ranks, str) else [write_host(host) for host in ranks]


class StepCircuits(Table):
    """Circuits that a job asks for from a step of an iteration on, until the next entry."""

    step: Annotated[int, Field(strict=True, ge=0, lt=2**31)] = 0
    """The step, from 0 on: a computation and a message are one each, a collective has those of its algorithm."""
    circuits: tuple[tuple[Rack, Rack], ...]
    """The circuits, each [source rack, destination rack]."""


def _is_stage(value: Any) -> bool:
    return isinstance(value, StepCircuits) or (isinstance(value, dict) and "circuits" in value)


def _circuits(value: Any) -> Any:
    if value in ("none", "each", "plan"):
        return value
    if isinstance(value, (list, tuple)) and all(map(_is_stage, value)):
        return value
    raise problem(
        f'{shown(value)} must be "none", "each", "plan", or a list like '
        "[{ step = 0, circuits = [[0, 1], [1, 0]] }]"
    )


class Slow(Table):
    """A rank that computes more slowly."""

    in_order: ClassVar = ("rank", "times")
    rank: Rank
    """Number of the rank."""
    times: float = Field(gt=0, le=1e6, allow_inf_nan=False)
    """Its computing time relative to other ranks'."""


class Deed(Table):
    """One entry of a job's list: a computation, a collective, or a message."""

    compute: Duration | None = None
    """Ranks compute for this long."""
    jitter: Time = 0
    """Uniform random addition to the time of a computation, drawn anew for each rank and iteration."""
    ranks: tuple[Rank, ...] | None = None
    """The ranks that compute; by default all."""
    all_reduce: Size | None = None
    """Each rank receives the sum of all vectors; the length of a vector."""
    reduce_scatter: Size | None = None
    """Each rank receives its share of the sum of all vectors; the length of a vector."""
    all_gather: Size | None = None
    """Each rank receives all shares; their total length."""
    all_to_all: Size | None = None
    """Each rank sends one block to each rank; the total length of a rank's blocks, its own included."""
    broadcast: Size | None = None
    """Each rank receives the vector of `root`; its length."""
    reduce: Size | None = None
    """Rank `root` receives the sum of all vectors; the length of a vector."""
    send: Size | None = None
    """One rank sends a message to another; its length."""
    src: Rank | None = Field(default=None, alias="from")
    """The rank that sends a message."""
    dst: Rank | None = Field(default=None, alias="to")
    """The rank that receives it."""
    algorithm: str | None = None
    """The algorithm of a collective; by default the first of its kind in `etalon list collectives`."""
    matrix: tuple[tuple[Block, ...], ...] | None = None
    """Instead of `all_to_all`: the length of each block, one row per sending rank; zero is allowed."""
    root: Rank = 0
    """The root of `broadcast` and `reduce`."""
    radix: Annotated[int, Field(strict=True, ge=2, le=MOST_RANKS)] | None = None
    """With the algorithm "bruck" of `all_to_all`: the radix; by default 2."""
    pieces: Count | None = None
    """With the algorithms "chain" and "two-trees": the number of pieces of a vector, or of half of it; by default 16."""
    groups: Annotated[int, Field(strict=True, ge=2, le=MOST_RANKS)] | None = None
    """With the algorithm "hierarchical": the number of groups, which have equal sizes; by default 2."""
    among: Annotated[tuple[tuple[Rank, ...], ...], Field(min_length=1)] | None = None
    """Groups of ranks, each of which does the collective for itself, all at once: [[0, 1], [2, 3]]. They have equal sizes;
    `root` and `matrix` count places in a group. By default all ranks are one group."""

    @property
    def named(self) -> tuple[str, ...]:
        """The keys among `DEEDS` that it has."""
        named = (name for name in DEEDS if getattr(self, name) is not None)
        return (*named, *["all_to_all"] * (self.matrix is not None and self.all_to_all is None))

    @property
    def kind(self) -> str:
        """The one key among `DEEDS` that it should have."""
        return next(iter(self.named), "")

    @property
    def bytes(self) -> int:
        """Size of its collective; 0 for what is none."""
        if self.matrix is not None:
            return sum(cell for row in self.matrix for cell in row) // len(self.matrix)
        return int(getattr(self, self.kind) or 0) if self.kind in COLLECTIVES else 0

    def members(self, ranks: int) -> int:
        """How many ranks take part in one collective, in a job of so many."""
        return len(self.among[0]) if self.among else ranks

    def bus(self, ranks: int) -> float:
        """Bytes that a rank sends at least in a collective of so many ranks, as nccl-tests count."""
        ranks = self.members(ranks)
        factor = {"all_reduce": 2 * (ranks - 1) / ranks, "broadcast": 1.0, "reduce": 1.0}
        return self.bytes * factor.get(self.kind, (ranks - 1) / ranks)

    def resolve(self) -> dict[str, Any]:
        """What ranks do, as the core takes it."""
        kind = self.kind
        size = getattr(self, kind)
        if kind == "compute":
            ranks = None if self.ranks is None else list(self.ranks)
            return {"compute": {"span_ns": size, "jitter_ns": self.jitter, "ranks": ranks}}
        if kind == "send":
            return {"send": {"from": self.src, "to": self.dst, "bytes": size}}
        name = kind.replace("_", "-")
        collective: dict[str, Any] = {
            "kind": name,
            "algorithm": self.algorithm or algorithms()[name][0],
            "bytes": self.bytes,
            "root": self.root,
        }
        if self.matrix is not None:
            collective["matrix"] = [cell for row in self.matrix for cell in row]
        for key in ("radix", "pieces", "groups"):
            if getattr(self, key) is not None:
                collective[key] = getattr(self, key)
        if self.among is not None:
            collective["among"] = [list(group) for group in self.among]
        return {"collective": collective}

    def problems(self, key: str, ranks: int) -> Iterator[PlanError]:
        """What is wrong with it in a job of so many ranks."""
        named = self.named
        if len(named) != 1:
            has = " and ".join(f'"{name}"' for name in named) or "none"
            yield PlanError(
                f"an entry needs one of the keys {', '.join(DEEDS)}; this has {has}", key=key
            )
            return
        kind = self.kind
        yield from self._foreign(key, kind)
        yield from self._absent_ranks(key, ranks)
        yield from self._wrong_groups(f"{key}.among", ranks)
        if kind == "send":
            yield from self._ends(key)
        if self.matrix is not None:
            ranks = self.members(ranks)
            sized = len(self.matrix) == ranks and all(len(row) == ranks for row in self.matrix)
            if not sized:
                yield PlanError(
                    f"{ranks} ranks need {ranks} rows of {ranks} sizes", key=f"{key}.matrix"
                )
            if self.all_to_all is not None:
                yield PlanError(
                    "a matrix contains all sizes; leave the key out", key=f"{key}.all_to_all"
                )

    def _foreign(self, key: str, kind: str) -> Iterator[PlanError]:
        """Keys of other kinds."""
        for name, value, kinds in (
            ("jitter", self.jitter or None, ("compute",)),
            ("ranks", self.ranks, ("compute",)),
            ("from", self.src, ("send",)),
            ("to", self.dst, ("send",)),
            ("algorithm", self.algorithm, COLLECTIVES),
            ("matrix", self.matrix, ("all_to_all",)),
            ("root", self.root or None, ("broadcast", "reduce")),
            ("radix", self.radix, ("all_to_all",)),
            ("pieces", self.pieces, COLLECTIVES),
            ("groups", self.groups, ("all_reduce",)),
            ("among", self.among, COLLECTIVES),
        ):
            if value is not None and kind not in kinds:
                yield PlanError(f'"{kind}" has no such key', key=f"{key}.{name}")

    def _absent_ranks(self, key: str, ranks: int) -> Iterator[PlanError]:
        given = {"from": self.src, "to": self.dst}
        if self.root >= self.members(ranks):
            yield PlanError(
                f"there is no rank {self.root}: the collective has ranks 0..{self.members(ranks) - 1}",
                key=f"{key}.root",
                value=self.root,
            )
        given |= {f"ranks.{number}": rank for number, rank in enumerate(self.ranks or ())}
        for name, rank in given.items():
            if rank is not None and rank >= ranks:
                yield PlanError(
                    f"there is no rank {rank}: the job has ranks 0..{ranks - 1}",
                    key=f"{key}.{name}",
                    value=rank,
                )

    def _wrong_groups(self, key: str, ranks: int) -> Iterator[PlanError]:
        """What is wrong with groups of ranks."""
        seen: set[int] = set()
        for number, group in enumerate(self.among or ()):
            if len(group) < 2 or len(group) != self.members(ranks):
                yield PlanError(
                    f"groups have two ranks or more, all as many as the first, which has {self.members(ranks)}; "
                    f"this has {len(group)}",
                    key=f"{key}.{number}",
                )
            for rank in group:
                if rank >= ranks or rank in seen:
                    why = "is in two groups" if rank in seen else f"is none of 0..{ranks - 1}"
                    yield PlanError(f"rank {rank} {why}", key=f"{key}.{number}", value=rank)
                seen.add(rank)

    def _ends(self, key: str) -> Iterator[PlanError]:
        """What is wrong with a message's ranks."""
        for name, rank in (("from", self.src), ("to", self.dst)):
            if rank is None:
                yield PlanError(
                    "a message needs the rank that sends it and the one that receives it",
                    key=f"{key}.{name}",
                )
        if self.src is not None and self.src == self.dst:
            yield PlanError(f"rank {self.src} would send to itself", key=f"{key}.to")


def algorithms() -> Mapping[str, tuple[str, ...]]:
    """The algorithms of each collective, the one that is taken by default first."""
    found: dict[str, tuple[str, ...]] = {}
    for kind, name, _ in _core.collective_algorithms():
        found[kind] = (*found.get(kind, ()), name)
    return found


class Job(Workload):
    """Ranks on hosts, one a host, that all go through one list of computations and collectives.

    A rank goes on to the next step when it has sent and received all of this one; nothing else keeps ranks in step. Any two
    ranks exchange all their messages over one connection.
    """

    about: ClassVar = "ranks that compute and exchange messages in collectives"
    ranks: Annotated[
        str | tuple[HostId, ...], BeforeValidator(_ranks), PlainSerializer(_write_ranks)
    ] = "all"
    """The host of each rank; "all" hosts, rack by rack."""
    iterations: Count = 1
    """Number of iterations of the list."""
    do: tuple[Deed, ...] = Field(default=(), max_length=100_000)
    """The steps of each rank, in order: tables with a key `compute`, `all_reduce`, `reduce_scatter`, `all_gather`,
    `all_to_all`, `broadcast`, `reduce` or `send`."""
    file: Annotated[str, Field(min_length=1)] | None = None
    """Instead of `do`: a trace in GOAL, LogGOPSim's text format, or in Chakra: then `trace.et` stands for
    `trace.0.et`, `trace.1.et` and so on, one for each rank. A relative path starts at the plan's folder. A run's folder
    contains a copy, in GOAL."""
    algorithms: dict[str, str] = Field(default_factory=dict)
    """With a trace in Chakra: the algorithm of each collective, such as { all_reduce = "swing" }; by default the first of its
    kind in `etalon list collectives`."""
    slow: tuple[Slow, ...] = ()
    """Ranks that compute more slowly than others, such as [{ rank = 3, times = 1.5 }]."""
    circuits: Annotated[
        Literal["none", "each", "plan"] | tuple[StepCircuits, ...], BeforeValidator(_circuits)
    ] = "none"
    """The circuits that the job requests, with a schedule of kind "asked": "none"; "each", the circuits of each step's
    messages; "plan", those that Harvest's dynamic program finds worth their time (arXiv 2602.09188); or a list like [{
    step = 0, circuits = [[0, 1], [1, 0]] }]."""
    steps: bool | None = Field(default=None, strict=True)
    """Whether the run has a table of steps, with one row per message or computation; by default up to 5,000,000 rows."""
    flow_class: FlowClass = Field(default="job", alias="class")
    """Class of the connections."""

    def resolve(self, setting: Setting) -> Iterator[dict[str, Any]]:
        """No flows: the job opens its own."""
        return iter(())

    def expected(self, setting: Setting) -> float:
        """How many connections the job will open is told by the core; this counts none, for they are not listed."""
        return 0

    def hosts(self, setting: Setting) -> tuple[HostId, ...]:
        """The host of each rank."""
        return tuple(setting.all_hosts()) if isinstance(self.ranks, str) else self.ranks

    @cached_property
    def _goal(self) -> Path:
        """Its trace in GOAL: of Chakra's what it comes to."""
        file = Path(str(self.file))
        if not self._is_chakra:
            return file
        return told(str(file), lambda: chakra.goal(file, self._chosen))

    @property
    def _is_chakra(self) -> bool:
        return Path(str(self.file)).suffix == chakra.SUFFIX

    @property
    def _chosen(self) -> dict[str, str]:
        """The algorithm of each collective of a trace in Chakra."""
        chosen = {kind: names[0] for kind, names in algorithms().items()}
        return chosen | {kind.replace("_", "-"): name for kind, name in self.algorithms.items()}

    @cached_property
    def _seen(self) -> Stamp:
        """The state of the trace when the plan was made."""
        return told(str(self._goal), lambda: stamp(self._goal))

    @cached_property
    def contents(self) -> Contents:
        """What its trace comes to. Raises `PlanError`, with its line, if that is no trace."""
        goal, seen = self._goal, self._seen
        try:
            return told(str(goal), lambda: contents(goal, seen))
        except PlanError as error:
            if not self._is_chakra:
                raise
            raise chakra.of_nodes(error, Path(str(self.file)), self._chosen) from None

    @property
    def content(self) -> Path:
        """Its trace, as it was when the plan was made."""
        path = self._goal
        if told(str(path), lambda: stamp(path)) != self._seen:
            raise PlanError(CHANGED, file=str(self.file))
        return path

    @property
    def digest(self) -> str:
        """SHA-256 of its trace."""
        path = self.content
        return told(str(path), lambda: digest(path, self._seen))

    def job(self, setting: Setting) -> dict[str, Any]:
        """The job as the core takes it."""
        resolved: dict[str, Any] = {
            "start_ns": self.start,
            "ranks": [list(host) for host in self.hosts(setting)],
            "iterations": self.iterations,
            "do": [deed.resolve() for deed in self.do],
            "slow": [{"rank": slow.rank, "times": slow.times} for slow in self.slow],
            "steps": self.steps if self.steps is not None else self.rows(setting) <= MOST_ROWS,
            **self.carried(),
            "class": self.flow_class,
        }
        if self.circuits != "none":
            resolved["circuits"] = (
                self.circuits
                if isinstance(self.circuits, str)
                else {"list": [stage.model_dump(mode="json") for stage in self.circuits]}
            )
        if self.connect is not None:
            resolved["connect_ns"] = self.connect
        if self.file is not None:
            resolved["trace"] = {"file": str(self._goal), "digest": self.digest}
        return resolved

    def rows(self, setting: Setting) -> int:
        """At most so many rows has the table of steps."""
        if self.file is not None:
            return self.iterations * self.contents.operations
        ranks = len(self.hosts(setting))
        deeds = json.dumps([deed.resolve() for deed in self.do])
        return self.iterations * ranks * int(_core.job_steps(deeds, ranks))

    def _wrong_circuits(self, key: str, setting: Setting) -> Iterator[PlanError]:
        """What is wrong with a list of circuits, each entry for itself."""
        before = -1
        for number, stage in enumerate(() if isinstance(self.circuits, str) else self.circuits):
            yield from no_matching(
                f"{key}.{number}.circuits", stage.circuits, setting.racks, setting.uplinks
            )
            if stage.step <= before:
                yield PlanError(
                    f"{stage.step} must be above {before}, the step of the entry before it",
                    key=f"{key}.{number}.step",
                    value=stage.step,
                )
            before = stage.step

    def problems(self, key: str, setting: Setting) -> Iterator[PlanError]:
        """What is wrong with this job in a network of this size."""
        hosts = self.hosts(setting)
        if not 2 <= len(hosts) <= MOST_RANKS:
            yield PlanError(
                f"a job has 2 to {MOST_RANKS} ranks, one a host, not {len(hosts)}",
                key=f"{key}.ranks",
            )
            return
        yield from self._wrong_circuits(f"{key}.circuits", setting)
        seen: dict[HostId, int] = {}
        for rank, host in enumerate(hosts):
            yield from missing_host(host, f"{key}.ranks.{rank}", setting.racks, setting.hosts)
            if host in seen:
                yield PlanError(
                    f"host {write_host(host)} has rank {seen[host]} already; a job has one rank per host",
                    key=f"{key}.ranks.{rank}",
                    value=write_host(host),
                )
            seen[host] = rank
        for number, slow in enumerate(self.slow):
            if slow.rank in (before.rank for before in self.slow[:number]):
                yield PlanError(
                    "this rank is slow already", key=f"{key}.slow.{number}.rank", value=slow.rank
                )
            if slow.rank >= len(hosts):
                yield PlanError(
                    f"there is no rank {slow.rank}: the job has ranks 0..{len(hosts) - 1}",
                    key=f"{key}.slow.{number}.rank",
                    value=slow.rank,
                )
        if not isinstance(self.transport, PlainTcp | Tdtcp | Mptcp):
            yield PlanError("a job's flows use TCP, TDTCP or MPTCP", key=f"{key}.transport")
        yield from super().problems(key, setting)
        if self.file is not None or not self.do:
            yield from self._wrong_trace(key, len(hosts))
            return
        wrong = [
            error
            for number, deed in enumerate(self.do)
            for error in deed.problems(f"{key}.do.{number}", len(hosts))
        ]
        yield from wrong or self._algorithms(key, len(hosts))

    def _wrong_trace(self, key: str, ranks: int) -> Iterator[PlanError]:
        """What is wrong with a job that has a trace, or nothing to do."""
        if self.file is None or self.do:
            yield PlanError(
                "a job has either a list `do` or a trace `file`",
                key=f"{key}.{'file' if self.do else 'do'}",
            )
            return
        wrong = list(self._wrong_algorithms(key))
        yield from wrong
        if self.circuits != "none":
            yield PlanError(
                "a trace requests no circuits; leave the key out", key=f"{key}.circuits"
            )
        if wrong:
            return
        try:
            found = self.contents
        except PlanError as error:
            yield error
            return
        if found.ranks != ranks:
            yield PlanError(
                f"{self.file} has {found.ranks} ranks, but the job {ranks} hosts: name one host for each rank",
                key=f"{key}.ranks",
            )
        if found.pairs > MOST_CONNECTIONS:
            yield PlanError(
                f"its ranks would open {found.pairs} connections; at most {MOST_CONNECTIONS} are run",
                key=f"{key}.file",
            )

    def _wrong_algorithms(self, key: str) -> Iterator[PlanError]:
        """That algorithms are named of what there is not, or of a list that names its own."""
        known = algorithms()
        for kind, name in self.algorithms.items():
            names = known.get(kind.replace("_", "-"))
            if not self._is_chakra:
                why = "only with a trace in Chakra can a job choose algorithms"
            elif names is None:
                why = f"{shown(kind)} is no collective; there are {', '.join(COLLECTIVES)}"
            elif name not in names:
                why = f"{shown(name)} is no algorithm of {kind}, which has {', '.join(names)}"
            else:
                continue
            yield PlanError(why, key=f"{key}.algorithms.{kind}", value=name)

    def _algorithms(self, key: str, ranks: int) -> Iterator[PlanError]:
        """That algorithms do not fit, or need too many connections."""
        found = _core.job_problem(json.dumps([deed.resolve() for deed in self.do]), ranks)
        if isinstance(found, tuple):
            number, why = found
            deed = self.do[number]
            yield PlanError(
                why,
                key=f"{key}.do.{number}.algorithm",
                value=deed.resolve()["collective"]["algorithm"],
            )
        elif found > MOST_CONNECTIONS:
            yield PlanError(
                f"its ranks would open {found} connections; at most {MOST_CONNECTIONS} are run",
                key=f"{key}.do",
            )
