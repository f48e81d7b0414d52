# SPDX-License-Identifier: MIT OR Apache-2.0
"""A script for hosts, of the standard library alone: runs MPI's launcher, and says which rank ended the job.

A launcher names a rank that died because another did, or none. And ranks that wait for one which never sends keep polling,
which no launcher notices: they wait for ever.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

QUIET_LOOKS = 3
"""After so many looks without new data sent and without a timer that somebody waits for, nothing will happen any more."""
SLEEP_NS = 50_000
"""The slack of timers by which processes sleep; event loops, which run timers for themselves, have more."""
POLL_NS = 1_000_000
"""Who sleeps for less waits for something: ranks of Open MPI that end do."""
LOOP_NS = 60_000_000_000
"""How far ahead an event loop's timer may be to count as somebody's sleep: those of Open MPI run for minutes."""
WATCH_NS = 23_457
"""The slack of a watch's own timers, by which others know them: no job has this one."""
GRACE_S = 0.5
"""How long a launcher may take to end after its ranks."""
SAID = "etalon mpirun: "
"""Before what this says."""
CHILD = {signal.SIGCHLD}

JOB, QUIET = "ETALON_JOB", "ETALON_QUIET"
"""Variables: the file where ranks write that they began and ended; seconds of the hosts in which nothing may happen."""

RANK = f"""
rank=${{PMI_RANK:-${{OMPI_COMM_WORLD_RANK:-${{PMIX_RANK:-?}}}}}}
read -r host </proc/sys/kernel/hostname
sh -c 'echo "begun $0 $$" >>"${JOB}"; exec "$@"' "$rank $host" "$@"
status=$?
echo "ended $rank $host $status" >>"${JOB}"
case $status in 129|13[0-9]|14[0-3]) kill -$((status - 128)) $$ ;; esac
exit $status
"""
"""For sh: runs a rank, and writes its beginning and its end. The launcher should see a signal as a signal."""


@dataclass
class Rank:
    """A rank of the job."""

    number: int
    host: str
    pid: int
    status: int | None = None
    """As sh has it; None while it runs, or if it was killed together with its shell."""

    def __str__(self) -> str:
        return f"rank {self.number} on {self.host}"

    @property
    def alive(self) -> bool:
        return self.status is None and Path(f"/proc/{self.pid}").exists()

    @property
    def waits(self) -> int:
        """How often its process has waited."""
        return _number(f"/proc/{self.pid}/status", "voluntary_ctxt_switches:")


@dataclass
class Job:
    """What is known of a job."""

    file: Path
    ranks: list[Rank] = field(default_factory=list)
    ended: list[Rank] = field(default_factory=list)
    """In the order of their ends."""

    def look(self) -> None:
        """Reads what ranks wrote."""
        self.ranks, self.ended = [], []
        with suppress(FileNotFoundError):
            for line in self.file.read_text().splitlines():
                what, number, host, value = line.split()
                if not number.isdigit():  # no launcher of MPI has numbered it
                    continue
                if what == "begun":
                    self.ranks.append(Rank(int(number), host, int(value)))
                    continue
                for rank in self.ranks:
                    if rank.number == int(number):
                        rank.status = int(value)
                        self.ended.append(rank)

    @property
    def alive(self) -> list[Rank]:
        return [rank for rank in self.ranks if rank.alive]

    def failed(self) -> str:
        """Which rank failed first, and how, as a sentence; empty if none did."""
        for place, rank in enumerate(self.ended):
            if rank.status:
                before = _had_ended(self.ended[:place])
                return f"{rank} {ending(rank.status)}, the first to fail{before}"
        return _had_ended(self.ended).removeprefix("; ")


def _had_ended(ranks: Sequence[Rank]) -> str:
    """That ranks had ended well, a few of them by name."""
    if not ranks:
        return ""
    names = ", ".join(map(str, ranks[:3])) + (f" and {len(ranks) - 3} more" if ranks[3:] else "")
    return f"; {names} had ended with status 0"


def ending(status: int) -> str:
    """How a process ended, from its status as sh has it."""
    if status > 128:
        with suppress(ValueError):
            return f"was killed by {signal.Signals(status - 128).name}"
    return f"exited with status {status}"


def _number(path: str, name: str) -> int:
    """The number behind a name in a file of /proc; 0 if the process is gone."""
    with suppress(OSError):
        for line in Path(path).read_text().split("\n"):
            if line.startswith(name):
                return int(line[len(name) :])
    return 0


def _hosts() -> tuple[dict[str, str], bool]:
    """Segments of new data that each host with a process has sent; and whether some connection is about to repeat a segment."""
    sent: dict[str, str] = {}
    is_repeating = False
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it may end meanwhile
            host = os.readlink(process / "ns/net")
            if host not in sent:
                lines = (process / "net/netstat").read_text().split("\n")
                names, values = (line.split() for line in lines if line.startswith("TcpExt:"))
                is_repeating |= repeats((process / "net/tcp").read_text())
                sent[host] = values[names.index("TCPOrigDataSent")]
    return sent, is_repeating


def repeats(table: str) -> bool:
    """Whether a connection in /proc/net/tcp has its retransmission timer set: 01, before when it fires."""
    rows = (line.split() for line in table.splitlines()[1:])
    return any(row[5].startswith("01:") for row in rows)


def somebody_sleeps(timers: str) -> bool:
    """Whether a process other than a watch waits for a time, by /proc/timer_list: sleeps, or polls with a timeout."""
    for timer in re.finditer(
        r"hrtimer_wakeup.*\n.*expires at (\d+)-(\d+) nsecs \[in (-?\d+) to", timers
    ):
        first, last, left = map(int, timer.groups())
        if last - first == WATCH_NS:
            continue
        if left > POLL_NS and (last - first <= SLEEP_NS or left <= LOOP_NS):
            return True
    return False


class Watch:
    """Notices that a job waits for what will never come."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.quiet = 0
        self.sent: dict[str, str] = {}
        self.waits: dict[int, int] = {}
        """How often each rank that was alive at the last look had waited."""
        self.still: list[Rank] = []
        """Ranks that have not even polled since the last look."""

    def over(self) -> bool:
        """Looks again; whether nothing will happen any more."""
        self.job.look()
        sent, repeating = _hosts()
        waits = {rank.number: rank.waits for rank in self.job.alive}
        self.still = [
            one for one in self.job.alive if waits.get(one.number) == self.waits.get(one.number)
        ]
        same = bool(waits) and waits.keys() == self.waits.keys() and sent == self.sent
        self.sent, self.waits = sent, waits
        asleep = somebody_sleeps(Path("/proc/timer_list").read_text())
        self.quiet = self.quiet + 1 if same and not asleep and not repeating else 0
        return self.quiet >= QUIET_LOOKS

    def why(self, span: float) -> str:
        """What the ranks wait for, as a sentence."""
        alive = self.job.alive
        whom = f"{len(alive)} ranks wait" if len(alive) > 1 else f"{alive[0]} waits"
        if any(rank.status for rank in self.job.ended):
            return f"{self.job.failed()}; {whom} for it for ever"
        text = f"{whom} for ever: for {span:g} s nobody has sent anything or slept"
        if 0 < len(self.still) < len(alive):
            names = ", ".join(map(str, self.still[:3])) + (" and others" if self.still[3:] else "")
            text += (
                f"; {names} no longer {'poll' if len(self.still) > 1 else 'polls'}, as in MPI_Finalize after an exception "
                "(`python -m mpi4py` ends the job then)"
            )
        return text + _had_ended(self.job.ended)


def _ended(pid: int, span: float) -> int | None:
    """The status of a child once it has ended, None if it does not within `span` seconds."""
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return status
        if signal.sigtimedwait(CHILD, span) is None:
            return None


def offspring(pids: Sequence[int], parents: Mapping[int, int]) -> list[int]:
    """These processes and all that they started, by the parent of each."""
    found = list(pids)
    for pid in found:  # grows meanwhile
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def _parents() -> dict[int, int]:
    """The parent of each process."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        found[int(process.name)] = _number(str(process / "status"), "PPid:")
    return found


def _end(job: Job, pid: int) -> int:
    """Ends the ranks and what they started, after which the launcher ends; its status."""
    for one in offspring([rank.pid for rank in job.alive], _parents()):
        with suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)
    status = _ended(pid, GRACE_S)
    if status is None:
        os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
    return status


def launch(command: Sequence[str]) -> int:
    """Runs the launcher; its status, as sh has it."""
    job = Job(Path(os.environ["TMPDIR"]) / f"job-{os.getpid()}")
    # By which the end of the experiment begins. The launcher hears it too, and may end its ranks in peace; then this ends.
    interrupted: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: interrupted.append(number))
    signal.pthread_sigmask(signal.SIG_BLOCK, CHILD)
    environment = {**os.environ, JOB: str(job.file)}
    usual = [signal.SIGPIPE, signal.SIGXFSZ]  # which Python ignores
    pid = os.posix_spawnp(command[0], list(command), environment, setsigmask=[], setsigdef=usual)
    with suppress(OSError):  # only now: the launcher's children would have it
        Path("/proc/self/timerslack_ns").write_text(str(WATCH_NS))
    watch, said, span = Watch(job), "", float(os.environ[QUIET])
    while (status := _ended(pid, span / QUIET_LOOKS)) is None:
        if not interrupted and watch.over():
            said = watch.why(span)
            status = _end(job, pid)
            break
    code = os.waitstatus_to_exitcode(status)
    if said or (code and not interrupted):
        job.look()
        said = said or job.failed()
        if said:
            print(f"{SAID}{said}", file=sys.stderr, flush=True)
    return 128 - code if code < 0 else code or bool(said)


if __name__ == "__main__":
    sys.exit(launch(sys.argv[1:]))
