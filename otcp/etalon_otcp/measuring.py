# SPDX-License-Identifier: MIT OR Apache-2.0
"""The thread that probes: finds links and hosts, measures what is new, and watches that links still speak."""

from __future__ import annotations

import itertools
import logging
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from ipaddress import IPv4Address, ip_network

from etalon_otcp import ovsdb
from etalon_otcp.controller import Controller
from etalon_otcp.network import Known, PortId, Source
from etalon_otcp.probing import Action
from etalon_otcp.topology import Given, KnownHost

LOG = logging.getLogger("etalon_otcp")
FIRST_SAMPLES = 10
"""What is new is measured so often first, and published, and then as often as the file says."""
OVSDB_EVERY_S = 10.0
_VARIED = random.Random()
"""Pauses vary: equal ones could keep step with what they measure, such as a link as long as one (RFC 2330, section 11.1)."""
WAIT_S = 0.5
"""For the last probe's answer."""
Probe = Callable[[int], Action]
"""Makes a probe that leaves now (monotonic ns)."""


class Measuring:
    """Runs probes for a controller until that is stopped."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._config = controller.config
        self._requested = threading.Event()
        self._rough: tuple[set[tuple[PortId, PortId]], set[str]] = (set(), set())
        self._running = False

    @property
    def running(self) -> bool:
        """Whether it measures, or will as soon as can be."""
        with self._controller.lock:
            new = any(self._controller.topology.unmeasured())
        return self._running or new or any(self._rough) or self._requested.is_set()

    def request(self) -> None:
        """All is measured again, as soon as can be."""
        self._requested.set()

    def run(self) -> None:
        """Watches, finds and measures, by turns."""
        last_all = watched = time.monotonic()
        while not self._controller.stopped.is_set():
            began = time.monotonic()
            try:
                if began - watched >= self._config.measure.watch / 1e9:
                    watched = began
                    self._watch()
                self._find_hosts()
                self._controller.stopped.wait(min(0.05, self._config.measure.watch / 1e9))
                again = self._config.measure.again / 1e9
                if self._requested.is_set() or (again and began - last_all >= again):
                    self._requested.clear()
                    last_all = began
                    self._measure_all()
                else:
                    self._measure_new()
                if self._config.tcp.alpha == "flows" and self._controller.southbound:
                    for switch in self._controller.topology.switches():
                        self._controller.southbound.count_flows(switch)
            except Exception:
                LOG.exception("a round of probes failed")
            self._sleep(began)

    def _sleep(self, began: float) -> None:
        """Until the next watch, or until something new is there."""
        until = began + self._config.measure.watch / 1e9
        connected = self._controller.events.switches_connected
        while time.monotonic() < until and not self._controller.stopped.wait(0.02):
            with self._controller.lock:
                links, hosts = self._controller.topology.unmeasured()
            new = links or hosts or self._controller.events.switches_connected != connected
            if new or self._requested.is_set():
                return

    # Finding

    def _watch(self) -> None:
        """LLDP out of all ports once; links that were silent are dropped."""
        controller = self._controller
        with controller.lock:
            dropped = controller.topology.watch()
            controller.prober.expire(time.monotonic_ns())
        if dropped:
            LOG.warning("a link is silent")
            controller.changed()
        for switch in controller.topology.switches():
            controller.probe_ports(switch)

    def _find_hosts(self) -> None:
        """ARP for hosts that were not seen, or whose port has been down, at ports where no switch is."""
        controller, now = self._controller, time.monotonic()
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
            for switch in self._candidates(host, free):
                ports = free[switch] if host.port is None else (host.port,)
                if ports and host.probed:
                    self._send(self._arp(host.name, host.probed, switch, ports))

    def _candidates(self, host: KnownHost, free: Iterable[str]) -> list[str]:
        """Switches where a host may be: the file's, else those whose prefixes hold it, else all."""
        if host.switch:
            return [switch for switch in free if switch == host.switch]
        owners = [
            switch.name
            for switch in self._config.switch
            for prefix in map(ip_network, switch.prefixes)
            if any(address in prefix for address in host.addresses)
        ]
        return [switch for switch in free if not owners or switch in owners]

    # Measuring

    def _measure_new(self) -> None:
        """What has no delay yet: roughly, so that it is published, then well."""
        with self._controller.lock:
            ports, hosts = self._controller.topology.unmeasured()
            found = [(port, self._controller.topology.neighbour(port)) for port in ports]
        new = [(source, target) for source, target in found if target]
        if new or hosts:
            self._measure(new, hosts, min(FIRST_SAMPLES, self._config.measure.samples))
            if self._config.measure.samples > FIRST_SAMPLES:
                self._rough[0].update(new)
                self._rough[1].update(hosts)
        elif any(self._rough):
            links, hosts = sorted(self._rough[0]), sorted(self._rough[1])
            self._measure(links, hosts, self._config.measure.samples, better=True)
            self._rough = (set(), set())

    def _measure_all(self) -> None:
        with self._controller.lock:
            topology = self._controller.topology
            places = [
                PortId(switch, port.number)
                for switch in topology.switches()
                for port in topology.ports_up(switch)
            ]
            links = [(place, target) for place in places if (target := topology.neighbour(place))]
            hosts = [
                name
                for name in topology.hosts_given
                if (seat := topology.seat(name)) and topology.is_up(seat[0])
            ]
        self._measure(links, hosts, self._config.measure.samples)

    def _measure(
        self,
        links: list[tuple[PortId, PortId]],
        hosts: list[str],
        times: int,
        better: bool = False,
    ) -> None:
        """Measures links and hosts, with the control paths of their switches, and tells the topology.

        `better`: than before, by more samples.
        """
        controller, prober = self._controller, self._controller.prober
        self._running = True
        try:
            with controller.lock:
                seats = {name: seat for name in hosts if (seat := controller.topology.seat(name))}
                for link in links:
                    prober.links.forget(link)
                for name, seat in seats.items():
                    prober.hosts.forget((name, seat[0]))
            switches = {port.switch for link in links for port in link}
            switches |= {seat[0].switch for seat in seats.values()}
            for switch in switches:
                for samples in prober.control.values():
                    samples.forget(switch)
            places = {name: seat[0] for name, seat in seats.items()}
            for _ in range(times):
                for probe in _shuffled(self._round(sorted(switches), links, places)):
                    if controller.stopped.is_set():
                        return
                    self._send(probe)
                    time.sleep(self._config.measure.gap / 1e9 * _VARIED.uniform(0.5, 1.5))
            self._wait(links, times)
            self._learn(links, places, better)
            LOG.info("measured %d links and %d hosts %d times", len(links), len(places), times)
        finally:
            self._running = False

    def _round(
        self, switches: list[str], links: list[tuple[PortId, PortId]], hosts: dict[str, PortId]
    ) -> Iterator[Probe]:
        prober = self._controller.prober
        for switch in switches:
            yield lambda now, switch=switch: prober.loop(switch, now)  # type: ignore[misc]
            yield lambda now, switch=switch: prober.echo(switch, now)  # type: ignore[misc]
        for source, _ in links:
            yield lambda now, source=source: prober.link(source, now)  # type: ignore[misc]
        for name, place in hosts.items():
            address = self._controller.topology.hosts_given[name].probed
            if address:
                yield self._arp(name, address, place.switch, (place.number,))

    def _arp(self, name: str, address: IPv4Address, switch: str, ports: tuple[int, ...]) -> Probe:
        prober = self._controller.prober
        return lambda now: prober.host(name, address, switch, ports, now)

    def _send(self, probe: Probe) -> None:
        with self._controller.lock:
            action = probe(time.monotonic_ns())
        self._controller.send(action)

    def _wait(self, links: list[tuple[PortId, PortId]], times: int) -> None:
        """For the answers that are still under way."""
        until = time.monotonic() + WAIT_S
        prober = self._controller.prober
        while time.monotonic() < until:
            if all(prober.links.count(link) >= times for link in links):
                break
            time.sleep(0.005)
        time.sleep(0.02)

    def _learn(
        self, links: list[tuple[PortId, PortId]], hosts: dict[str, PortId], better: bool
    ) -> None:
        controller, prober = self._controller, self._controller.prober
        how = self._config.measure.calibrate, self._config.measure.statistic
        now, changed = time.time(), False
        with controller.lock:
            for source, target in links:
                delay = prober.link_delay_ns(source, target, *how)
                if delay is not None:
                    known = Known(delay, Source.LLDP, now)
                    changed |= controller.topology.link_delay(source, target, known, better)
            for name, place in hosts.items():
                delay = prober.host_delay_ns(name, place, *how)
                seat = controller.topology.seat(name)
                if delay is not None and seat and seat[0] == place:
                    known = Known(delay, Source.ARP, now)
                    changed |= controller.topology.host_delay(name, known, better)
            controller.events.measurements += 1
            controller.events.last_measured = now
        if changed:
            controller.changed()
        controller.save()


def _shuffled(probes: Iterable[Probe]) -> list[Probe]:
    """In another order each time: what comes first after a pause takes longer, since who handles it has slept meanwhile."""
    found = list(probes)
    _VARIED.shuffle(found)
    return found


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
