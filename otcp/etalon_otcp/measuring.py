# SPDX-License-Identifier: MIT OR Apache-2.0
"""The thread that measures what is new, and all again when it is asked to. Others watch meanwhile (`watching`)."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from etalon_otcp.controller import Controller
from etalon_otcp.delays import Calibrate
from etalon_otcp.network import Known, PortId, Source
from etalon_otcp.probing import Action

LOG = logging.getLogger("etalon_otcp")
FIRST_SAMPLES = 10
"""What is new is measured so often first, and published, and then as often as the file says."""
_VARIED = random.Random()
"""Pauses vary: equal ones could keep step with what they measure, such as a link as long as one (RFC 2330, section 11.1)."""
WAIT_S = 0.5
"""For the last probe's answer."""
Probe = Callable[[int], Action]
"""Makes a probe that leaves now (monotonic ns)."""
Links = list[tuple[PortId, PortId]]


class Measuring:
    """Measures for a controller until that is stopped."""

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
        """Measures what is new as it comes, and all when it is time."""
        last_all = time.monotonic()
        again = self._config.measure.again / 1e9
        while not self._controller.stopped.wait(0.02):
            try:
                if self._requested.is_set() or (again and time.monotonic() - last_all >= again):
                    last_all = time.monotonic()
                    self._begin_all()
                else:
                    self._measure_new()
            except Exception:
                LOG.exception("measuring failed")
                self._controller.stopped.wait(1)

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

    def _begin_all(self) -> None:
        """The request is forgotten only when the measurement counts as running: whoever asks sees one or the other."""
        self._running = True
        try:
            self._requested.clear()
            self._measure_all()
        finally:
            self._running = False

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
        self, links: Links, hosts: Iterable[str], times: int, better: bool = False
    ) -> None:
        """Measures links and hosts, with the control paths of their switches, and tells the topology.

        `better`: than before, by more samples.
        """
        controller, prober = self._controller, self._controller.prober
        self._running = True
        try:
            with controller.lock:
                seats = {name: seat for name in hosts if (seat := controller.topology.seat(name))}
                places = {name: seat[0] for name, seat in seats.items()}
                switches = {port.switch for link in links for port in link}
                switches |= {place.switch for place in places.values()}
                for link in links:
                    prober.crossings.forget(link)
                for name, place in places.items():
                    prober.hosts.forget((name, place))
                for switch in switches:
                    for samples in prober.control.values():
                        samples.forget(switch)
            probes = list(self._round(sorted(switches), links, places, times))
            if not self._probe(probes, times):
                return
            self._wait(links, times)
            self._learn(links, places, better)
            LOG.info("measured %d links and %d hosts %d times", len(links), len(places), times)
        finally:
            self._running = False

    def _probe(self, probes: list[Probe], times: int) -> bool:
        """Sends all probes so often, in another order each time; what comes first after a pause takes longer, since who
        handles it has slept meanwhile. Nothing waits for answers, so that all switches are probed at once. False if stopped.
        """
        how = self._config.measure
        gap = min(how.gap, how.longest / max(1, len(probes) * times)) / 1e9
        due = time.monotonic()
        for _ in range(times):
            _VARIED.shuffle(probes)
            for probe in probes:
                if self._controller.stopped.is_set():
                    return False
                with self._controller.lock:
                    action = probe(time.monotonic_ns())
                self._controller.send(action)
                due = max(due, time.monotonic() - 10 * gap) + gap * _VARIED.uniform(0.5, 1.5)
                if (left := due - time.monotonic()) > 0:
                    time.sleep(left)
        return True

    def _round(
        self, switches: list[str], links: Links, hosts: dict[str, PortId], times: int
    ) -> Iterator[Probe]:
        """All probes once. Where there is no time for pauses between them, one frame leaves by all ports of a switch."""
        prober, how = self._controller.prober, self._config.measure
        control = prober.loop if how.calibrate is Calibrate.LOOP else prober.echo
        for switch in switches:
            yield partial(control, switch)
        many = len(switches) + len(links) + len(hosts)
        if many * times * how.gap > how.longest:
            by_switch: dict[str, Links] = defaultdict(list)
            for link in links:
                by_switch[link[0].switch].append(link)
            yield from (partial(self._links, switch, some) for switch, some in by_switch.items())
        else:
            yield from (partial(prober.link, source) for source, _ in links)
        for name, (switch, number) in hosts.items():
            address = self._controller.topology.hosts_given[name].probed
            yield partial(prober.host, name, address, switch, (number,))

    def _links(self, switch: str, links: Links, now_ns: int) -> Action:
        """A switch's links, each time from another one on: the last port's frame leaves later than the first one's."""
        first = _VARIED.randrange(len(links))
        ports = [source.number for source, _ in links]
        sources = {target: source for source, target in links}
        return self._controller.prober.links(
            switch, (*ports[first:], *ports[:first]), sources, now_ns
        )

    def _wait(self, links: Links, times: int) -> None:
        """For the answers that are still under way."""
        until = time.monotonic() + WAIT_S
        prober = self._controller.prober
        while time.monotonic() < until:
            if all(prober.crossings.count(link) >= times for link in links):
                break
            time.sleep(0.005)
        time.sleep(0.02)

    def _learn(self, links: Links, hosts: dict[str, PortId], better: bool) -> None:
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
                    asked = controller.topology.hosts_given[name].probed
                    known = Known(delay, Source.ARP if asked.version == 4 else Source.NDP, now)
                    changed |= controller.topology.host_delay(name, known, better)
            controller.events.measurements += 1
            controller.events.last_measured = now
        if changed:
            controller.changed()
        controller.keep()
