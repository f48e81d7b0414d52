# SPDX-License-Identifier: MIT OR Apache-2.0
"""What programs on the Linux engine cost: processor time of this machine for each call, packet or request.

`python benches/programs.py` prints a table. Each row runs a program twice, short and long, and divides the difference, so
that boot and the program's start do not count. It needs cc, and leaves out what needs a program that is not there. The
load of the machine stands below the table: processor time grows with it, too.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import etalon as et
from etalon.engine import mpi
from etalon.plan import Plan

HERE = Path(__file__).resolve().parent
MTU = 9000
ROUNDS = 100_000
FORKS = 1_000
PAYLOAD = MTU - 52
"""Of a segment: without headers of IP and TCP and the time stamps."""
REDIS = 'redis-server --bind 0.0.0.0 --protected-mode no --save "" --logfile /dev/null'
NETWORK = {
    "kind": "leaf-spine",
    "racks": 2,
    "hosts": 1,
    "mtu": MTU,
    "rack": {"rate": "10Gbps", "delay": "1us", "queue": 200},
    "spine": {"rate": "40Gbps", "delay": "1us", "queue": 400, "switches": 1},
}


@dataclass(frozen=True)
class Bench:
    """A row of the table."""

    name: str
    command: Callable[[int], str]
    """The program that does something so many times."""
    short: int
    long: int
    needs: tuple[str, ...] = ()
    server: str = ""
    """What runs on the other host."""
    ranks: int = 0

    @property
    def whole(self) -> bool:
        """Whether there is only the long run, with boot and all."""
        return self.short == 0

    @property
    def unit(self) -> str:
        """Of a number of the table."""
        return "s" if self.whole else "us"


def benches(tool: Path, python: str) -> list[Bench]:
    """All rows; `python` runs those of MPI."""

    def small(what: str) -> Callable[[int], str]:
        return lambda times: f"{tool} {what} {times}"

    return [
        Bench("a system call (getppid)", small("call"), 1_000, 101_000),
        Bench("clock_gettime", small("clock"), 1_000, 2_001_000),
        Bench("time stamp counter (rdtsc)", small("counter"), 1_000, 2_001_000),
        Bench("fork, exec and exit", small("fork"), 10, 210),
        Bench(
            "iperf3, a packet of 9 kB",
            lambda packets: f"iperf3 -c {{r1h0}} -n {packets * PAYLOAD}",
            2_000,
            42_000,
            ("iperf3",),
            "iperf3 -s",
        ),
        Bench(
            "redis-benchmark, a SET",
            lambda times: f"redis-benchmark -h {{r1h0}} -t set -c 1 -q -n {times}",
            100,
            2_100,
            ("redis-benchmark", "redis-server"),
            REDIS,
        ),
        Bench(
            "MPI, an all-reduce of 64 kB between 2 ranks",
            lambda times: f"{python} {HERE / 'programs_mpi.py'} {times}",
            5,
            105,
            ranks=2,
        ),
        Bench(
            "MPI, all of a run with an all-reduce of 16 MB among 16 ranks",
            lambda times: f"{python} {HERE / 'programs_mpi.py'} {times} 16000000",
            0,
            1,
            ranks=16,
        ),
    ]


def plan(bench: Bench, times: int) -> Plan:
    """Two hosts, and what runs on them."""
    program = {"command": bench.command(times), "start": "200ms" if bench.server else "1ms"}
    where = {"ranks": bench.ranks} if bench.ranks else {"host": "r0h0"}
    programs = [{**program, **where}]
    if bench.server:
        programs.append({"host": "r1h0", "command": bench.server})
    network = {**NETWORK, "racks": max(2, bench.ranks)}
    tables = {"tdf": 1, "warmup": "0s", "duration": "20s", "network": network}
    return Plan.from_dict({"name": "programs", **tables, "program": programs})


def cpu() -> float:
    """Seconds of processor time that this process and those that it waited for have taken."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def measure(bench: Bench, turns: int) -> tuple[float, float]:
    """The median and the best of some turns, in the row's unit of processor time for each time."""
    found = []
    for _ in range(turns):
        took = []
        for times in filter(None, (bench.short, bench.long)):
            before = cpu()
            run = et.run(plan(bench, times), engine="linux")
            took.append(cpu() - before)
            status = run.programs["status"][0]
            if status != 0:
                why = run.outputs[run.programs["err"][0]].decode()
                raise SystemExit(f"{bench.name}: ended with status {status}: {why}")
        began = 0.0 if bench.whole else took[0]
        seconds = (took[-1] - began) / (bench.long - bench.short)
        found.append(seconds if bench.whole else 1e6 * seconds)
    found.sort()
    return found[len(found) // 2], found[0]


def here_us(tool: Path, what: str, times: int) -> float:
    """Processor time that this machine itself takes for something, outside any run."""
    before = cpu()
    subprocess.run([tool, what, str(times)], check=True)
    return 1e6 * (cpu() - before) / times


def missing(bench: Bench, python: str) -> str:
    """Which program is not there."""
    absent = [name for name in bench.needs if shutil.which(name) is None]
    if bench.ranks:
        try:
            mpi.find(python)
        except et.EtalonError:
            absent.append("MPI")
    return ", ".join(absent)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", help="rows whose names contain this")
    parser.add_argument(
        "--python",
        default=sys.executable,
        help="what runs rows of MPI: the one beside its launcher",
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tool = Path(folder) / "programs"
        subprocess.run(["cc", "-O1", "-static", "-o", tool, HERE / "programs.c"], check=True)
        # The first run of a process also imports what the engine needs, which is no program's cost.
        rows = benches(tool, given.python)
        et.run(plan(rows[0], 1), engine="linux")
        print("| what | processor time, median | best |\n|---|---:|---:|")
        for bench in rows:
            # A whole run takes long: it is not made unless asked for.
            if given.only not in bench.name if given.only else bench.whole:
                continue
            absent = missing(bench, given.python)
            if absent:
                print(f"| {bench.name} | needs {absent} | |", flush=True)
                continue
            median, best = measure(bench, given.turns)
            print(
                f"| {bench.name} | {median:.3g} {bench.unit} | {best:.3g} {bench.unit} |",
                flush=True,
            )
        both, one = (here_us(tool, what, ROUNDS) for what in ("rounds", "rounds-without"))
        print(
            f"\nTwo processes of this machine that wake each other in turn: {both:.3g} us a round; "
            f"{one:.3g} us if one of them may not read the time stamp counter. "
            f"A fork, exec and exit: {here_us(tool, 'fork', FORKS):.3g} us."
        )
    print(f"\nLoad of the machine: {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors.")


if __name__ == "__main__":
    main()
