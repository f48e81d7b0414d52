# SPDX-License-Identifier: MIT OR Apache-2.0
"""`etalon shell` and `etalon exec`: the hosts of a plan, by hand."""

from __future__ import annotations

import os
import select
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from etalon.cli import common
from etalon.cli.clock import Clock
from etalon.cli.given import changed_plan
from etalon.errors import PlanError, gather

if TYPE_CHECKING:
    from etalon import _core
    from etalon.engine.linux import Linux
    from etalon.engine.mpi import Mpi
    from etalon.plan import Plan
    from etalon.plan.program import OnHost, Program

CUT_OFF = 124
"""Exit code for a command that the end of the experiment cut off, as timeout(1) has it."""

HOSTS_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where hosts look for programs (kernel/init/program.c)."""
TICK_MS = 100
"""Between two looks at whether to stop."""

Host = Annotated[str, typer.Option("--host", help="Rack and number of the host, like r0h3.")]
Servers = Annotated[
    list[str] | None,
    typer.Option(
        "--server",
        metavar="HOST:COMMAND",
        help="A command on another host, or on all of them (`all:`), that runs beside it; may be repeated.",
        show_default=False,
    ),
]
Environment = Annotated[
    list[str] | None,
    typer.Option(
        "--env",
        metavar="NAME=VALUE",
        help="An environment variable for the command and the servers; may be repeated.",
        show_default=False,
    ),
]

Asks = Annotated[
    list[str] | None,
    typer.Option(
        "--ask",
        metavar="[COLLECTIVE=]CIRCUITS",
        help="Circuits to request before each collective, such as ring or '0>1 1>0', or before one, such as "
        "alltoall=none; may be repeated.",
        show_default=False,
    ),
]
AskFrom = Annotated[
    str | None,
    typer.Option(
        "--ask-from",
        metavar="SIZE",
        help="Size of the smallest collective that requests circuits (default: all do).",
        show_default=False,
    ),
]

Start = Annotated[str, typer.Option("--start", help="When the command starts, in network time.")]
Duration = Annotated[
    str | None,
    typer.Option(
        "--duration",
        help="Network time after which Etalon stops the command (default: never).",
        show_default=False,
    ),
]


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command(
        "exec",
        epilog="Example:  etalon exec strobe.toml --host r0h3 --server 'r1h3:iperf3 -s' -- iperf3 -c r1h3",
    )(execute)
    app.command(epilog="Example:  etalon shell strobe.toml --host r0h0")(shell)
    app.command(
        epilog="Example:  etalon mpirun strobe.toml -n 16 -- ./prog",
    )(mpirun)


def execute(
    plan_file: common.PlanFile,
    command: Annotated[
        list[str],
        typer.Argument(metavar="-- COMMAND...", help="Program and arguments.", show_default=False),
    ],
    host: Host = "r0h0",
    servers: Servers = None,
    start: Start = "1ms",
    duration: Duration = None,
    settings: common.Settings = None,
    seed: common.Seed = None,
    patience: common.Patience = "60s",
    env: Environment = None,
) -> int:
    """Run a command on an emulated host, on real Linux TCP. The plan's flows run beside it.

    The command reads standard input; while it waits for input, virtual time stands still. Output appears as it comes; lines
    of servers begin with the host's name. Exits with the command's status.
    """
    plan = _endless(changed_plan(plan_file, settings, seed), duration)
    variables = _variables(env)
    programs = [
        *_program(plan, "--host", host, command, start, variables),
        *_servers(plan, servers, variables),
    ]
    return _execute(_linux(plan, patience), plan, programs)


def mpirun(
    plan_file: common.PlanFile,
    command: Annotated[
        list[str],
        typer.Argument(metavar="-- PROGRAM...", help="Program and arguments.", show_default=False),
    ],
    ranks: Annotated[int, typer.Option("-n", "--ranks", min=1, help="Number of ranks.")],
    hosts: Annotated[
        str | None,
        typer.Option(
            "--hosts",
            metavar="r0h0,r1h0,...",
            help="Hosts of the ranks (default: one of each rack, then the next of each).",
            show_default=False,
        ),
    ] = None,
    launcher: Annotated[
        Path | None,
        typer.Option(
            "--mpi",
            metavar="MPIEXEC",
            help="MPI's launcher (default: the one beside the program, else this machine's).",
            show_default=False,
        ),
    ] = None,
    asks: Asks = None,
    ask_from: AskFrom = None,
    start: Start = "1ms",
    duration: Duration = None,
    settings: common.Settings = None,
    seed: common.Seed = None,
    patience: common.Patience = "600s",
    env: Environment = None,
) -> int:
    """Run an unchanged MPI program on emulated hosts, with Open MPI or MPICH from this machine or from pip.

    Ranks communicate by TCP over the plan's network; the plan's flows run beside them. With --ask, each collective requests
    circuits before it begins, and gives them back when all ranks have left it. Exits with the status of MPI's launcher.
    """
    plan = _endless(changed_plan(plan_file, settings, seed), duration)
    given = {
        "ranks": ranks,
        "hosts": hosts.split(",") if hosts else "all",
        "command": command,
        "start": start,
        **({"ask": _by_collective(asks)} if asks else {}),
        **({"ask_from": ask_from} if ask_from else {}),
    }
    found, launched = _launched(plan, launcher, given, _variables(env))
    status = _execute(_linux(plan, patience), plan, [launched])
    if status not in (0, CUT_OFF, common.INTERRUPTED):
        common.note(
            f"{found.kind} ended with status {status}; its output, and that of its ranks, is above"
        )
    return status


def _launched(
    plan: Plan, launcher: Path | None, given: dict[str, Any], env: dict[str, str]
) -> tuple[Mpi, OnHost]:
    """The MPI that this machine has, and its launcher on the first host of the program that is `given`."""
    from etalon.engine import mpi

    found = mpi.find(given["command"][0], launcher)
    program = _build(plan, "--hosts", {**given, "env": {**found.environment(), **env}})
    for wrong in program.cannot_ask("--ask", plan.schedule.kind):
        raise wrong
    (one,) = program.each(plan.network.racks, plan.network.hosts)
    used = one.over[: one.ranks]
    where = used[0] if len(used) == 1 else f"{len(used)} hosts, {used[0]} to {used[-1]}"
    common.note(f"{found}: {one.ranks} ranks on {where}")
    return found, replace(
        one,
        command=found.command(one.over, one.ranks, one.command),
        env=(*found.circuits(one, "mpirun"), mpi.quiet(plan), *one.env),
    )


def _by_collective(asks: list[str]) -> dict[str, str]:
    """What `--ask` gives: circuits of all collectives, or of one."""
    from etalon.plan.mpi_circuits import ALL

    found = {}
    for text in asks:
        name, equals, circuits = text.rpartition("=")
        found[name if equals else ALL] = circuits
    return found


def _execute(engine: Linux, plan: Plan, programs: list[OnHost]) -> int:
    """Runs the first program with our input and output, the others beside it; the exit code of the first."""
    stop = threading.Event()
    clock = Clock(sys.stderr, time.monotonic())
    output = _Output(programs[1:], stop, clock)
    status = _run(engine, plan, programs, output.control, stop, clock, mode="exec", output=output)
    output.close()
    if stop.is_set():
        return common.INTERRUPTED
    if status is None:
        common.note(
            f"{programs[0].command[0]} was cut off by the end of the experiment; --duration extends it"
        )
        return CUT_OFF
    return status


def shell(
    plan_file: common.PlanFile,
    host: Host = "r0h0",
    servers: Servers = None,
    settings: common.Settings = None,
    seed: common.Seed = None,
    env: Environment = None,
) -> int:
    """Open a shell on an emulated host. The plan's flows run beside it. `on HOST COMMAND` reaches other hosts.

    Without a terminal, it reads commands from standard input: `etalon shell strobe.toml < commands.sh`.
    """
    from etalon import _core

    plan = _endless(changed_plan(plan_file, settings, seed), None)
    variables = _variables(env)
    beside = list(_servers(plan, servers, variables))
    found = shutil.which("bash", path=HOSTS_PATH)
    words = [found, "--norc", "--noprofile"] if found else ["/bin/sh"]
    if not sys.stdin.isatty() or not sys.stdout.isatty():
        programs = [*_program(plan, "--host", host, words, "0s", variables), *beside]
        return _execute(_linux(plan), plan, programs)
    terminal = os.environ.get("TERM", "linux")
    command = ["/usr/bin/env", f"TERM={terminal}", rf"PS1={host}:\w# ", *words]
    programs = [*_program(plan, "--host", host, command, "0s", variables), *beside]
    engine = _linux(plan)
    common.note(
        f"a shell on {host} of {plan.name}; `on` lists the hosts, `on r1h0 COMMAND` runs a command on another; exit ends it"
    )
    with _terminal_kept():
        status = _run(engine, plan, programs, _core.Control(), threading.Event(), mode="shell")
    return status or 0


def _endless(plan: Plan, duration: str | None) -> Plan:
    """The plan with as much time as there can be, or as was asked for."""
    from etalon.plan.check import LONGEST_HOST_TIME
    from etalon.units import TIME

    longest = min(TIME.parse(TIME.largest), LONGEST_HOST_TIME // plan.tdf)
    return plan.replace({"duration": duration or TIME.format(longest), "warmup": 0})


def _variables(env: list[str] | None) -> dict[str, str]:
    """What `--env` gives."""
    found = {}
    for text in env or ():
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise PlanError(f'--env "{text}": must be written like NAME=VALUE')
        found[name] = value
    return found


def _servers(plan: Plan, servers: list[str] | None, env: dict[str, str]) -> Iterator[OnHost]:
    """The programs of `--server`."""
    for text in servers or ():
        host, colon, command = text.partition(":")
        if not colon:
            raise PlanError(f'--server "{text}": must be written like "r1h3:iperf3 -s"')
        found = _program(plan, "--server", host, command, "0s", env)
        name = found[0].command[0]
        # Relative paths are the host's matter; some commands are there on hosts alone.
        there = ("/" in name and name[0] != "/") or name in ("on", "etalon")
        if not there and shutil.which(name, path=HOSTS_PATH) is None:
            raise PlanError(
                f'--server "{text}": hosts run the programs of this machine, which has no "{name}"'
            )
        yield from found


def _program(
    plan: Plan, option: str, host: str, command: Any, start: str, env: dict[str, str]
) -> list[OnHost]:
    """A program that an option describes, on each of its hosts."""
    where = {"hosts": host} if option == "--server" and host == "all" else {"host": host}
    program = _build(plan, option, {**where, "command": command, "start": start, "env": env})
    return list(program.each(plan.network.racks, plan.network.hosts))


def _build(plan: Plan, option: str, given: dict[str, Any]) -> Program:
    """A program as in a plan; `option` names its hosts."""
    from etalon.plan.explain import build
    from etalon.plan.program import Program

    start = given["start"]
    try:
        common.span("--start", start)  # which names the option if it is no time
        program = build(Program, given)
        network = plan.network
        found = list(program.problems("", network.racks, network.hosts))
        if found:
            raise gather(found)
    except PlanError as error:
        of_asking = {"ask": "--ask", "ask_from": "--ask-from"}
        key = of_asking.get((error.key or "").rpartition(".")[2], option)
        raise PlanError(error.expected, key=key, value=error.value) from None
    for late in program.late("", plan.duration):
        raise PlanError(late.expected, key="--start", value=start)
    return program


def _names(programs: list[OnHost]) -> list[str]:
    from etalon.plan.workloads.base import write_host

    return [write_host(program.host) for program in programs]


def _linux(plan: Plan, patience: str | None = None) -> Linux:
    """The engine that has real hosts, ready for the plan."""
    from etalon.engine.linux import Linux

    engine = common.prepare(Linux.NAME, [plan], patience, idle=True)
    assert isinstance(engine, Linux)
    return engine


def _run(
    engine: Linux,
    plan: Plan,
    programs: list[OnHost],
    control: _core.Control,
    stop: threading.Event,
    clock: Clock | None = None,
    **options: Any,
) -> int | None:
    """Exit status of the first program, if it came to its end. Ctrl-C ends the run and sets `stop`."""
    from concurrent.futures import ThreadPoolExecutor
    from concurrent.futures import wait as wait_for

    given = [(*p.host, list(p.command), p.start, list(p.env)) for p in programs]
    with ThreadPoolExecutor(1, thread_name_prefix="etalon-hosts") as pool:
        future = pool.submit(engine.call, plan, control, programs=given, **options)
        while not future.done():
            try:
                wait_for([future], timeout=0.1)
            except KeyboardInterrupt:
                stop.set()
                control.stop()
            if clock is not None:
                clock.tick(time.monotonic(), round(control.progress * plan.duration))
    if clock is not None:
        clock.clear()
    status: int | None = future.result()["programs"][0]["status"]
    return status


@dataclass
class _Writer:
    """Passes a program's output on: as it is, or line by line to standard error behind the name of a host."""

    host: str | None
    stop: threading.Event
    """When it is set, what the reader of our output has no room for is left out: it may never have."""
    rest: dict[int, bytes] = field(default_factory=lambda: {1: b"", 2: b""})
    """The beginning of a line of each stream."""

    def write(self, stream: int, text: bytes) -> None:
        """A piece of the output."""
        if self.host is None:
            self._put(sys.stdout if stream == 1 else sys.stderr, text)
            return
        *lines, self.rest[stream] = (self.rest[stream] + text).split(b"\n")
        for line in lines:
            self._line(line)

    def close(self) -> None:
        """What is left without an end of line."""
        for rest in filter(None, self.rest.values()):
            self._line(rest)

    def _line(self, line: bytes) -> None:
        self._put(sys.stderr, f"[{self.host}] ".encode() + line + b"\n")

    def _put(self, out: TextIO, text: bytes) -> None:
        """Writes as the reader takes it; a write that blocks could not be interrupted."""
        poll = select.poll()
        poll.register(out.fileno(), select.POLLOUT)
        for at in range(0, len(text), select.PIPE_BUF):
            while not poll.poll(0 if self.stop.is_set() else TICK_MS):
                if self.stop.is_set():
                    return
            # So much fits into what is ready.
            out.buffer.write(text[at : at + select.PIPE_BUF])
            out.flush()


class _Output:
    """Hears what the command and the servers of `etalon exec` write, in this order, and passes it on."""

    def __init__(self, servers: list[OnHost], stop: threading.Event, clock: Clock) -> None:
        from etalon import _core

        self.clock = clock
        self.control = _core.Control()
        self.writers = [_Writer(name, stop) for name in (None, *_names(servers))]
        self.gone: BrokenPipeError | None = None

    def __call__(self, program: int, stream: int, text: bytes) -> None:
        """A piece of a program's output."""
        if self.gone or program >= len(self.writers):  # one of the plan's own
            return
        self.clock.clear()
        try:
            self.writers[program].write(stream, text)
        except BrokenPipeError as error:
            self.gone = error  # the reader of our output, such as `head`, has what it wants
            self.control.stop()

    def close(self) -> None:
        """Writes what is left.

        Raises:
            BrokenPipeError: if the reader was gone.
        """
        if self.gone:
            raise self.gone
        for writer in self.writers:
            writer.close()


@contextmanager
def _terminal_kept() -> Iterator[None]:
    """Gives the terminal back as it was, however the kernel leaves it."""
    import termios

    before = termios.tcgetattr(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
