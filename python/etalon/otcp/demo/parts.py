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
from etalon.otcp.demo.layout import QUEUE_BYTES, RATE_BPS, Cable


def run(*words: str, check: bool = True) -> str:
    """Runs a command to its end; returns its output.

    Raises:
        EtalonError: with its first complaint, if it fails.
    """
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if check and done.returncode:
        complaint = (done.stderr or done.stdout).strip().splitlines()
        raise EtalonError(f"{' '.join(words)}: {complaint[0] if complaint else done.returncode}")
    return done.stdout


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


class Links:
    """The program that links run in."""

    def __init__(self, program: str, log: Path) -> None:
        self._answers: list[str] = []
        self._answered = threading.Condition()
        self.part = Part("links", [program], log, self._heard)

    def add(self, cable: Cable) -> None:
        """Makes a link and the devices at its ends."""
        words = ["link"]
        for namespace, device in cable.ends:
            words += [f"/run/netns/{namespace}" if namespace else "-", device]
        self._ask(f"{' '.join(words)} {cable.delay_us * 1000} {RATE_BPS} {QUEUE_BYTES}")

    def plug(self, device: str, up: bool) -> None:
        """Plugs a cable in or pulls it."""
        self._ask(f"{'up' if up else 'down'} {device}")

    def _ask(self, line: str) -> str:
        with self._answered:
            self.part.tell(line)
            if not self._answered.wait_for(lambda: self._answers, 10):
                raise EtalonError("links: no answer")
            verdict, _, rest = self._answers.pop(0).partition(" ")
        if verdict != "ok":
            raise EtalonError(f"links: {rest}")
        return rest

    def _heard(self, at: int, line: str) -> None:
        with self._answered:
            self._answers.append(line)
            self._answered.notify()


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
