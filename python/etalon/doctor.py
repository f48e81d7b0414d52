# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the Linux engine needs of a machine, found out by trying it: nothing is changed, nothing needs root."""

from __future__ import annotations

import errno
import mmap
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path

from etalon import files
from etalon.errors import EtalonError, PlanError
from etalon.kernel import cache, packaged, places, source, tools
from etalon.kernel.build import NEEDED
from etalon.kernel.recipe import DEFAULT_HZ

MEMORY = 1_000_000_000
"""Bytes of memory for a run: its kernel may use as much, and usually takes a tenth."""
PROGRAMS = {
    "iperf3": "iperf3",
    "ping": "iputils-ping",
    "flowgrind": "flowgrind",
    "sockperf": "sockperf",
}
"""Programs that emulated hosts are often asked to run, and Debian's packages of them."""
INSTALL_OTCP = "pip install 'etalon-rdcn[otcp]' (in a clone: make setup)"
"""How to get OTCP's controller."""
TINY = """
name = "doctor"
duration = "1ms"
warmup = "0s"
[network]
racks = 2
hosts = 16
[schedule]
day = "180us"
night = "20us"
[[bulk]]
from = 0
to = 1
"""
"""An experiment that takes no time."""
NOTIFIED = (
    "libc.prctl(38, 1, 0, 0, 0) == 0 and libc.syscall(317, 1, 8, ctypes.byref((ctypes.c_uint64 * 2)("
    "1, ctypes.addressof(allow := ctypes.c_uint64(0x7fff000000000006))))) >= 0"
)
"""For the C library on x86-64: whether the host's seccomp notifies of system calls. The filter, one instruction, allows all."""
MFD_EXEC = 0x10
"""memfd_create's flag for memory that may be executed; since Linux 6.3."""


class State(StrEnum):
    """How a check ended."""

    OK = "ok"
    MISSING = "missing"
    OPTIONAL = "optional"
    """Missing, but only some plans need it."""


@dataclass(frozen=True)
class Check:
    """One thing that is needed: what was found, and what to do if it is missing."""

    name: str
    state: State
    found: str
    remedy: str = ""


def examine() -> Iterator[Check]:
    """All checks, in the order in which they matter."""
    yield from (_python(), _core(), _processor())
    yield from _building()
    yield from (_ptrace(), _calls(), _processors(), _memory_file(), _layout(), _disk(), _memory())
    yield from _image()
    yield from (_program(name, package) for name, package in PROGRAMS.items())
    yield _otcp()


def _state(good: bool, otherwise: State = State.MISSING) -> State:
    return State.OK if good else otherwise


def _otcp() -> Check:
    """What OTCP needs; who only simulates needs none of it."""
    if find_spec("etalon_otcp") is None:
        return Check("OTCP", State.OPTIONAL, "not installed", INSTALL_OTCP)
    from etalon_otcp.demo import outside
    from etalon_otcp.process import check_extra

    extra: list[str] = []
    try:
        check_extra()
    except EtalonError as error:
        extra.append(str(error))
    lacking = {
        "controller": extra,
        "demo": extra + outside.missing(),
        "demo --virtual": extra + outside.missing(emulated=True),
    }
    works = [name for name, those in lacking.items() if not those]
    remedies = dict.fromkeys(remedy for those in lacking.values() for remedy in those)
    state = _state(len(works) == len(lacking), State.OPTIONAL)
    return Check("OTCP", state, ", ".join(works) or "nothing of it", "; ".join(remedies))


def _python() -> Check:
    good = sys.version_info >= (3, 11)
    return Check(
        "Python", _state(good), platform.python_version(), "" if good else "use 3.11 or newer"
    )


def _core() -> Check:
    from etalon import _core

    good = hasattr(_core, "run_linux")
    return Check("core", _state(good), _core.__version__, "" if good else "make setup")


def _processor() -> Check:
    found = f"{platform.system()} {platform.machine()}"
    good = found == "Linux x86_64"
    remedy = "" if good else "the Linux engine runs on x86-64 Linux; the simulator runs here"
    return Check("machine", _state(good), found, remedy)


def _building() -> Iterator[Check]:
    """What builds a kernel: optional for those who have one."""
    there = _kernel() is not None
    for check in (_sources(), _tools(), _source()):
        if there and check.state is State.MISSING:
            purpose = f"only to build another kernel: {check.remedy}"
            yield replace(check, state=State.OPTIONAL, remedy=purpose)
        else:
            yield check


def _kernel(hz: int = DEFAULT_HZ) -> Path | None:
    """The kernel that runs would take; None if there is none, or if this machine cannot have one."""
    try:
        return cache.find(hz)
    except EtalonError:
        return None


def _sources() -> Check:
    try:
        return Check("source tree", State.OK, str(places.checkout()))
    except EtalonError as error:
        return Check("source tree", State.MISSING, "none", str(error))


def _tools() -> Check:
    missing = tools.missing()
    if missing:
        return Check(
            "build tools", State.MISSING, f"no {', '.join(missing)}", tools.remedy(missing)
        )
    return Check(
        "build tools", State.OK, ", ".join([*(tool.name for tool in tools.TOOLS), "cargo"])
    )


def _source() -> Check:
    found = source.found()
    if found is not None:
        return Check("kernel source", State.OK, str(found.path))
    if shutil.which("apt-get"):
        return Check("kernel source", State.OK, f"the build fetches {source.PACKAGE}")
    return Check("kernel source", State.MISSING, "none", source.ELSEWHERE)


def _ptrace() -> Check:
    good = _tried("libc.ptrace(0, 0, 0, 0) == 0")
    remedy = (
        "" if good else "allow ptrace: sysctl kernel.yama.ptrace_scope=1, or --cap-add SYS_PTRACE"
    )
    return Check("ptrace", _state(good), "allowed" if good else "refused", remedy)


def notifies() -> bool:
    """Whether the host's seccomp notifies of system calls: then programs' calls do not go by ptrace."""
    return _tried(NOTIFIED)


def _calls() -> Check:
    if os.environ.get("ETALON_CALLS") == "ptrace":
        return Check("system calls", State.OK, "by ptrace, as ETALON_CALLS asks")
    good = notifies()
    found = "notified" if good else "by ptrace: programs' calls take about five times as long"
    remedy = "" if good else "Linux 5.0 or newer; in a container: --security-opt seccomp=unconfined"
    return Check("system calls", _state(good, State.OPTIONAL), found, remedy)


def _processors() -> Check:
    if os.environ.get("ETALON_PIN") == "no":
        return Check("processors", State.OK, "runs are not pinned, as ETALON_PIN asks")
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return Check("processors", State.OK, f"{count}; each run keeps to one that no other run has")


def _layout() -> Check:
    good = _tried("libc.personality(libc.personality(0xffffffff) | 0x40000) >= 0")
    found = "fixed" if good else "cannot be fixed: runs may differ in how much memory they see"
    remedy = "" if good else "in a container: --security-opt seccomp=unconfined"
    return Check("address space", _state(good, State.OPTIONAL), found, remedy)


def _tried(expression: str) -> bool:
    """Whether an expression with the C library holds, in a process of its own."""
    script = f"import ctypes, os; libc = ctypes.CDLL(None); os._exit(not ({expression}))"
    return subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def _memory_file() -> Check:
    try:
        try:
            file = os.memfd_create("etalon", os.MFD_CLOEXEC | MFD_EXEC)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            file = os.memfd_create("etalon", os.MFD_CLOEXEC)
        try:
            os.ftruncate(file, mmap.PAGESIZE)
            access = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
            mmap.mmap(file, mmap.PAGESIZE, prot=access).close()
        finally:
            os.close(file)
    except OSError as error:
        remedy = "sudo sysctl vm.memfd_noexec=1"
        return Check("executable memory", State.MISSING, f"refused: {error.strerror}", remedy)
    return Check("executable memory", State.OK, "allowed")


def _disk() -> Check:
    folder = places.cache()
    try:
        files.check_writable(folder / "images")
    except PlanError as error:
        remedy = "set XDG_CACHE_HOME to a folder that you may write in"
        return Check("disk", State.MISSING, str(error), remedy)
    there = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(there).free
    found = f"{free / 1e9:.1f} GB free in {there}"
    if os.statvfs(there).f_flag & os.ST_NOEXEC:
        remedy = "set XDG_CACHE_HOME to a folder that is not mounted noexec"
        return Check("disk", State.MISSING, f"{there} is mounted noexec", remedy)
    good = _kernel() is not None or free >= NEEDED
    remedy = (
        "" if good else f"a build takes {NEEDED / 1e9:.1f} GB: make room, or set XDG_CACHE_HOME"
    )
    return Check("disk", _state(good), found, remedy)


def _memory() -> Check:
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    values = {name: text for name, _, text in (line.partition(":") for line in lines)}
    free = int(values["MemAvailable"].split()[0]) * 1024
    good = free >= MEMORY
    remedy = "" if good else "end other programs, or run fewer at a time with --jobs"
    return Check("memory", _state(good, State.OPTIONAL), f"{free / 1e9:.1f} GB available", remedy)


def _image() -> Iterator[Check]:
    if (image := _kernel()) is None:
        remedy = packaged.INSTALL if places.installed() else "etalon kernel build"
        yield Check("kernel", State.MISSING, "not built, or built from other sources", remedy)
        return
    yield Check("kernel", State.OK, _which(DEFAULT_HZ, image))
    others = [(hz, path) for hz in packaged.HZ if hz != DEFAULT_HZ and (path := _kernel(hz))]
    yield from (Check("kernel", State.OK, _which(hz, path)) for hz, path in others)
    yield _run(image)


def _which(hz: int, image: Path) -> str:
    """Which kernel is used for plans with this timer frequency."""
    if packaged.holds(image):
        return f"HZ {hz}: prebuilt, from {packaged.DISTRIBUTION} {packaged.version()} ({image})"
    return f"HZ {hz}: built here ({image})"


def _run(image: Path) -> Check:
    """Boots the kernel, runs an experiment of a millisecond on it, and says what time and memory that took."""
    from etalon import _core
    from etalon.engine import linux
    from etalon.plan import Plan

    plan, most = Plan.from_toml(TINY), 0
    with ThreadPoolExecutor(1) as pool:
        began = time.monotonic()
        running = pool.submit(linux.Linux().run, plan, _core.Control())
        while not running.done():
            most = max(most, _peak_memory(image))
            time.sleep(0.002)
        took = time.monotonic() - began
    try:
        running.result()
    except EtalonError as error:
        remedy = "the message above, or else: etalon kernel build --force"
        return Check("run", State.MISSING, " ".join(str(error).split()), remedy)
    hosts = plan.network.racks * plan.network.hosts
    found = f"{hosts} hosts booted and ran in {took:.2f} s, with {most / 1e6:.0f} MB of memory"
    return Check("run", State.OK, found)


def _peak_memory(image: Path) -> int:
    """The most that a kernel which this process started has held in memory so far, in bytes; 0 if there is none."""
    peak = 0
    for children in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError, IndexError):  # a thread or a kernel that has just ended
            for process in children.read_text(encoding="ascii").split():
                if os.readlink(f"/proc/{process}/exe") == str(image.resolve()):
                    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
                    peak = max(peak, int(status.partition("VmHWM:")[2].split()[0]) * 1024)
    return peak


def _program(name: str, package: str) -> Check:
    path = shutil.which(name)
    if path is not None:
        return Check(name, State.OK, path)
    remedy = f"sudo apt-get install {package}" if shutil.which("apt-get") else f"install {package}"
    return Check(name, State.OPTIONAL, "not installed", remedy)
