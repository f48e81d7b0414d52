# SPDX-License-Identifier: MIT OR Apache-2.0
"""Benchmarks: the plans in `benches/`, each in a process of its own, measured in CPU time.

A bench is a plan file; those whose names begin with `linux-` run on the Linux engine. What is measured is the run alone,
with all metrics and without tracing: data packets that left the network divided by the CPU time that they took, the
wall-clock time for each of them (with its ACK), and the peak memory. The simulator's CPU time is that of the thread that
runs it, its memory that of its process; Linux's are those of the kernel, its boot included, and of the process that
takes its log.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from etalon.engine.linux import Linux
from etalon.plan import Plan

FOLDER = Path(__file__).resolve().parents[3] / "benches"


def names() -> list[str]:
    """The benches, in alphabetical order. Empty outside a source tree."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load(name: str) -> Plan:
    """The plan of a bench."""
    return Plan.load(FOLDER / f"{name}.toml")


def engine_of(name: str) -> str:
    """What runs a bench."""
    return "linux" if name.startswith("linux-") else "sim"


def measure(name: str, repeats: int = 3) -> dict[str, Any]:
    """Runs a bench `repeats` times and returns the fastest run: other work on the machine only ever slows one down.

    The keys are name, packets, cpu_seconds, packets_per_cpu_second, us_per_packet (wall clock), peak_rss_bytes (of the
    whole process, Python included; or of the kernel) and digest; in networks of switches hops_per_cpu_second, of packets
    over ports.
    """
    runs = [run_once(load(name), engine_of(name)) for _ in range(repeats)]
    return {"name": name, **max(runs, key=lambda run: float(run["packets_per_cpu_second"]))}


def run_once(plan: Plan, engine: str = "sim") -> dict[str, Any]:
    """Runs a plan in a process of its own. Returns what [`measure`][etalon.bench.measure] does, but the name."""
    given: dict[str, Any] = {"plan": json.dumps(plan.resolve())}
    if engine == "linux":
        image = Linux().image(plan)
        given["kernel"] = [str(image.path), image.hz]
    command = [sys.executable, "-c", _CHILD]
    child = subprocess.run(
        command, input=json.dumps(given), capture_output=True, text=True, check=True
    )
    result: dict[str, Any] = json.loads(child.stdout)
    return result


def machine() -> str:
    """Processor and system, for the table of results."""
    processor = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text().splitlines()
        models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        processor = models[0] if models else processor
    return (
        f"{processor}, {platform.system()} {platform.release()}, Python {platform.python_version()}"
    )


_CHILD = """
import json, resource, sys, time
import numpy  # which the core would otherwise import while it is measured
from etalon import _core
def used():
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + spent.ru_utime + spent.ru_stime
given = json.load(sys.stdin)
clock = used if "kernel" in given else time.thread_time
start, wall = clock(), time.monotonic()
if "kernel" in given:
    meta = _core.run_linux(given["plan"], *given["kernel"])["meta"]
else:
    meta = _core.run(_core.Scenario(given.pop("plan")))["meta"]
cpu, wall = clock() - start, time.monotonic() - wall
if "kernel" in given:
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
else:
    try:  # what getrusage tells may be the parent's peak
        status = open("/proc/self/status").read()
        peak = int(status.split("VmHWM:")[1].split()[0]) * 1024
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
packets = meta["packets_delivered"]
print(json.dumps({
    "packets": packets,
    "cpu_seconds": round(cpu, 3),
    "packets_per_cpu_second": round(packets / cpu),
    **({"hops_per_cpu_second": round(meta["hops"] / cpu)} if "hops" in meta else {}),
    "us_per_packet": round(1e6 * wall / packets, 3),
    "peak_rss_bytes": peak,
    "digest": meta["digest"],
}))
"""
