# SPDX-License-Identifier: MIT OR Apache-2.0
"""Four switches and two hosts, which answer the controller's probes without sockets."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from ipaddress import IPv6Address, ip_address
from pathlib import Path

from networks import tables

from etalon_otcp import arp, lldp, ndp
from etalon_otcp.config import Config
from etalon_otcp.controller import Controller
from etalon_otcp.measuring import Measuring
from etalon_otcp.network import PortId
from etalon_otcp.probing import CONTROLLER_PORT, Action, Echo
from etalon_otcp.topology import PortDescription
from etalon_otcp.watching import watch_links, watch_seats

FILE = f"""
state = "state.json"
[measure]
samples = 2
gap = "0s"
watch = "100ms"
[network]
queue = "90kB"
settle = "5s"
{tables("t1", "t2", "a1", "a2")}
[[host]]
name = "h1"
addresses = ["10.0.0.1"]
[[host]]
name = "h2"
addresses = ["10.0.0.2"]
"""
CABLES = {("t1", 1): ("a1", 1), ("t2", 1): ("a1", 2), ("t1", 2): ("a2", 1), ("t2", 2): ("a2", 2)}
CABLES |= {b: a for a, b in CABLES.items()}
HOSTS = {("t1", 3): ("10.0.0.1", "02:00:00:00:00:01"), ("t2", 3): ("10.0.0.2", "02:00:00:00:00:02")}
DELAYS_US = {"a1": 200, "a2": 300}


class Fabric:
    """Answers probes as switches, links and hosts would, in virtual nanoseconds."""

    def __init__(self, controller: Controller) -> None:
        self.controller = controller
        controller.southbound = self
        self.up: set[str] = set()
        self.tables: dict[str, dict[str, tuple[int, ...]]] = {}

    def connect(self, *switches: str) -> None:
        self.up |= set(switches)
        for switch in switches:
            numbers = (1, 2, 3, 4) if switch.startswith("t") else (1, 2)
            ports = [PortDescription(n, f"{switch}-{n}", True, 10**9) for n in numbers]
            self.controller.switch_up(switch, ports, self.tables.get(switch, {}))

    def leave(self, switch: str) -> None:
        self.up.discard(switch)
        self.controller.switch_down(switch)

    def set_port(self, switch: str, number: int, up: bool) -> None:
        self.controller.port(
            switch, PortDescription(number, f"{switch}-{number}", up, 10**9), deleted=False
        )

    def send(self, action: Action) -> None:
        if isinstance(action, Echo):
            return
        now = self._sent_ns(action.frame)
        for number in action.ports:
            self._out(action.switch, number, action.frame, now)

    def _sent_ns(self, frame: bytes) -> int:
        """When the prober stamped a probe: what a busy machine adds after that is left out."""
        prober = self.controller.prober
        if lldp.is_lldp(frame):
            return lldp.decode(frame, prober.key).sent_ns
        if ndp.is_ipv6(frame):
            return next(
                asked.sent_ns for key, asked in prober._asked.items() if key[:6] == frame[6:12]
            )
        asked = prober._asked.get(arp.decode(frame).sender_mac)
        return asked.sent_ns if asked else 0

    def _out(self, switch: str, number: int, frame: bytes, now: int) -> None:
        hand_in = self.controller.packet_in
        if number == CONTROLLER_PORT:
            hand_in(PortId(switch, number), frame, now + 300_000)
        elif (switch, number) in CABLES:
            peer = CABLES[switch, number]
            delay = DELAYS_US[peer[0] if peer[0] in DELAYS_US else switch] * 1000
            if peer[0] in self.up:
                hand_in(PortId(*peer), frame, now + 300_000 + delay)
        elif (switch, number) in HOSTS and ndp.is_ipv6(frame):
            address, mac = HOSTS[switch, number]
            if IPv6Address(frame[62:78]) == ip_address(address):
                reply = ndp.answer(frame, bytes.fromhex(mac.replace(":", "")))
                hand_in(PortId(switch, number), reply, now + 300_000 + 200_000)
        elif (switch, number) in HOSTS and arp.is_arp(frame):
            address, mac = HOSTS[switch, number]
            request = arp.decode(frame)
            if request.target == ip_address(address) and request.operation == arp.REQUEST:
                reply = arp.encode(arp.answer(request, bytes.fromhex(mac.replace(":", ""))))
                hand_in(PortId(switch, number), reply, now + 300_000 + 200_000)

    def write(
        self, switch: str, written: Mapping[str, tuple[int, ...]], deleted: Iterable[str]
    ) -> None:
        table = self.tables.setdefault(switch, {})
        table.update(written)
        for mac in deleted:
            del table[mac]

    def count_flows(self, switch: str) -> None:
        raise AssertionError("alpha is given by hand")


@contextmanager
def running(folder: Path, text: str = FILE) -> Iterator[tuple[Controller, Fabric]]:
    file = folder / "controller.toml"
    file.write_text(text)
    controller = Controller(Config.load(file))
    fabric = Fabric(controller)
    measuring = Measuring(controller)
    watches = (watch_links, watch_seats)
    work = [controller.run, measuring.run, *(partial(watch, controller) for watch in watches)]
    threads = [threading.Thread(target=one) for one in work]
    for thread in threads:
        thread.start()
    try:
        yield controller, fabric
    finally:
        controller.stop()
        for thread in threads:
            thread.join()
        controller.audit.close()


def until(condition: Callable[[], object], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.01)
