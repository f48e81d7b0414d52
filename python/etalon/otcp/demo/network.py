"""Namespaces, devices and Open vSwitch of the demonstration: inside its private namespaces."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path

from etalon.errors import EtalonError
from etalon.otcp.demo.layout import Layout
from etalon.otcp.demo.parts import Links, Part, run

CONTROL = "192.168.255.1"
"""The controller's address on the control network, which the hosts' second device leads to."""
OPENFLOW_PORT, API_PORT = 6653, 8443
PATIENCE_S = 30.0
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")


def hosts_up(layout: Layout) -> None:
    """A namespace for each host, with the control network."""
    run("ip", "link", "set", "lo", "up")
    run("ip", "addr", "add", f"{CONTROL}/32", "dev", "lo")
    for host in layout.hosts:
        run("ip", "netns", "add", host.name)
        outside, inside = f"ctl-{host.name}", "ctl0"
        run(
            "ip", "link", "add", outside, "type", "veth", "peer", "name", inside, "netns", host.name
        )
        run("ip", "link", "set", outside, "up")
        run("ip", "route", "add", f"{host.control_address}/32", "dev", outside)
        _in(host.name, "link", "set", "lo", "up")
        _in(host.name, "addr", "add", f"{host.control_address}/32", "dev", inside)
        _in(host.name, "link", "set", inside, "up")
        _in(host.name, "route", "add", f"{CONTROL}/32", "dev", inside)


def cables_up(layout: Layout, links: Links) -> None:
    """The links; switches' ends say their speed, as a controller wants to know it."""
    for cable in layout.cables:
        links.add(cable)
        for namespace, device in cable.ends:
            if not namespace:
                Path(f"/proc/sys/net/ipv6/conf/{device}/disable_ipv6").write_text("1")
                run("ethtool", "-s", device, "speed", "1000", "duplex", "full")
                run("ip", "link", "set", device, "up")
    for host in layout.hosts:
        _in(host.name, "addr", "add", f"{host.address}/16", "dev", "eth0")
        _in(host.name, "link", "set", "eth0", "up")


def plug(links: Links, device: str, up: bool) -> int:
    """Plugs a switch's cable in or pulls it; returns when (monotonic ns).

    Linux tells of carriers once a second at most (net/core/link_watch), of interfaces that are set down at once: a switch
    that is not Linux need not wait, and so the interface is set down too.
    """
    began = time.monotonic_ns()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sH14x", device.encode(), 0)
        name, flags = struct.unpack("16sH14x", fcntl.ioctl(control, SIOCGIFFLAGS, request))
        flags = flags | IFF_UP if up else flags & ~IFF_UP
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH14x", name, flags))
    links.plug(device, up)
    return began


class OpenVSwitch:
    """Open vSwitch with its userspace datapath, its own database and folder."""

    def __init__(self, folder: Path, logs: Path) -> None:
        self.remote = f"unix:{folder}/db.sock"
        for name in ("RUNDIR", "DBDIR", "LOGDIR", "SYSCONFDIR"):
            os.environ[f"OVS_{name}"] = str(folder)
        run("ovsdb-tool", "create", f"{folder}/conf.db", str(SCHEMA))
        database = ["ovsdb-server", f"--remote=p{self.remote}", f"{folder}/conf.db"]
        self.parts = [Part("ovsdb-server", database, logs / "ovsdb.log")]
        _until(lambda: (folder / "db.sock").exists(), "ovsdb-server does not start")
        self._vsctl("--no-wait", "init")
        switch = ["ovs-vswitchd", self.remote]
        self.parts.append(Part("ovs-vswitchd", switch, logs / "vswitchd.log", fifo=True))

    def bridges_up(self, layout: Layout) -> None:
        """The switches with their ports."""
        for name, dpid in layout.switches.items():
            words = ["add-br", name, "--", "set", "bridge", name, "datapath_type=netdev"]
            words += ["protocols=OpenFlow13", "fail_mode=secure"]
            words += [f"other_config:datapath-id={dpid:016x}"]
            for port in layout.ports(name):
                words += ["--", "add-port", name, port]
            words += ["--", "set-controller", name, f"tcp:127.0.0.1:{OPENFLOW_PORT}"]
            words += ["--", "set", "controller", name, "connection_mode=out-of-band"]
            words += ["max_backoff=1000", "inactivity_probe=5000"]
            self._vsctl(*words)

    def _vsctl(self, *words: str) -> str:
        return run("ovs-vsctl", f"--db={self.remote}", f"--timeout={PATIENCE_S:.0f}", *words)


def _in(host: str, *words: str) -> None:
    run("ip", "-n", host, *words)


def _until(condition: Callable[[], bool], complaint: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise EtalonError(complaint)
        time.sleep(0.02)
