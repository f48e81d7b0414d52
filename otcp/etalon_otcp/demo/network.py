# SPDX-License-Identifier: MIT OR Apache-2.0
"""Namespaces, devices and Open vSwitch of the demonstration: inside its private namespaces."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from etalon.errors import EtalonError
from etalon_otcp.demo.cabling import Cabling
from etalon_otcp.demo.layout import Layout
from etalon_otcp.demo.parts import Part, ip, run, within

CONTROL = "192.168.255.1"
"""The controller's address on the control network, which the hosts' second device leads to."""
OPENFLOW_PORT, API_PORT = 6653, 8443
PATIENCE_S = 90.0
SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")


def members_up(layout: Layout) -> None:
    """A namespace for each host, and each switch that has its own, with the control network."""
    outside = ["link set lo up", f"addr add {CONTROL}/32 dev lo"]
    for name, address in layout.members().items():
        device = f"ctl-{name}"
        outside += [
            f"netns add {name}",
            f"link add {device} type veth peer name ctl0 netns {name}",
            f"link set {device} up",
            f"route add {address}/32 dev {device}",
        ]
    ip(outside)
    for name, address in layout.members().items():
        inside = ["link set lo up", f"addr add {address}/32 dev ctl0", "link set ctl0 up"]
        ip([*inside, f"route add {CONTROL}/32 dev ctl0"], name)


def cables_up(layout: Layout, cabling: Cabling) -> None:
    """The links, and the hosts' addresses."""
    cabling.add(layout.cables)
    for name in layout.switches:
        ports = layout.ports(name)  # without addresses of their own
        lines = [f"link set {port} up addrgenmode none" for port in ports]
        ip(lines, name if layout.apart else "")
    for host in layout.hosts:
        ip([f"addr add {host.address}/16 dev eth0", "link set eth0 up"], host.name)


class OpenVSwitch:
    """Open vSwitch with its userspace datapath, its own database and folder, as some of the network's switches."""

    def __init__(self, layout: Layout, names: Sequence[str], folder: Path, logs: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.remote = f"unix:{folder}/db.sock"
        for name in ("RUNDIR", "DBDIR", "LOGDIR", "SYSCONFDIR"):
            os.environ[f"OVS_{name}"] = str(folder)
        run("ovsdb-tool", "create", f"{folder}/conf.db", str(SCHEMA))
        database = ["ovsdb-server", f"--remote=p{self.remote}", f"{folder}/conf.db"]
        self.parts = [Part("ovsdb-server", database, logs / "ovsdb.log")]
        _until(lambda: (folder / "db.sock").exists(), "ovsdb-server does not start")
        switch = [*within(names[0] if layout.apart else ""), "ovs-vswitchd", self.remote]
        self.parts.append(Part("ovs-vswitchd", switch, logs / "vswitchd.log", fifo=True))
        words = ["init"]
        for name in names:
            words += self._bridge(layout, name)
        run("ovs-vsctl", f"--db={self.remote}", f"--timeout={PATIENCE_S:.0f}", *words)

    def _bridge(self, layout: Layout, name: str) -> Iterator[str]:
        """The words that make a switch with its ports."""
        yield from ("--", "add-br", name, "--", "set", "bridge", name, "datapath_type=netdev")
        yield from ("protocols=OpenFlow13", "fail_mode=secure")
        yield f"other_config:datapath-id={layout.switches[name]:016x}"
        for port in layout.ports(name):
            yield from ("--", "add-port", name, port)
        yield from ("--", "set-controller", name, f"tcp:{CONTROL}:{OPENFLOW_PORT}")
        yield from ("--", "set", "controller", name, "connection_mode=out-of-band")
        yield from ("max_backoff=1000", "inactivity_probe=5000")


def switches_up(layout: Layout, folder: Path, logs: Path) -> list[OpenVSwitch]:
    """All switches: in one process, or each in its own, which looks after its own ports only."""
    if not layout.apart:
        return [OpenVSwitch(layout, list(layout.switches), folder, logs)]
    return [OpenVSwitch(layout, [name], folder / name, logs) for name in layout.switches]


def _until(condition: Callable[[], bool], complaint: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise EtalonError(complaint)
        time.sleep(0.02)
