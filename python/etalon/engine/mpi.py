# SPDX-License-Identifier: MIT OR Apache-2.0
"""MPI on emulated hosts: which one this machine has, and how its launcher starts ranks there.

An MPI that was installed by the system or by pip runs as it is. Its launcher reaches hosts by `rsh`, which hosts have
(kernel/init/on.c), and its variables make it use TCP over the host's device.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from etalon.asking import RANKS
from etalon.engine import mpi_job
from etalon.errors import EtalonError
from etalon.plan import Plan
from etalon.plan.program import OnHost
from etalon.plan.schedules.asked import Asked

OPEN_MPI, MPICH = "Open MPI", "MPICH"

LAUNCHERS = ("mpiexec", "mpirun", "mpiexec.hydra", "mpiexec.mpich", "mpirun.openmpi")
"""What distributions and wheels call launchers. Several of these may be one program."""

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where hosts look for programs (kernel/init/program.c)."""
RSH = "/run/etalon/bin/rsh"
DEVICE = "eth0"
SCRATCH = "/run/etalon"
"""A folder that all hosts share and that is gone after the run."""
JOB = (sys.executable, "-I", "-S", mpi_job.__file__)
"""On the first host, before the command of the launcher."""
RANK = ("/bin/sh", "-c", mpi_job.RANK, "sh")
"""Before that of each rank."""
ASK, ASK_FROM, PROGRAM = "ETALON_ASK", "ETALON_ASK_FROM", "ETALON_PROGRAM"
"""What libask reads: which circuits, from how many bytes on, and a name that no other program has (crates/libask)."""
LEAST_QUIET_S = 6.0
VERSION_S = 20.0
"""A launcher that has not said its version by then is none."""

NO_HOOKS = "n"
"""To replace mmap() and others, which serves only cards that read memory themselves, UCX polls the counter for 40 ms."""

_OF_OPEN_MPI = {
    # 4 reads OMPI_MCA_, and what became of its runtime in 5 reads PRTE_MCA_.
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_plm": "rsh",
    "OMPI_MCA_plm_rsh_agent": RSH,
    "PRTE_MCA_plm": "ssh",
    "PRTE_MCA_plm_ssh_agent": RSH,
    "OMPI_MCA_oob_tcp_if_include": DEVICE,
    "PRTE_MCA_prte_if_include": DEVICE,
    # Hosts share memory, as machines of their own do not: no segments of it.
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "tcp,self",
    "OMPI_MCA_btl_tcp_if_include": DEVICE,
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "UCX_MEM_EVENTS": NO_HOOKS,  # its components load UCX, though TCP carries all
}
_OF_MPICH = {
    "HYDRA_LAUNCHER": "rsh",
    "HYDRA_LAUNCHER_EXEC": RSH,
    "HYDRA_IFACE": DEVICE,
    "MPIR_CVAR_NOLOCAL": "1",
    "UCX_TLS": "tcp,self",
    "UCX_NET_DEVICES": DEVICE,
    # A thread that spins for a lock while its holder is in a system call stops virtual time, since computing takes none.
    "UCX_USE_MT_MUTEX": "y",
    "UCX_MEM_EVENTS": NO_HOOKS,
    "FI_PROVIDER": "tcp",
    "FI_TCP_IFACE": DEVICE,
}


@dataclass(frozen=True)
class Mpi:
    """An MPI of this machine."""

    kind: str
    version: str
    launcher: Path

    def __str__(self) -> str:
        return f"{self.kind} {self.version} ({self.launcher})"

    def command(self, hosts: Sequence[str], ranks: int, program: Sequence[str]) -> tuple[str, ...]:
        """The command on the first host that starts `ranks` processes of a program, as evenly as can be, on `hosts`.

        It tells which rank ended the job, if one did (`mpi_job.py`).
        """
        used, each = _spread(hosts, ranks)
        where = ",".join(f"{host}:{each}" for host in used)
        option = "--host" if self.kind == OPEN_MPI else "-hosts"
        launcher = (str(self.launcher), option, where, "-n", str(ranks))
        return (*JOB, *launcher, *RANK, *program)

    def circuits(self, program: OnHost, name: str) -> list[str]:
        """What requests for circuits need to know, as NAME=VALUE: where ranks are, and what collectives ask for (libask)."""
        used, each = _spread(program.over, program.ranks)
        known = [f"{RANKS}={' '.join(used[rank // each] for rank in range(program.ranks))}"]
        if program.ask:
            known += [f"{ASK}={program.ask}", f"{ASK_FROM}={program.ask_from}", f"{PROGRAM}={name}"]
        return known

    def environment(self) -> dict[str, str]:
        """What the launcher and its ranks need to know."""
        return {"TMPDIR": SCRATCH, **(_OF_OPEN_MPI if self.kind == OPEN_MPI else _OF_MPICH)}

    def variables(self) -> list[str]:
        """The same as NAME=VALUE."""
        return [f"{name}={value}" for name, value in self.environment().items()]


def quiet(plan: Plan) -> str:
    """For how long nothing may happen in a job, as NAME=VALUE: the watch waits twice as long as circuits do (mpi_job.py)."""
    week = plan.schedule
    longest = (
        week.reconfiguration + week.request + week.hold if isinstance(week, Asked) else plan.week_ns
    )
    return f"{mpi_job.QUIET}={max(LEAST_QUIET_S, 2 * plan.tdf * longest / 1e9):g}"


def _spread(hosts: Sequence[str], ranks: int) -> tuple[Sequence[str], int]:
    """The hosts of so many ranks, and how many each has: launchers fill one host after the other."""
    used = hosts[:ranks]
    return used, -(-ranks // len(used))


def find(program: str, given: Path | None = None) -> Mpi:
    """The MPI whose launcher is `given`, or that lies beside `program`, or in this Python's environment, or where hosts look.

    Raises:
        EtalonError: if there is none, or if there are two.
    """
    if given is not None:
        if not given.is_file():
            raise EtalonError(f"{given}: there is no such file")
        known = _known(given.absolute())
        if known is None:
            raise EtalonError(f"{given}: is not a launcher of Open MPI or MPICH (such as mpiexec)")
        return known
    for folder in _folders(program):
        found: dict[str, Mpi] = {}
        for mpi in _in(folder):
            found.setdefault(mpi.kind, mpi)
        if len(found) > 1:
            raise EtalonError(
                f"{folder}: has two MPIs, {' and '.join(map(str, found.values()))}: choose a launcher with --mpi"
            )
        if found:
            return next(iter(found.values()))
    raise EtalonError(
        f"there is no MPI beside {program}, in this Python's environment, nor where hosts look for programs: "
        "`pip install mpich` installs one, "
        "and --mpi names any other launcher"
    )


def _folders(program: str) -> Iterator[Path]:
    place = shutil.which(program, path=PATH)
    if place is not None:
        yield Path(place).absolute().parent
    yield Path(sys.executable).parent
    yield from (Path(folder) for folder in PATH.split(":"))


def _in(folder: Path) -> Iterator[Mpi]:
    """The MPIs of a folder, by their launchers."""
    for name in LAUNCHERS:
        launcher = folder / name
        if launcher.is_file():
            known = _known(launcher)
            if known is not None:
                yield known


@cache
def _known(launcher: Path) -> Mpi | None:
    """The MPI that a launcher says it is of; None if it is of none that is known."""
    try:
        said = subprocess.run(
            [launcher, "--version"], capture_output=True, text=True, timeout=VERSION_S, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    for kind, pattern in (
        (OPEN_MPI, r"\((?:Open MPI|OpenRTE)\) (\S+)"),
        (MPICH, r"HYDRA[^$]*?Version:\s+(\S+)"),
    ):
        found = re.search(pattern, said)
        if found:
            return Mpi(kind, found[1], launcher)
    return None
