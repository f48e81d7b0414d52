# SPDX-License-Identifier: MIT OR Apache-2.0
"""The controller: from what switches say to what hosts are told. Threads and clocks are here; sockets are not.

Switches' threads hand in events, which change the topology under a lock and wake the thread that computes. That one takes
a copy of the network, computes flow entries and documents, and publishes. A third thread (`measuring`) probes.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from etalon_otcp import forwarding
from etalon_otcp.answering import Answering
from etalon_otcp.audit import Audit
from etalon_otcp.computing import Computing
from etalon_otcp.config import Config
from etalon_otcp.connections import Connections
from etalon_otcp.counting import FlowCounts
from etalon_otcp.damping import Damping
from etalon_otcp.floods import Floods
from etalon_otcp.forwarding import Table
from etalon_otcp.keeping import Keeping
from etalon_otcp.network import Network, PortId
from etalon_otcp.probing import (
    Action,
    HostSays,
    HostSeen,
    LinkSeen,
    NeighbourSays,
    Prober,
)
from etalon_otcp.publication import Publication
from etalon_otcp.remembered import Remembered
from etalon_otcp.rivals import Rivals
from etalon_otcp.rollout import Rollout
from etalon_otcp.routes import Routes
from etalon_otcp.seats import Seats
from etalon_otcp.seldom import STRANGERS
from etalon_otcp.settling import QUIET_S, Settling
from etalon_otcp.southbound import Southbound
from etalon_otcp.state import State
from etalon_otcp.topology import Given, PortDescription, Topology
from etalon_otcp.view import Events, View

LOG = logging.getLogger("etalon_otcp")
REMEMBERING = "not all switches and links are back since the start: hosts keep what they were told of the rest"
KEEP_S = 1.0
"""What hosts are told is kept on disk so long after a change, however often it changes."""


class Controller:
    """The state of a controller. All methods may be called from any thread."""

    def __init__(self, config: Config) -> None:
        self.config = config
        state = State.load(config.state)
        epoch = max(time.time_ns() // 1_000_000, state.epoch + 1)
        self.rollout = Rollout(config.rollout.manner(host.name for host in config.host))
        self.rollout.restore(state.rollout, time.monotonic(), time.time())
        self.audit = Audit(config.audit)
        self.publication = Publication(epoch, config.api.lifetime // 1_000_000_000)
        everywhere = Given(config.network.rate, config.network.queue)
        seats = Seats(config.network.seats, len(config.host))
        self.topology = Topology(config.hosts_given(), config.ports_given(), everywhere, seats)
        self.damping = Damping(config.network.damping / 1e9)
        self.connections = Connections(self.topology, config.network.damping / 1e9)
        state.restore(self.topology)
        self.prober = Prober(config.dpids(), config.measure.samples)
        self.events = Events()
        self.floods = Floods()
        self.lock = threading.RLock()
        self.stopped = threading.Event()
        self.southbound: Southbound | None = None
        self.failure = ""
        """Why nothing could be computed the last time; empty if it could."""
        self.told: Callable[[set[str]], None] = lambda changed: None
        self._dirty = threading.Event()
        self._rollout_due: float | None = None
        self._keep_due: float | None = None
        told = {host: listed for host, listed in state.rollout.told.items() if listed}
        remembered = Remembered(told, time.monotonic() + config.api.lifetime / 1e9)
        self._settling = Settling(remembered, config.network.settle / 1e9, self._is_whole)
        self._keeping = Keeping(config.state, self._to_keep)
        self._tables: dict[str, Table] = {}
        self._computing = Computing(config)
        self._flows = FlowCounts()
        self._disputes: list[str] = []
        self._rivals = Rivals()
        self._answering = Answering(
            self.topology,
            self.lock,
            self.prober.counters,
            lambda: self.view.network.edges,
            self.send,
            self.probe_host,
        )
        self.view = View(
            Network(), Routes(Network()), config.policy, {}, ("no network yet",), False
        )
        if state.epoch:
            self.keep()  # a disk that is full meanwhile keeps no network without its controller
        else:
            self.save()  # the epoch is taken even if nothing is measured

    # What switches say

    def switch_up(self, switch: str, ports: Iterable[PortDescription], table: Table) -> None:
        """A switch has connected, with its ports and the flow entries that a controller before this one wrote."""
        with self.lock:
            now = time.monotonic()
            believed = [
                self.damping.take(PortId(switch, port.number), port, False, False, now)[0]
                for port in ports
            ]
            self.connections.up(switch, believed, now, time.time())
            self._tables[switch] = dict(table)
            self.events.switches_connected += 1
            STRANGERS.warn("switch %s is there", switch, of=switch, level=logging.INFO)
        self.probe_ports(switch)
        self._change(True)

    def rival(self, switch: str, connected: str, refused: str) -> None:
        """Another connection has named a switch that is there, and answers; addresses of both."""
        with self.lock:
            self.events.switches_refused += 1
        self._rivals.refused(switch, connected, refused)

    def switch_down(self, switch: str) -> None:
        """A switch's connection has ended."""
        with self.lock:
            self.damping.switch_down(switch)
            changed, flaps = self.connections.down(switch, time.monotonic())
            self._tables.pop(switch, None)
            self.events.switches_lost += changed
            STRANGERS.warn("switch %s is gone", switch, of=switch)
        if flaps:
            what = "the connection of switch %s comes and goes: it carries traffic of others only where it has to"
            STRANGERS.warn(what, switch, of=f"flaps of {switch}")
        self._change(changed)

    def port(self, switch: str, port: PortDescription, deleted: bool) -> None:
        """A port was added, changed or deleted."""
        place = PortId(switch, port.number)
        with self.lock:
            was_up, was_damped = self.topology.is_up(place), self.damping.is_damped(place)
            believed = self.damping.take(place, port, deleted, was_up, time.monotonic())
            flaps = self.damping.is_damped(place) and not was_damped
            changed = self._believe(place, *believed)
        if flaps:
            what = "port %d (%s) of %s flaps: it counts as down for a while"
            STRANGERS.warn(what, port.number, port.name, switch, of=f"ports of {switch}")
        self._port_changed(place, *believed, changed)

    def _use_again(self) -> None:
        """Ports and connections that have not flapped for long enough count again."""
        with self.lock:
            steady = self.connections.over(time.monotonic())
            over = [(*one, self._believe(*one)) for one in self.damping.over(time.monotonic())]
        for switch in steady:
            LOG.info("the connection of switch %s is steady again", switch)
        for one in over:
            self._port_changed(*one)
        self._change(bool(steady))

    def _believe(self, place: PortId, port: PortDescription, deleted: bool) -> bool:
        changed = self.topology.port(place.switch, port, deleted, time.time())
        self.events.ports_changed += changed
        return changed

    def _port_changed(
        self, place: PortId, port: PortDescription, deleted: bool, changed: bool
    ) -> None:
        if not changed:
            return
        what = port.number, port.name, place.switch, _state(port, deleted)
        STRANGERS.warn(
            "port %s (%s) of %s: %s", *what, of=f"ports of {place.switch}", level=logging.INFO
        )
        self._change(True)
        if port.up and not deleted:
            self.probe_ports(place.switch, place.number)
            for host in self.topology.seats.hosts_of(place):  # who was there may be back
                self.probe_host(host, place)

    def packet_in(self, place: PortId, frame: bytes, at_ns: int) -> None:
        """A frame that a switch hands in."""
        with self.lock:
            finding = self.prober.packet_in(place, frame, at_ns, self.topology.is_edge)
            changed = False
            if isinstance(finding, LinkSeen):
                changed = self.topology.link_seen(finding.source, finding.target)
            elif isinstance(finding, HostSeen) and self._is_host(finding):
                now = time.monotonic()
                changed = self.topology.host_seen(finding.host, finding.port, finding.mac, now)
        if isinstance(finding, HostSays):
            self._answering.check_claim(finding.port, finding.packet.sender)
            if self.config.network.forwarding:
                self._answering.answer(finding)
        if isinstance(finding, NeighbourSays):
            self._answering.check_claim(finding.port, finding.says.claimed)
            if self.config.network.forwarding:
                self._answering.hand_on(finding)
        self._change(changed)
        if isinstance(finding, LinkSeen) and self.topology.neighbour(finding.target) is None:
            self.probe_ports(finding.target.switch, finding.target.number)  # the way back

    def echo_reply(self, switch: str, data: bytes, at_ns: int) -> None:
        """A switch's answer to an echo."""
        with self.lock:
            self.prober.echo_reply(switch, data, at_ns)

    def queue_rate(self, place: PortId, rate_bps: int) -> None:
        """The largest rate of a port's queue, from queue_get_config."""
        with self.lock:
            changed = self.topology.queue_rate(place, rate_bps, time.time())
        self._change(changed)

    def ovsdb(self, found: Mapping[tuple[str, str], Given]) -> None:
        """What databases say of ports, by switch and port name."""
        with self.lock:
            changed = self.topology.ovsdb(found, time.time())
        self._change(changed)

    def flows(self, switch: str, packets: Mapping[PortId, Mapping[object, int]]) -> None:
        """Packets of all TCP flow entries of a switch, by egress port."""
        if self.config.tcp.alpha != "flows":
            return
        with self.lock:
            changed = self._flows.take(switch, packets)
        self._change(changed)

    def flow_counts(self) -> dict[PortId, int]:
        """Flows that sent something between the last two counts, by egress port."""
        with self.lock:
            return self._flows.counts()

    # What others ask

    def send(self, action: Action) -> None:
        """To a switch."""
        if self.southbound:
            self.southbound.send(action)

    def probe_ports(self, switch: str, number: int | None = None) -> None:
        """LLDP out of a switch's ports, or one of them."""
        known = self.topology
        numbers = [number] if number is not None else [p.number for p in known.ports_up(switch)]
        for place in (PortId(switch, one) for one in numbers):
            if not known.is_up(place):
                continue
            with self.lock:
                action = self.prober.link(place, time.monotonic_ns(), sample=False)
            self.send(action)

    def probe_host(self, name: str, place: PortId) -> None:
        """Asks at a port whether a host is there."""
        host = self.topology.hosts_given[name]
        if not self.topology.is_up(place):
            return
        with self.lock:
            now = time.monotonic_ns()
            action = self.prober.host(
                name, host.probed, place.switch, (place.number,), now, sample=False
            )
        self.send(action)

    def check_seats(self) -> None:
        """Asks all hosts whether they still are where they were seen, and moves those that are elsewhere."""
        with self.lock:
            now = time.monotonic()
            changed = self.topology.check_seats(now)
            found = self.topology.seats.problems(now)
            asked = [
                (name, place)
                for name in self.topology.hosts_given
                for place in self.topology.seats.ports(name)
            ]
        for problem in found:
            if problem not in self._disputes:
                LOG.warning("%s", problem)
        self._disputes = found
        self._change(changed)
        for name, place in asked:
            self.probe_host(name, place)

    @property
    def disputes(self) -> list[str]:
        """Hosts whose place is claimed by several, or by another than at first; switches that others claimed to be lately;
        ports and connections that flap; switches that flood."""
        with self.lock:
            now = time.monotonic()
            flapping = [*self.connections.problems(now), *self.damping.problems(now)]
        return [*self._disputes, *self._rivals.problems(), *flapping, *self.floods.problems()]

    def changed(self) -> None:
        """The topology was changed by who measured."""
        self._change(True)

    def hold(self) -> None:
        """What is new reaches the canaries only, until `release`, also after a restart.

        Raises:
            EtalonError: if that cannot be kept; it holds until the controller ends.
        """
        with self.lock:
            self.rollout.held = True
        self.save()

    def release(self) -> None:
        """What the canaries have reaches all.

        Raises:
            EtalonError: if that cannot be kept; a restart would hold again.
        """
        with self.lock:
            self.rollout.release()
        self._change(True)
        self.save()

    def save(self) -> None:
        """Keeps epoch and measurements, if the configuration says where.

        Raises:
            EtalonError: if they cannot be written.
        """
        self._keeping.save()

    def keep(self) -> None:
        """As `save`, but what cannot be written is a problem that `unsaved` tells: hosts are told all the same."""
        self._keeping.keep()

    @property
    def unsaved(self) -> str:
        """Why the state could not be written the last time; empty if it could."""
        return self._keeping.failure

    def _to_keep(self) -> State:
        with self.lock:
            kept = self.rollout.kept(time.monotonic(), time.time())
            return State.of(self.publication.epoch, self.topology, kept)

    def stop(self) -> None:
        """Ends `run`."""
        self.stopped.set()
        self._dirty.set()

    # Computing

    def run(self) -> None:
        """Computes whenever something has changed, until stopped."""
        while not self.stopped.is_set():
            woken = self._dirty.wait(self._pause())
            self._dirty.clear()
            if self.stopped.is_set():
                return
            self._use_again()
            if self._has_news(woken):
                try:
                    self._compute()
                    self.failure = ""
                except Exception as error:
                    LOG.exception("computing failed; hosts keep what they have")
                    self.events.failed += 1
                    self.failure = f"computing failed, hosts keep what they have: {error!r}"
            if self._keep_due is not None and time.monotonic() >= self._keep_due:
                self._keep()

    def _pause(self) -> float | None:
        """Until a time comes, if nothing happens; no longer than a lock can be waited for."""
        if self._settling.goes_on:
            return QUIET_S / 3
        with self.lock:
            again = self.damping.due(), self.connections.due()
        due = [at for at in (self._rollout_due, self._keep_due, *again) if at is not None]
        return min(max(0.0, min(due) - time.monotonic()), 3600.0) if due else None

    def _change(self, changed: bool) -> None:
        if changed:
            self._settling.changed_at = time.monotonic()
            self._dirty.set()

    def _has_news(self, woken: bool) -> bool:
        """Whether to compute: something has changed, or a time has come."""
        now = time.monotonic()
        woken |= self._settling.has_news(now)
        is_due = self._rollout_due is not None and now >= self._rollout_due
        return self._settling.is_settled and (woken or is_due)

    def _is_whole(self) -> bool:
        """Whether all switches of the file are there, and everything that was found is measured."""
        with self.lock:
            expected = {switch.name for switch in self.config.switch}
            links, hosts = self.topology.unmeasured()
            return expected <= self.connections.connected() and not links and not hosts

    def _compute(self) -> None:
        began = time.monotonic()
        with self.lock:
            network = self.connections.usable(self.topology.network())
            policy = replace(self.config.policy, flows=self.flow_counts())
            missing = sorted(set(self.topology.hosts_given) - set(network.hosts))
            tables = dict(self._tables)
        computed = self._computing.compute(network, policy, tables)
        routes, found = computed.routes, computed.published
        if self.config.network.forwarding:
            self._forward(computed.tables, tables)
        problems = (*found.problems, *(f"host {name} was not found yet" for name in missing))
        wanted = self._settling.remembered.beside(found.routes, self.topology.hosts_given)
        if self._settling.remembered.told:
            problems += (REMEMBERING,)
        with self.lock:
            before = self.rollout.progress
            told, self._rollout_due = self.rollout.next(wanted, time.monotonic())
            has_moved = self.rollout.progress != before
        if has_moved:
            self._keep()  # before hosts are told, or a controller killed meanwhile would tell them less
        changed = self.publication.update(told)
        took_ms = (time.monotonic() - began) * 1e3
        self.view = View(
            network,
            routes,
            policy,
            dict(self.publication.documents),
            problems,
            True,
            time.time(),
            took_ms,
        )
        self.events.computed += 1
        if changed:
            self.events.published += 1
            if not has_moved and self._keep_due is None:
                self._keep_due = time.monotonic() + KEEP_S
            self.told(changed)
            self.audit.told(self.publication.documents[host] for host in changed)
            LOG.info(
                "version %d for %d hosts after %.1f ms",
                self.publication.version,
                len(changed),
                took_ms,
            )

    def _keep(self) -> None:
        """What hosts are told, and how far the roll-out is."""
        self._keep_due = None
        self.keep()

    def _forward(self, wanted: Mapping[str, Table], before: Mapping[str, Table]) -> None:
        for switch, table in before.items():
            written, deleted = forwarding.changes(table, wanted.get(switch, {}))
            if (written or deleted) and self.southbound:
                self.southbound.write(switch, written, deleted)
                with self.lock:
                    if self._tables.get(switch) is table:
                        self._tables[switch] = wanted.get(switch, {})

    def _is_host(self, seen: HostSeen) -> bool:
        """Whether the file lets this host be there, with this hardware address."""
        host = self.topology.hosts_given[seen.host]
        return (
            (not host.mac or host.mac == seen.mac)
            and host.switch in ("", seen.port.switch)
            and host.port in (None, seen.port.number)
        )


def _state(port: PortDescription, deleted: bool) -> str:
    if deleted:
        return "deleted"
    rate = f", {port.rate_bps / 1e6:g} Mb/s" if port.rate_bps else ""
    return ("up" if port.up else "down") + rate
