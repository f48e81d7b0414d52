# SPDX-License-Identifier: MIT OR Apache-2.0
"""The `[[program]]` table: real programs on emulated hosts. Only the Linux engine runs them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from etalon.errors import PlanError
from etalon.plan.base import Table
from etalon.plan.mpi_circuits import Ask, entries, named_ranks
from etalon.plan.workloads.base import Host, HostId, read_host, write_host
from etalon.units import TIME, Size, Time, problem, shown

MOST_ARGUMENTS = 1000
MOST_VARIABLES = 1000
MOST_RANKS = 4096


def _split(value: Any) -> Any:
    """A command as its words: a text is split as a shell would, but nothing in it is expanded."""
    if isinstance(value, str):
        try:
            words = shlex.split(value)
        except ValueError as error:
            raise problem(f"{shown(value)} is not a command: {str(error).lower()}") from None
    elif isinstance(value, (list, tuple)) and all(isinstance(word, str) for word in value):
        words = list(value)
    else:
        raise problem(
            f'{shown(value)} is not a command: it is written like "ping -c 3 r1h0" or ["ping", "-c", "3", "r1h0"]'
        )
    if not words or not words[0]:
        raise problem("a command must have at least one word, the program")
    if len(words) > MOST_ARGUMENTS:
        raise problem(f"a command has at most {MOST_ARGUMENTS} words, not {len(words)}")
    if any("\0" in word for word in words):
        raise problem("the words of a command cannot contain the character NUL")
    return tuple(words)


Command = Annotated[tuple[str, ...], BeforeValidator(_split)]
"""The program and its arguments."""


def _hosts(value: Any) -> Any:
    """Hosts: all, or a list."""
    if value == "all":
        return value
    if isinstance(value, str) or not isinstance(value, (list, tuple)) or not value:
        raise problem(f'{shown(value)} is neither "all" nor a list of hosts like ["r0h0", "r1h0"]')
    return tuple(read_host(host) for host in value)


def _write_hosts(hosts: str | tuple[HostId, ...]) -> Any:
    return hosts if isinstance(hosts, str) else [write_host(host) for host in hosts]


Hosts = Annotated[str | tuple[HostId, ...], BeforeValidator(_hosts), PlainSerializer(_write_hosts)]
"""All hosts of the network, or a list."""


def _variables(value: Any) -> Any:
    """An environment."""
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise problem(f'{shown(value)} is not an environment: write it like {{ NAME = "value" }}')
    if len(value) > MOST_VARIABLES:
        raise problem(f"a program has at most {MOST_VARIABLES} variables, not {len(value)}")
    for name, text in value.items():
        if not name or "=" in name or "\0" in name + text:
            raise problem(
                f"{shown(name)} cannot be a variable: its name has no =, and neither it nor its value the character NUL"
            )
    return value


@dataclass(frozen=True)
class OnHost:
    """A program on one host, with everything in its command filled in."""

    host: HostId
    command: tuple[str, ...]
    start: int
    env: tuple[str, ...]
    """NAME=VALUE."""
    label: str
    file: str | None
    """The name of the files of its output, if its plan gives one."""
    ranks: int = 0
    """If it is MPI's: so many of it, on the hosts of `over`."""
    over: tuple[str, ...] = ()
    ask: str = ""
    """The circuits that its collectives ask for, as libask reads them; empty if they ask for none."""
    ask_from: int = 0
    """Bytes from which on they do."""

    def resolve(self) -> dict[str, Any]:
        """The program as the core takes it."""
        return {
            "rack": self.host[0],
            "host": self.host[1],
            "command": list(self.command),
            "start_ns": self.start,
            **({"env": list(self.env)} if self.env else {}),
        }


class Program(Table):
    """A program that runs on a host, or on several, with the host's network and clock. Only with `engine = "linux"`."""

    about: ClassVar = "a program on a host, such as iperf3 or ping (Linux engine only)"
    host: Host | None = None
    """The host that runs it: rack and number. Either this or `hosts`."""
    hosts: Hosts | None = None
    """The hosts that run it, each once: `"all"`, or a list."""
    command: Command
    """The program and its arguments: a text, which is split as in a shell (`sh -c "..."` for more), or a list. `etalon`
    is the one that runs the plan. Programs can use hosts' names (`r1h0`); `{r1h0}` is replaced by the address, for
    programs that cannot resolve names. `{host}` is the name of the host that runs it, `{index}` the host's place in
    `hosts`, from 0, and `{peer}` the next host of `hosts` (the last one's peer is the first)."""
    start: Time = 0
    """When it starts, in the network's time. Start a client later than its server; 1 ms is enough. The end of the
    experiment kills it."""
    ranks: Annotated[int, Field(strict=True, ge=1, le=MOST_RANKS)] | None = None
    """Number of ranks, if it is an MPI program. They are spread over `hosts`, by default over all hosts: one of each
    rack, then the next of each. The MPI is the one beside the program, else this machine's."""
    ask: Ask | None = None
    """Circuits that an MPI program requests before each collective, and gives back after it: `"ring"`, from each rank of
    the communicator to the next; circuits between ranks, like `"0>1 1>0"`; or a table by collective, like
    `{ allreduce = "ring", all = "none" }`. The collectives are allreduce, reduce_scatter, allgather, alltoall, bcast and
    reduce. Needs `ranks`, and a schedule of kind `"asked"`."""
    ask_from: Size | None = None
    """Collectives of fewer bytes do not request circuits; by default all do."""
    name: str | None = Field(
        default=None, min_length=1, max_length=40, pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$"
    )
    """Names the files of its output, `programs/NAME.out` and `.err`; with `hosts`, `programs/NAME-r0h0.out` and so on. By
    default the names contain the program's number, host and command. Names must be unique."""
    env: Annotated[dict[str, str], BeforeValidator(_variables)] = Field(default_factory=dict)
    """Environment variables, in addition to those of all programs."""

    @model_validator(mode="after")
    def _somewhere(self) -> Program:
        if self.ranks is not None:
            if self.host is not None:
                raise problem(
                    'ranks run on several hosts: give `hosts`, like hosts = "all", instead of `host`'
                )
        elif (self.host is None) == (self.hosts is None):
            raise problem('must name one host, like host = "r0h3", or several, like hosts = "all"')
        elif self.ask is not None:
            raise problem(
                "only the collectives of an MPI program, which has `ranks`, can ask for circuits"
            )
        return self

    @property
    def label(self) -> str:
        """Its name, or that of its program, fit for the name of a file."""
        if self.name is not None:
            return self.name
        last = self.command[0].rpartition("/")[2]
        return re.sub(r"[^A-Za-z0-9._+-]+", "-", last).strip("-.")[:40] or "program"

    def places(self, racks: int, hosts: int) -> tuple[HostId, ...]:
        """The hosts where it runs, in a network of this size."""
        if self.host is not None:
            return (self.host,)
        if self.ranks is not None and not isinstance(self.hosts, tuple):
            return tuple((rack, host) for host in range(hosts) for rack in range(racks))
        if isinstance(self.hosts, tuple):
            return self.hosts
        return tuple((rack, host) for rack in range(racks) for host in range(hosts))

    def each(self, racks: int, hosts: int) -> Iterator[OnHost]:
        """The program on each of its hosts."""
        places = self.places(racks, hosts)
        for index, host in enumerate(places):
            file = self.name
            if file is not None and self.hosts is not None and self.ranks is None:
                file = f"{file}-{write_host(host)}"
            words = {
                "{index}": str(index),
                "{host}": write_host(host),
                "{peer}": write_host(places[(index + 1) % len(places)]),
            }
            yield OnHost(
                host=host,
                command=tuple(_filled(word, words) for word in self.command),
                start=self.start,
                env=tuple(f"{name}={_filled(text, words)}" for name, text in self.env.items()),
                label=self.label,
                file=file,
                ranks=self.ranks or 0,
                over=tuple(map(write_host, places)) if self.ranks else (),
                ask=entries(self.ask) if self.ask else "",
                ask_from=self.ask_from or 0,
            )
            if self.ranks is not None:  # their launcher runs on the first host
                return

    def problems(self, key: str, racks: int, hosts: int) -> Iterator[PlanError]:
        """What is wrong with this program in a network of this size."""
        places = self.places(racks, hosts)
        for rack, host in places:
            if rack >= racks or host >= hosts:
                yield PlanError(
                    f"there is no host {write_host((rack, host))} (racks 0..{racks - 1}, hosts 0..{hosts - 1})",
                    key=f"{key}.{'hosts' if self.host is None else 'host'}",
                    value=write_host((rack, host)),
                )
        for place in sorted({place for place in places if places.count(place) > 1}):
            yield PlanError(
                f"{write_host(place)} is named twice", key=f"{key}.hosts", value=write_host(place)
            )
        for rank in named_ranks(self.ask or {}):
            if self.ranks is not None and rank >= self.ranks:
                yield PlanError(
                    f"there is no rank {rank}: ranks are 0..{self.ranks - 1}", key=f"{key}.ask"
                )
        if self.ask_from is not None and self.ask is None:
            yield PlanError("needs `ask`, which names the circuits", key=f"{key}.ask_from")
        if len(places) == 1 and any("{peer}" in word for word in self.command):
            yield PlanError(
                "{peer} is the next host of `hosts`, and there is only one",
                key=f"{key}.command",
                value="{peer}",
            )
        for rack, host in re.findall(r"\{r(\d+)h(\d+)\}", " ".join(self.command)):
            if int(rack) >= racks or int(host) >= hosts:
                yield PlanError(
                    f"there is no host r{rack}h{host} whose address could be put there "
                    f"(racks 0..{racks - 1}, hosts 0..{hosts - 1})",
                    key=f"{key}.command",
                    value=f"{{r{rack}h{host}}}",
                )

    def cannot_ask(self, key: str, schedule: str) -> Iterator[PlanError]:
        """That its collectives ask for circuits that follow a schedule, if so."""
        if self.ask is not None and schedule != "asked":
            yield PlanError(
                f'collectives can ask for circuits where schedule.kind = "asked"; here they follow {shown(schedule)}',
                key=key,
            )

    def late(self, key: str, duration: int) -> Iterator[PlanError]:
        """That it starts after the end, if so."""
        if self.start >= duration:
            yield PlanError(
                f"{shown(TIME.format(self.start))} is not before the end of the experiment at "
                f"{TIME.format(duration)}",
                key=f"{key}.start",
                value=self.start,
            )


def _filled(text: str, words: dict[str, str]) -> str:
    """A text in which each of `words` is replaced."""
    return re.sub(r"\{(?:index|host|peer)\}", lambda found: words[found[0]], text)
