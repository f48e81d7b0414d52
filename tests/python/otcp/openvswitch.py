# SPDX-License-Identifier: MIT OR Apache-2.0
"""Open vSwitch without rights: a database, and a dummy datapath if wanted, in a folder of its own."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fabric import until

from conftest import need_program

PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")


class Database:
    """ovsdb-server in a folder, at the address `remote`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.remote = folder, f"unix:{folder}/db.sock"
        folder.mkdir(exist_ok=True)
        self._environment = {"PATH": PATH}
        self._environment |= {f"OVS_{n}": str(folder) for n in ("RUNDIR", "DBDIR", "LOGDIR")}
        self._run("ovsdb-tool", "create", f"{folder}/conf.db", str(SCHEMA))
        self._parts = [self._start("ovsdb-server", f"--remote=p{self.remote}", f"{folder}/conf.db")]
        until((folder / "db.sock").exists)
        self.write("init")

    def write(self, *words: str) -> str:
        """ovs-vsctl, which waits for no switch; the database's socket is there a moment before it listens."""
        patience = ("--retry", "--timeout=20", "--no-wait")
        return self._run("ovs-vsctl", f"--db={self.remote}", *patience, *words)

    def end(self) -> None:
        for part in reversed(self._parts):
            part.kill()
            part.wait()

    def _run(self, *words: str) -> str:
        done = subprocess.run(
            words, env=self._environment, check=True, capture_output=True, text=True
        )
        return done.stdout

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        log = (self.folder / f"{words[0]}.log").open("wb")
        with log:
            return subprocess.Popen(words, env=self._environment, stdout=log, stderr=log)


class OpenVSwitch(Database):
    """A whole switch; `vsctl` waits until ovs-vswitchd has done what it is told."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        dummy = "--enable-dummy=override", "--disable-system"
        self._parts.append(self._start("ovs-vswitchd", *dummy, self.remote))

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """The switch does nothing meanwhile; its connections stay open."""
        self._parts[-1].send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._parts[-1].send_signal(signal.SIGCONT)

    def vsctl(self, *words: str) -> str:
        return self._run("ovs-vsctl", f"--db={self.remote}", "--timeout=20", *words)

    def bridge(self, name: str, dpid: int, controller: str) -> None:
        """A bridge that connects to a controller, and again within a second."""
        self.vsctl(
            *f"add-br {name} -- set bridge {name} datapath_type=dummy protocols=OpenFlow13".split(),
            *f"fail_mode=secure other-config:datapath-id={dpid:016x}".split(),
            *f"-- set-controller {name} {controller}".split(),
            *f"-- set controller {name} connection_mode=out-of-band max_backoff=1000".split(),
        )


@contextmanager
def open_vswitch(folder: Path) -> Iterator[OpenVSwitch]:
    need_program("ovs-vsctl")
    made = OpenVSwitch(folder)
    try:
        yield made
    finally:
        made.end()


@contextmanager
def database(folder: Path) -> Iterator[Database]:
    """A database without a switch."""
    need_program("ovs-vsctl")
    made = Database(folder)
    try:
        yield made
    finally:
        made.end()
