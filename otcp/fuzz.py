# SPDX-License-Identifier: MIT OR Apache-2.0
"""Fuzzes what OTCP reads from strangers for as long as is asked: frames and OpenFlow messages, and what the agent is told.

    python otcp/fuzz.py --minutes 10 [LLDP] [ARP] [packet-in] [OpenFlow] [agent]

The targets are tests that otherwise take a second (tests/python/otcp/test_fuzz.py and test_damaged.py,
crates/etalon-otcp-agent/tests/fuzz.rs).
Here they run side by side at the lowest priority, frames with a seed that is printed, each for so many minutes of a processor:
on two idle processors 10 minutes of five targets take 25. Exit status 1 if one fails: its output, with the input
that did it, is shown.
"""

from __future__ import annotations

import argparse
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[1]
PYTEST = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider"]
FRAMES = "tests/python/otcp/test_fuzz.py::"
TARGETS = {
    "LLDP": [*PYTEST, f"{FRAMES}test_frames[LLDP]"],
    "ARP": [*PYTEST, f"{FRAMES}test_frames[ARP]"],
    "packet-in": [*PYTEST, f"{FRAMES}test_packet_in_messages"],
    "OpenFlow": [*PYTEST, "tests/python/otcp/test_damaged.py::test_openflow_messages"],
    "agent": ["cargo", "test", "--quiet", "-p", "etalon-otcp-agent", "--test", "fuzz"],
}
NOCAPTURE = ["conversations_however_damaged", "--", "--nocapture"]


@dataclass
class Run:
    """A target that runs, and what it says."""

    name: str
    process: subprocess.Popen[bytes]
    said: IO[bytes]
    began: float


def start(name: str, minutes: float, seed: int) -> Run:
    """Starts a target at the lowest priority."""
    command = TARGETS[name] + (NOCAPTURE if name == "agent" else [])
    environment = os.environ | {
        "ETALON_FUZZ_S": str(minutes * 60),
        "ETALON_FUZZ_SEED": str(seed),
    }
    said = tempfile.TemporaryFile()  # noqa: SIM115
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=said,
        stderr=subprocess.STDOUT,
        preexec_fn=lambda: os.nice(19),
    )
    return Run(name, process, said, time.monotonic())


def finish(run: Run) -> bool:
    """Waits for a target's end and says how it was; whether it was a good one."""
    _, status, used = os.wait4(run.process.pid, 0)
    run.process.returncode = os.waitstatus_to_exitcode(status)
    wall, cpu = time.monotonic() - run.began, used.ru_utime + used.ru_stime
    run.said.seek(0)
    text = run.said.read().decode(errors="replace")
    good = run.process.returncode == 0
    counted = [line for line in text.splitlines() if line.lstrip(".").startswith(f"{run.name}: ")]
    print(
        f"{'good' if good else 'FAILED':<7}{wall:5.0f} s, {cpu:5.0f} s of a processor; ",
        end="",
    )
    print(counted[-1].lstrip(".") if counted else run.name, flush=True)
    if not good:
        print(text, flush=True)
    return good


def main(arguments: Sequence[str]) -> int:
    """Runs the targets; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--minutes", type=float, default=10, help="of a processor, for each target (10)"
    )
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    options = parser.parse_args(arguments)
    if unknown := set(options.targets) - set(TARGETS):
        parser.error(f"{', '.join(sorted(unknown))}: a target is one of {', '.join(TARGETS)}")
    print(f"seed {options.seed}", flush=True)
    names = options.targets or list(TARGETS)
    runs = [start(name, options.minutes, options.seed) for name in names]
    try:
        ends = [finish(run) for run in runs]
    except KeyboardInterrupt:
        for run in runs:
            run.process.terminate()
        return 130
    return 0 if all(ends) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
