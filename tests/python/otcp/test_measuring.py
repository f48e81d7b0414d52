# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a measurement costs: a thousand hosts behind real connections, whose switches are another process."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from networks import fat_tree, tables_of, tree

from conftest import need_module

need_module("os_ken", "otcp")

from etalon_otcp import measuring
from etalon_otcp.channel import Channel, Reader
from etalon_otcp.config import Config
from etalon_otcp.controller import Controller
from etalon_otcp.measuring import Measuring
from etalon_otcp.network import Network
from etalon_otcp.switches import Switches
from etalon_otcp.topology import PortDescription

BESIDE = Path(__file__).with_name("switches_beside.py")
SAMPLES = 20
"""A fifth of a round."""


def file_of(network: Network) -> str:
    text = f'[measure]\nlongest = "4s"\nsamples = {SAMPLES}\n[network]\nforwarding = false\n'
    return text + tables_of(network)


def who_is_there(network: Network) -> dict[str, dict[int, Any]]:
    there: dict[str, dict[int, Any]] = defaultdict(dict)
    for source, link in network.links.items():
        there[source.switch][source.number] = link.target
    for host in network.hosts.values():
        there[host.port.switch][host.port.number] = host.mac.replace(":", "")
    return there


@contextmanager
def connected(controller: Controller, network: Network) -> Iterator[None]:
    """All switches connected, their links and hosts seen."""
    Switches.controller = controller
    switches = Switches()
    door = socket.create_server(("127.0.0.1", 0), backlog=1)
    channels, far, reader = [], {}, Reader()
    for switch in controller.config.switch:
        far[switch.name] = socket.create_connection(door.getsockname())
        channel = Channel(*door.accept(), reader)
        channel.set_version(4)
        dpid = int(switch.dpid, 16)
        switches.features(SimpleNamespace(msg=SimpleNamespace(datapath=channel, datapath_id=dpid)))
        channels.append(channel)
    door.close()
    told = {
        "sockets": {name: s.fileno() for name, s in far.items()},
        "there": who_is_there(network),
    }
    fds = [s.fileno() for s in far.values()]
    beside = subprocess.Popen([sys.executable, BESIDE], stdin=subprocess.PIPE, pass_fds=fds)
    assert beside.stdin
    beside.stdin.write(json.dumps(told).encode() + b"\n")
    beside.stdin.close()
    threads = [threading.Thread(target=channel.serve, daemon=True) for channel in channels]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for one in far.values():
            one.close()
        beside.kill()
        beside.wait()
        for thread in threads:
            thread.join(20)
        assert not any(thread.is_alive() for thread in threads)
        del Switches.controller


@pytest.mark.slow
def test_a_round_of_a_thousand_hosts_takes_less_than_a_minute_of_a_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What this process spends, sockets included. A machine at load average 8 has needed up to 35 s."""
    monkeypatch.setattr(measuring, "FIRST_SAMPLES", SAMPLES)
    network = fat_tree(k=16, hosts=8)
    file = tmp_path / "controller.toml"
    file.write_text(file_of(network))
    controller = Controller(Config.load(file))
    for switch in controller.config.switch:
        places = [place for place in network.ports if place.switch == switch.name]
        ports = [PortDescription(p.number, str(p), True, 10**9) for p in places]
        controller.topology.switch_up(switch.name, ports, 0.0)
    for link in network.links.values():
        controller.topology.link_seen(link.source, link.target)
    for host in network.hosts.values():
        controller.topology.host_seen(host.name, host.port, host.mac, time.monotonic())
    with connected(controller, network):
        began, busy = time.monotonic(), time.process_time()
        Measuring(controller)._measure_new()
        took, spent = time.monotonic() - began, time.process_time() - busy
    assert not any(controller.topology.unmeasured())
    prober = controller.prober
    assert prober.counters["lldp_accepted"] == SAMPLES * (320 + 4096)
    assert prober.counters["arp_accepted"] == SAMPLES * 1024
    print(f"100 samples: {took * 5:.1f} s, {spent * 5:.1f} s of a processor")
    assert spent * 5 < 60


def test_who_asks_for_a_measurement_sees_it_until_it_is_over(tmp_path: Path) -> None:
    """At no instant is it neither asked for nor running."""
    file = tmp_path / "controller.toml"
    file.write_text(file_of(tree()))
    measuring_ = Measuring(Controller(Config.load(file)))
    seen: list[bool] = []

    class Requested(threading.Event):
        def clear(self) -> None:
            super().clear()
            seen.append(measuring_.running)
            measuring_._controller.stop()

    measuring_._requested = Requested()
    measuring_.request()
    assert measuring_.running
    measuring_.run()
    assert seen == [True] and not measuring_.running
