# SPDX-License-Identifier: MIT OR Apache-2.0
"""The demonstration from outside: checks the machine, makes the namespaces, waits, and cleans up."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from etalon.errors import EtalonError
from etalon_otcp.process import check_extra

TOOLS = {
    "ovs-vsctl": "openvswitch-switch",
    "ovs-vswitchd": "openvswitch-switch",
    "ovsdb-server": "openvswitch-switch",
    "ovsdb-tool": "openvswitch-switch",
    "ethtool": "ethtool",
    "ip": "iproute2",
    "ss": "iproute2",
    "ping": "iputils-ping",
    "unshare": "util-linux",
    "nsenter": "util-linux",
}
"""Programs, and Debian's packages of them."""
PROGRAMS = ("etalon-otcp-links", "etalon-otcp-agent")
FOLDER = "ETALON_OTCP_BIN"
"""Environment variable: the folder with these programs, instead of building them."""
PACKED = Path(__file__).parents[1] / "bin"
"""Where a wheel has them."""
CGROUP = "etalon-otcp-demo-"
"""Before the number of the process that a folder of cgroups is for: one that is left behind can be told."""
PR_SET_PDEATHSIG = 1
PYTHON = [sys.executable, "-P"]
"""-P: no modules from the current folder, whose changes would cost system calls, and so virtual time."""
ETALON = [*PYTHON, "-m", "etalon"]
"""The command line."""


@dataclass(frozen=True)
class Options:
    """What is shown: racks, hosts in each, layers of switches; samples of each delay, how it is calibrated, what is taken of
    the samples; how often a link fails; whether delays only; where logs are kept.
    """

    racks: int = 2
    hosts_per_rack: int = 2
    layers: int = 2
    samples: int = 100
    calibrate: str = "loop"
    statistic: str = "min"
    failures: int = 1
    delays: bool = False
    logs: Path | None = None

    def settings(self, **more: Any) -> dict[str, Any]:
        """As the stage takes them."""
        logs = str(self.logs.absolute()) if self.logs else None
        return asdict(self) | {"logs": logs} | more


def missing(*, emulated: bool = False) -> list[str]:
    """What this machine lacks, one sentence each; empty if nothing. An emulated host has devices of its own, but needs tc."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    tools = TOOLS | ({"tc": "iproute2"} if emulated else {})
    lacking = {package for tool, package in tools.items() if not shutil.which(tool, path=path)}
    found = [f"apt-get install {' '.join(sorted(lacking))}"] if lacking else []
    if not emulated and not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        found.append("/dev/net/tun cannot be opened: run it as root, or give it to your user")
    return found


def programs(profile: str = "release") -> dict[str, str]:
    """The links and the agent: from a folder, from the wheel, PATH, or built from the source tree with a profile of cargo's.

    Raises:
        EtalonError: if they are nowhere and cannot be built.
    """
    given = os.environ.get(FOLDER)
    places = given or os.pathsep.join((str(PACKED), os.environ.get("PATH", os.defpath)))
    found = {name: shutil.which(name, path=places) for name in PROGRAMS}
    if all(found.values()):
        return {name: path for name, path in found.items() if path}
    if given:
        raise EtalonError(
            f"{FOLDER}={given}: has no {' and no '.join(n for n, p in found.items() if not p)}"
        )
    command = ["cargo", "build", "--quiet", f"--profile={profile}"]
    command.append("--message-format=json-render-diagnostics")
    command += [word for name in PROGRAMS for word in ("-p", name)]
    done = subprocess.run(command, cwd=_sources(), stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise EtalonError("the demonstration's programs could not be built with cargo")
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    built = [message.get("executable") for message in messages]
    return {Path(path).name: path for path in built if path and Path(path).name in PROGRAMS}


def _sources() -> Path:
    root = Path(__file__).resolve().parents[3]
    if not (root / "crates" / PROGRAMS[0]).is_dir():
        raise EtalonError(
            f"{' and '.join(PROGRAMS)} are not installed, and this is no source tree to build them from; "
            f"{FOLDER} names the folder that has them"
        )
    return root


def run(options: Options, to: TextIO) -> dict[str, Any]:
    """Shows all of it on a stream; returns what was measured.

    Raises:
        EtalonError: with what is missing, or what failed.
    """
    check_extra()
    if lacking := missing():
        raise EtalonError(f"the demonstration needs: {'; '.join(lacking)}")
    with _cgroups() as cgroup:
        return _inside(options.settings(programs=programs(), cgroup=cgroup, emulated=False), to)


def _inside(settings: dict[str, Any], to: TextIO) -> dict[str, Any]:
    """Runs `inside` in namespaces of its own. It dies with us, and everything in them with it."""
    unshare = ["unshare", "--mount", "--net", "--pid", "--ipc", "--fork", "--kill-child"]
    unshare += ["--mount-proc"]
    if os.geteuid():
        unshare += ["--user", "--map-root-user"]
    results, told = os.pipe()
    command = [*unshare, sys.executable, "-m", "etalon_otcp.demo.inside", str(told)]
    environment = os.environ | {"PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"}
    process = subprocess.Popen(
        [*command, json.dumps(settings)],
        pass_fds=(told,),
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=to,
        start_new_session=True,
        preexec_fn=_die_with_parent,
    )
    os.close(told)
    try:
        with os.fdopen(results) as stream:
            text = stream.read()
        process.wait()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    answer = json.loads(text) if text else {"error": "the demonstration was killed"}
    if "error" in answer:
        raise EtalonError(answer["error"])
    return dict(answer)


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


@contextmanager
def _cgroups() -> Iterator[str | None]:
    """A folder for the hosts' cgroups, if BPF can be had (root of the machine); removed even if we are killed."""
    mount = _cgroup2() if os.geteuid() == 0 else None
    if mount is None:
        yield None
        return
    for left in mount.glob(f"{CGROUP}*"):
        if not Path(f"/proc/{left.name.removeprefix(CGROUP)}").exists():
            _remove(left)
    folder = mount / f"{CGROUP}{os.getpid()}"
    try:
        folder.mkdir()
    except OSError:
        yield None
        return
    alive, ours = os.pipe()
    janitor = os.fork()
    if janitor == 0:
        os.close(ours)
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.read(alive, 1)  # until the last of our descriptors is closed: we have ended, somehow
        _remove(folder, 10.0)
        os._exit(0)
    os.close(alive)
    try:
        yield str(folder)
    finally:
        os.close(ours)
        os.waitpid(janitor, 0)
        _remove(folder)


def _cgroup2() -> Path | None:
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, place, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(place)
    return None


def _remove(folder: Path, patience_s: float = 0.0) -> None:
    """Removes a folder of cgroups, once its processes have gone."""
    end = time.monotonic() + patience_s
    while folder.exists():
        for inner in (*folder.glob("*/"), folder):
            with suppress(OSError):
                inner.rmdir()
        if time.monotonic() >= end:
            return
        time.sleep(0.05)
