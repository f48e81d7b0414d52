# SPDX-License-Identifier: MIT OR Apache-2.0
"""The demonstration's programs: started, watched, and read."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from etalon.errors import EtalonError


def run(*words: str, check: bool = True, lines: Sequence[str] | None = None) -> str:
    """Runs a command to its end, with these lines to read; returns its output.

    Raises:
        EtalonError: with its first complaint, if it fails.
    """
    given = None if lines is None else "\n".join(lines)
    done = subprocess.run(words, capture_output=True, text=True, check=False, input=given)
    if check and done.returncode:
        complaint = (done.stderr or done.stdout).strip().splitlines()
        raise EtalonError(f"{' '.join(words)}: {complaint[0] if complaint else done.returncode}")
    return done.stdout


def within(namespace: str) -> list[str]:
    """What a command begins with that runs in a network namespace; nothing for our own."""
    return ["nsenter", f"--net=/run/netns/{namespace}"] if namespace else []


def ip(lines: Sequence[str], namespace: str = "") -> None:
    """Commands of ip(8), in one process. Raises EtalonError if one fails."""
    run("ip", *(("-n", namespace) if namespace else ()), "-batch", "-", lines=lines)


class Part:
    """A program that runs along; each line that it says goes to `heard` with its time (monotonic ns)."""

    def __init__(
        self,
        name: str,
        words: Sequence[str],
        log: Path,
        heard: Callable[[int, str], None] = lambda at, line: None,
        fifo: bool = False,
        cgroup: Path | None = None,
    ) -> None:
        self.name = name
        self._log = log.open("a")
        self._heard = heard
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            bufsize=1,
            preexec_fn=lambda: prepare(fifo, cgroup),
        )
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def pid(self) -> int:
        """As seen in this PID namespace."""
        return self._process.pid

    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def tell(self, line: str) -> None:
        """Writes a line to it. Raises EtalonError if it is gone."""
        assert self._process.stdin
        try:
            self._process.stdin.write(f"{line}\n")
        except OSError:
            raise EtalonError(f"{self.name} has ended") from None

    def kill(self) -> None:
        """SIGKILL, and waits."""
        self._process.kill()
        self._process.wait()

    def end(self, patience_s: float = 5.0) -> None:
        """SIGTERM, then SIGKILL."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self.kill()

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            at = time.monotonic_ns()
            self._log.write(line)
            self._log.flush()
            self._heard(at, line.rstrip("\n"))


def prepare(fifo: bool, cgroup: Path | None) -> None:
    """In the child: precedence for what times are taken by, where we may; and its cgroup."""
    if cgroup:
        (cgroup / "cgroup.procs").write_text(str(os.getpid()))
    if fifo:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(5))
        except OSError:
            return


class Agents:
    """What the agents say: which host has applied which version, and when."""

    def __init__(self) -> None:
        self.applied: dict[str, list[tuple[int, int]]] = {}
        self._news = threading.Condition()

    def of(self, host: str) -> Callable[[int, str], None]:
        """The ear for a host's agent."""
        self.applied[host] = []

        def heard(at: int, line: str) -> None:
            if found := re.search(r"applied \d+\.(\d+):", line):
                with self._news:
                    self.applied[host].append((int(found[1]), at))
                    self._news.notify_all()

        return heard

    def wait(self, after_ns: int, patience_s: float) -> dict[str, int]:
        """When each host has applied something after that (monotonic ns); hosts that did not are missing."""

        def since() -> dict[str, int]:
            times = {
                host: [at for _, at in told if at >= after_ns]
                for host, told in self.applied.items()
            }
            return {host: min(found) for host, found in times.items() if found}

        with self._news:
            self._news.wait_for(lambda: len(since()) == len(self.applied), patience_s)
            return since()
