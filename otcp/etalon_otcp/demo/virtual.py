# SPDX-License-Identifier: MIT OR Apache-2.0
"""The demonstration in virtual time: on an emulated host of the Linux engine. Exact, repeatable to the byte, without root."""

from __future__ import annotations

import compileall
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import etalon
from etalon.errors import EtalonError
from etalon_otcp.demo import outside
from etalon_otcp.demo.outside import FOLDER, Options, programs
from etalon_otcp.demo.parts import run as run_command
from etalon_otcp.process import check_extra

if TYPE_CHECKING:
    from etalon.plan import Plan

PACKAGES = (Path(etalon.__file__).parent, Path(__file__).resolve().parents[1])
"""`etalon` and `etalon_otcp`."""
DEVICE = Path("/dev/etalon")
"""What an emulated host can be told by."""
CGROUPS = Path("/sys/fs/cgroup")
LONGEST = "600s"
"""More than it takes, in virtual time."""
PATIENCE_S = 300.0


class _Relay:
    """Hears what the program writes: its standard error is the story, its output the numbers."""

    def __init__(self, to: TextIO) -> None:
        self._to = to
        self.numbers = b""
        self.last = b""

    def __call__(self, program: int, stream: int, text: bytes) -> None:
        """A piece of its output."""
        if stream == 1:
            self.numbers += text
        else:
            self.last = (self.last + text)[-4096:]
            self._to.write(text.decode(errors="replace"))
            self._to.flush()


def run(options: Options, to: TextIO) -> dict[str, Any]:
    """Shows all of it on a stream, as it happens on an emulated host; returns what was measured.

    Raises:
        EtalonError: with what is missing, or what failed.
    """
    check_extra()
    if lacking := outside.missing(emulated=True):
        raise EtalonError(f"the demonstration needs: {'; '.join(lacking)}")
    _compile()
    from etalon import _core
    from etalon.engine.linux import Linux
    from etalon.engine.protocol import Options as Patience

    plan = _plan(_command(options))
    engine = Linux(Patience(patience_s=PATIENCE_S))
    engine.prepare([plan])
    control, relay = _core.Control(), _Relay(to)
    with ThreadPoolExecutor(1, thread_name_prefix="etalon-demo") as pool:
        call = pool.submit(
            engine.call,
            plan,
            control,
            mode="exec",
            output=relay,
        )
        while not call.done():
            try:
                wait([call], timeout=0.1)
            except KeyboardInterrupt:
                control.stop()
                raise
    if call.result()["programs"][0]["status"] != 0:
        said = relay.last.decode(errors="replace").strip().splitlines()
        raise EtalonError(said[-1].removeprefix("error: ") if said else "the demonstration failed")
    return dict(json.loads(relay.numbers))


def _compile() -> None:
    """All of Python's bytecode, so that each run reads the same files, whatever was imported here in between."""
    for package in PACKAGES:
        compileall.compile_dir(package, quiet=2)


def _plan(command: list[str]) -> Plan:
    """One host, whose own network nobody uses."""
    from etalon.plan import Plan

    link = {"rate": "1Gbps", "queue": 60, "delay": "100us"}
    return Plan.model_validate(
        {
            "name": "otcp-demo",
            "duration": LONGEST,
            "warmup": "0ms",
            "tdf": 1,
            "network": {"kind": "dumbbell", "hosts": 1, "path": [link]},
            "program": [{"host": "r0h0", "command": command}],
        }
    )


def _command(options: Options) -> list[str]:
    """`etalon otcp demo --here` with these options, in the root folder: the caller's would show in virtual time, even by the
    length of its name (100 ns, probably a system call for memory).
    """
    words = ["env", "--chdir=/"]
    if options.delays:
        words += ["etalon"]
    else:
        (folder,) = {str(Path(path).absolute().parent) for path in programs().values()}
        words += [f"{FOLDER}={folder}", *outside.ETALON]
    words += ["otcp", "demo", "--here", "--json"]
    words += ["--racks", str(options.racks), "--hosts", str(options.hosts_per_rack)]
    words += ["--layers", str(options.layers), "--samples", str(options.samples)]
    words += ["--calibrate", options.calibrate, "--statistic", options.statistic]
    words += ["--failures", str(options.failures)]
    return [*words, *(["--delays"] if options.delays else [])]


def here(options: Options, to: TextIO) -> dict[str, Any]:
    """Shows all of it on this host, which has to be an emulated one: nothing is put back.

    Raises:
        EtalonError: on any other machine, or with what failed.
    """
    if not DEVICE.exists():
        raise EtalonError(
            "--here is for programs of plans (--engine linux): this is not an emulated host"
        )
    from etalon_otcp.demo import story
    from etalon_otcp.demo.stage import Stage

    def died(part: str) -> None:
        print(f"error: {part} has ended unexpectedly", file=sys.stderr, flush=True)
        os._exit(1)

    cgroup, tools = None, {}
    if not options.delays:  # no agents then
        cgroup, tools = _cgroup2(), programs()
    with redirect_stdout(to):
        stage = Stage(options.settings(programs=tools, cgroup=cgroup, emulated=True), died)
        told = story.tell(stage)
        stage.end()
    return told


def _cgroup2() -> str:
    """Mounts what BPF programs are attached to."""
    run_command("mount", "-t", "cgroup2", "none", str(CGROUPS))
    return str(CGROUPS)
