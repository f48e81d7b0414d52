# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a switch that floods costs others, and one whose connection flaps: docs/otcp.md has what these print (`-s`)."""

from __future__ import annotations

import itertools
import json
import os
import re
import struct
import threading
import time
from pathlib import Path
from statistics import median

import fabric
import pytest
from controller_beside import ControllerBeside
from fabric import Fabric, running, until
from model_switch import ModelSwitch, message
from networks import fat_tree, tables, tables_of
from openflow import OUTPUT, entry, error, port_status, reply
from switches_beside import packet_in

from conftest import need_module

need_module("os_ken", "otcp")

from etalon_otcp.topology import PortDescription

TRIES = 12
NEVER_S = 60.0


def asks(number: int) -> bytes:
    """An ARP request of a host that is not in the file."""
    mac = b"\2\0\0" + number.to_bytes(3, "big")
    sender, target = bytes([10, 9, number >> 8, number & 255]), bytes([10, 9, 9, 9])
    kind = bytes.fromhex("08060001080006040001")
    return b"\xff" * 6 + mac + kind + mac + sender + bytes(6) + target + bytes(18)


def modified(up: bool, rate: int) -> bytes:
    """Port 2 is up or down, and has another rate in kb/s (section 7.4.3)."""
    described = struct.pack(
        "!I4x6s2x16s8I", 2, b"\2" + bytes(5), b"p", 0, int(not up), 0, 0, 0, 0, rate, rate
    )
    return message(12, struct.pack("!B7x", 2) + described)


FLOODS = {
    "nothing": b"",
    "packet-in of ARP": b"".join(packet_in(1 + n % 2, asks(n)) for n in range(512)),
    "port-status, a port up and down": b"".join(modified(n % 2 == 0, 10**6) for n in range(512)),
    "port-status, a port's rate": b"".join(modified(True, 10**6 + n) for n in range(512)),
    "error": error(3, 4, bytes(64)) * 512,
    "replies": reply(1, entry(OUTPUT) * 100) * 10,
}


def processor_s(process: int) -> float:
    """Seconds of a processor that a process has taken."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
@pytest.mark.parametrize("what", FLOODS)
def test_others_are_served_beside_a_flood(what: str, tmp_path: Path) -> None:
    """Prints the share of a processor, and how long others wait. Whoever starves never sees the port go."""
    text = '[network]\ndamping = "0s"\n' + tables("t1", "t2")
    over = threading.Event()

    def flood(switch: ModelSwitch) -> None:
        while FLOODS[what] and not over.is_set():
            switch.say(FLOODS[what])

    with (
        ControllerBeside(tmp_path, text) as controller,
        ModelSwitch(controller.port, 1) as bad,
        ModelSwitch(controller.port, 2) as good,
    ):
        until(lambda: controller.metric("etalon_otcp_switches") == 2)
        sender = threading.Thread(target=flood, args=[bad], daemon=True)
        sender.start()
        time.sleep(3)  # a burst is over
        assert controller.process
        began, used = time.monotonic(), processor_s(controller.process.pid)
        answers, changes = [], []
        for up in itertools.islice(itertools.cycle((False, True)), TRIES):
            told = time.monotonic()
            good.say(port_status(1, 0 if up else 1))
            shown = not up
            while shown != up:
                asked = time.monotonic()
                assert asked - told < NEVER_S, "another switch's port was not heard"
                found = json.loads(controller.get("/v1/topology"))
                answers.append(time.monotonic() - asked)
                ports = next(one for one in found["switches"] if one["name"] == "t2")["ports"]
                shown = any(port["number"] == 1 for port in ports)
            changes.append(time.monotonic() - told)
            time.sleep(0.1)
        share = (processor_s(controller.process.pid) - used) / (time.monotonic() - began)
        assert controller.metric("etalon_otcp_switches") == 2
        dropped = re.findall(
            r'^etalon_otcp_dropped_total\{switch="(\w+)"', controller.get("/metrics"), re.M
        )
        over.set()
        sender.join(20)
    # Of a flood too, nothing may be dropped: beside a busy machine it may be read at less than a switch's rate
    assert set(dropped) <= ({"t1"} if FLOODS[what] else set())
    port, api = (f"{1e3 * median(one):.0f}/{1e3 * max(one):.0f}" for one in (changes, answers))
    print(f"\n{what}: {share:.2f} of a processor, port {port} ms, API {api} ms")


@pytest.mark.slow
@pytest.mark.parametrize("damping", ["5s", "0s"])
def test_a_connection_that_flaps_tells_hosts_little(
    damping: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ToR switch of a fat tree of 80 switches is away ten times in 20 s. Prints what 128 hosts are told."""
    switch = "e0-0"
    network = fat_tree(k=8, hosts=4)
    links = {tuple(link.source): tuple(link.target) for link in network.links.values()}
    hosts = {
        tuple(host.port): (str(host.addresses[0]), host.mac) for host in network.hosts.values()
    }
    names = sorted({place.switch for place in network.ports})
    monkeypatch.setattr(fabric, "CABLES", links)
    monkeypatch.setattr(fabric, "HOSTS", hosts)
    monkeypatch.setattr(fabric, "DELAYS_US", dict.fromkeys(names, 20))

    def connect(fabric: Fabric, *switches: str) -> None:
        fabric.up |= set(switches)
        for name in switches:
            ports = [
                PortDescription(place.number, f"{name}-{place.number}", True, 10**9)
                for place in network.ports
                if place.switch == name
            ]
            fabric.controller.switch_up(name, ports, fabric.tables.get(name, {}))

    monkeypatch.setattr(Fabric, "connect", connect)
    text = '[measure]\nsamples = 1\ngap = "0s"\nwatch = "1s"\nlongest = "5s"\n'
    text += '[network]\nqueue = "90kB"\nsettle = "30s"\n'
    text += f'damping = "{damping}"\n{tables_of(network)}'
    with running(tmp_path, text) as (controller, model):
        model.connect(*names)
        until(lambda: len(controller.view.documents) == len(network.hosts), 200)
        until(lambda: len(controller.view.network.links) == len(network.links), 200)
        until(lambda: not any(controller.topology.unmeasured()), 200)
        told: list[str] = []
        controller.told = told.extend
        version = controller.publication.version
        for _ in range(10):
            model.leave(switch)
            time.sleep(1)
            model.connect(switch)
            time.sleep(1)
        versions = controller.publication.version - version
    print(f"\nflaps, damping {damping}: {versions} versions, {len(told)} documents")
    assert (versions <= 8) == (damping != "0s")
