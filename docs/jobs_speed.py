# SPDX-License-Identifier: MIT OR Apache-2.0
"""Prints the table of docs/jobs.md on what jobs cost: processor time, and memory of a process that does nothing else.

python docs/jobs_speed.py           # two minutes, 4 GB
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import etalon as et
from etalon.plan.workloads.given_file import stamp
from etalon.plan.workloads.goal import contents

HOST = {"rate": "100Gbps", "delay": "0us", "jitter": "0us"}
SETTINGS: dict[str, Any] = {"tdf": 1, "warmup": "0ms", "duration": "20s", "end_when_done": True}


def ring(ranks: int, size: str, iterations: int = 1) -> et.Plan:
    """Over a ring of circuits that stay."""
    net = et.network(
        racks=ranks,
        hosts=1,
        circuits_only=True,
        ack_bypass="500ns",
        circuit=("100Gbps", "500ns"),
        host=HOST,
        voq=1000,
    )
    job = et.job(et.all_reduce(size), circuits="each", iterations=iterations)
    return et.experiment(net, et.asked(net), job, tcp={"max_cwnd": 200}, **SETTINGS)


def star(ranks: int, deed: Any, rate: str) -> et.Plan:
    """Over a packet network as fast as hosts."""
    host = {**HOST, "rate": rate}
    net = et.network(racks=ranks, hosts=1, packet=(rate, "500ns"), voq=1000, host=host)
    job = et.job(deed)
    return et.experiment(net, et.packet_only(net), job, tcp={"max_cwnd": 128}, **SETTINGS)


def trace(file: Path, ranks: int = 64, rounds: int = 4000) -> None:
    """A ring of messages in GOAL."""
    with file.open("w") as out:
        out.write(f"num_ranks {ranks}\n")
        for rank in range(ranks):
            out.write(f"rank {rank} {{\n")
            for turn in range(rounds):
                send, receive, compute = range(3 * turn, 3 * turn + 3)
                out.write(f"l{send}: send 100000b to {(rank + 1) % ranks} tag {turn}\n")
                out.write(f"l{receive}: recv 100000b from {(rank - 1) % ranks} tag {turn}\n")
                out.write(f"l{compute}: calc 1000\nl{compute} requires l{receive}\n")
                if turn:
                    out.write(f"l{send} requires l{send - 1}\nl{receive} requires l{send - 1}\n")
            out.write("}\n")


RUNS: dict[str, tuple[Any, str]] = {
    "64 ranks, ring, 256 MB": (lambda: ring(64, "256MB"), "sim"),
    "1,024 ranks, ring, 16 MB": (lambda: ring(1024, "16MB"), "sim"),
    "16 ranks, ring, 4 MB, 10 iterations": (lambda: ring(16, "4MB", 10), "sim"),
    "the same, 100 iterations": (lambda: ring(16, "4MB", 100), "sim"),
    "1,024 ranks, direct all-to-all, 1 MB": (
        lambda: star(1024, et.all_to_all("1MB"), "100Gbps"),
        "sim",
    ),
    "Linux, 16 ranks, ring, 64 MB": (lambda: star(16, et.all_reduce("64MB"), "10Gbps"), "linux"),
}
GOAL = "GOAL: reading 1.5 million lines"


def processor() -> float:
    """Seconds of processor time of this process and its children."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def one(name: str) -> None:
    """A row, in this process."""
    if name == GOAL:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "ring.goal")
            trace(file)
            begun = processor()
            contents(file, stamp(file))
    else:
        make, engine = RUNS[name]
        plan = make()
        begun = processor()
        et.run(plan, engine=engine)
    seconds = processor() - begun
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(f"| {name} | {seconds:.1f} | {memory:.0f} |", flush=True)


def main() -> None:
    """Each row in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "row", nargs="?", choices=(*RUNS, GOAL), metavar="ROW", help="only this row"
    )
    row = parser.parse_args().row
    if row:
        one(row)
        return
    print("| job | processor time (s) | memory (MB) |\n|---|---:|---:|", flush=True)
    for name in (*RUNS, GOAL):
        subprocess.run([sys.executable, __file__, name], check=True)


if __name__ == "__main__":
    main()
