"""The `[[program]]` table: real programs on emulated hosts. Only the Linux engine runs them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from etalon.errors import PlanError
from etalon.plan.base import Table
from etalon.plan.workloads.base import Host, write_host
from etalon.units import TIME, Time, problem, shown

MOST_ARGUMENTS = 1000


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
        raise problem("the words of a command cannot hold the character NUL")
    return tuple(words)


Command = Annotated[tuple[str, ...], BeforeValidator(_split)]
"""The program and its arguments."""


class Program(Table):
    """A program that runs on a host, with the host's network and clock. Only with `engine = "linux"`."""

    about: ClassVar = "a program on a host, such as iperf3 or ping (Linux engine only)"
    host: Host
    """Where it runs: rack and number."""
    command: Command
    """The program and its arguments, as a text that is split like a shell does it (`sh -c "..."` for more), or a list.
    `etalon` is the one that runs the plan. Hosts have their names (`r1h0`); `{r1h0}` is the address, for programs that
    resolve none."""
    start: Time = 0
    """When it starts, in the network's time; a client should start later than its server, 1 ms is enough. At the
    experiment's end it is killed."""
    name: str | None = Field(
        default=None, min_length=1, max_length=40, pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$"
    )
    """Names the files of its output; without it, the program."""

    @property
    def label(self) -> str:
        """Its name, or that of its program, fit for the name of a file."""
        if self.name is not None:
            return self.name
        last = self.command[0].rpartition("/")[2]
        return re.sub(r"[^A-Za-z0-9._+-]+", "-", last).strip("-.")[:40] or "program"

    def resolve(self) -> dict[str, Any]:
        """The program as the core takes it."""
        return {
            "rack": self.host[0],
            "host": self.host[1],
            "command": list(self.command),
            "start_ns": self.start,
        }

    def problems(self, key: str, racks: int, hosts: int) -> Iterator[PlanError]:
        """What is wrong with this program in a network of this size."""
        rack, host = self.host
        if rack >= racks or host >= hosts:
            yield PlanError(
                f"there is no host {write_host(self.host)} (racks 0..{racks - 1}, hosts 0..{hosts - 1})",
                key=f"{key}.host",
                value=write_host(self.host),
            )
        for rack, host in re.findall(r"\{r(\d+)h(\d+)\}", " ".join(self.command)):
            if int(rack) >= racks or int(host) >= hosts:
                yield PlanError(
                    f"there is no host r{rack}h{host} whose address could be put there "
                    f"(racks 0..{racks - 1}, hosts 0..{hosts - 1})",
                    key=f"{key}.command",
                    value=f"{{r{rack}h{host}}}",
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
