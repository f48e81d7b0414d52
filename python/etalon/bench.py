"""Benchmarks: the plans in `benches/`, each in a process of its own, measured in CPU time.

A bench is a plan file. What is measured is the run alone, with all metrics and without tracing: data packets that left
the network divided by the CPU time of the thread that ran it, and the peak memory of its process.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "benches"


def names() -> list[str]:
    """The benches, in alphabetical order. Empty outside a source tree."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def measure(name: str, repeats: int = 3) -> dict[str, Any]:
    """Runs a bench `repeats` times and returns the fastest run: other work on the machine only ever slows one down.

    The keys are name, packets, cpu_seconds, packets_per_cpu_second, peak_rss_bytes (of the whole process, Python
    included) and digest.
    """
    from etalon.plan import Plan

    resolved = json.dumps(Plan.load(FOLDER / f"{name}.toml").resolve())
    command = [sys.executable, "-c", _CHILD]
    runs = []
    for _ in range(repeats):
        child = subprocess.run(command, input=resolved, capture_output=True, text=True, check=True)
        runs.append(json.loads(child.stdout))
    return {"name": name, **max(runs, key=lambda run: float(run["packets_per_cpu_second"]))}


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
plan = sys.stdin.read()
start = time.thread_time()
meta = _core.run(plan)["meta"]
cpu = time.thread_time() - start
try:  # what getrusage tells may be the parent's peak
    status = open("/proc/self/status").read()
    peak = int(status.split("VmHWM:")[1].split()[0]) * 1024
except OSError:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({
    "packets": meta["packets_delivered"],
    "cpu_seconds": round(cpu, 3),
    "packets_per_cpu_second": round(meta["packets_delivered"] / cpu),
    "peak_rss_bytes": peak,
    "digest": meta["digest"],
}))
"""
