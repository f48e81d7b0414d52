# SPDX-License-Identifier: MIT OR Apache-2.0
"""The threads that watch: that links still speak, where hosts are, what databases say. They go on while others measure."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Iterable
from ipaddress import ip_network

from etalon_otcp import ovsdb
from etalon_otcp.controller import Controller
from etalon_otcp.network import PortId
from etalon_otcp.topology import Given, KnownHost

LOG = logging.getLogger("etalon_otcp")
OVSDB_EVERY_S = 10.0


def watch_links(controller: Controller) -> None:
    """Probes all links, and looks for hosts, until the controller is stopped."""
    every = controller.config.measure.watch / 1e9
    while not controller.stopped.is_set():
        began = time.monotonic()
        try:
            _check_links(controller)
            _find_hosts(controller)
            if controller.config.tcp.alpha == "flows" and controller.southbound:
                for switch in controller.topology.switches():
                    controller.southbound.count_flows(switch)
            if controller.unsaved:
                controller.keep()
        except Exception:
            LOG.exception("links could not be watched")
        _sleep(controller, began + every)


def watch_seats(controller: Controller) -> None:
    """Asks hosts whether they still are where they were, until the controller is stopped."""
    while not controller.stopped.wait(controller.topology.seats.each_s):
        try:
            controller.check_seats()
        except Exception:
            LOG.exception("hosts' places could not be checked")


def watch_ovsdb(controller: Controller) -> None:
    """Asks the databases now and then, until the controller is stopped."""
    names = {dpid: name for name, dpid in controller.config.dpids().items()}
    failing: set[str] = set()
    for _ in itertools.count():
        found: dict[tuple[str, str], Given] = {}
        for remote in controller.config.network.ovsdb:
            try:
                answer = ovsdb.ask(remote)
            except ovsdb.Unreachable as error:
                if remote not in failing:
                    LOG.warning("OVSDB does not answer: %s", error)
                failing.add(remote)
                continue
            failing.discard(remote)
            found |= {
                (names[dpid], port): given
                for (dpid, port), given in answer.items()
                if dpid in names
            }
        controller.ovsdb(found)
        if controller.stopped.wait(OVSDB_EVERY_S):
            return


def _sleep(controller: Controller, until: float) -> None:
    """Until the next watch; hosts of a switch that has come are looked for at once."""
    connected = controller.events.switches_connected
    while (left := until - time.monotonic()) > 0 and not controller.stopped.wait(min(left, 0.02)):
        if controller.events.switches_connected != connected:
            connected = controller.events.switches_connected
            controller.stopped.wait(0.02)  # LLDP tells where switches are
            _find_hosts(controller)


def _check_links(controller: Controller) -> None:
    """LLDP out of all ports once; links that were silent are dropped."""
    with controller.lock:
        dropped, found = controller.topology.watch()
        controller.prober.expire(time.monotonic_ns())
    if dropped:
        LOG.warning("silent links: %s", ", ".join(map(str, dropped)))
    if dropped or found:
        controller.changed()
    for switch in controller.topology.switches():
        controller.probe_ports(switch)


def _find_hosts(controller: Controller) -> None:
    """Probes for hosts that were not seen, or whose port has been down, at ports where no switch is."""
    now = time.monotonic()
    with controller.lock:
        topology = controller.topology
        lost = [
            host
            for name, host in topology.hosts_given.items()
            if (seat := topology.seat(name)) is None
            or not topology.is_edge(seat[0])
            or topology.is_silent(name, now)
        ]
        free = {
            switch: tuple(
                port.number
                for port in topology.ports_up(switch)
                if topology.neighbour(PortId(switch, port.number)) is None
            )
            for switch in topology.switches()
        }
    for host in lost:
        for switch in _candidates(controller, host, free):
            ports = free[switch] if host.port is None else (host.port,)
            if ports:
                with controller.lock:
                    action = controller.prober.host(
                        host.name, host.probed, switch, ports, time.monotonic_ns(), sample=False
                    )
                controller.send(action)


def _candidates(controller: Controller, host: KnownHost, free: Iterable[str]) -> list[str]:
    """Switches where a host may be: the file's, else those whose prefixes hold it, else all."""
    if host.switch:
        return [switch for switch in free if switch == host.switch]
    owners = [
        switch.name
        for switch in controller.config.switch
        for prefix in map(ip_network, switch.prefixes)
        if any(address in prefix for address in host.addresses)
    ]
    return [switch for switch in free if not owners or switch in owners]
