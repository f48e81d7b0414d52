# SPDX-License-Identifier: MIT OR Apache-2.0
"""The topology as it is learnt: which switches are there, what their ports say, who is at the other end.

Measured delays outlive what they were measured on: when a link or switch comes back and LLDP confirms it, what is known
counts again at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from etalon_otcp.network import Address, Host, Known, Link, Network, Port, PortId, Source
from etalon_otcp.seats import Seats

STEADY_NS = 20_000
"""A delay that is measured again and differs by no more stays what it was, so that noise publishes nothing."""

MOST_PORTS = 4000
"""Of a switch; one that tells of more could fill the memory. A packet-out by all of them (16 bytes each) leaves 1,511 of
the 65,535 bytes of OpenFlow's longest message to the frame."""
UNANSWERED = 3
"""Watches without LLDP after which a link is down."""
_NEVER = -(10**12)


@dataclass(frozen=True)
class PortDescription:
    """What a switch says of a port; `rate_bps` is None if it does not say."""

    number: int
    name: str
    up: bool
    rate_bps: int | None


@dataclass(frozen=True)
class Given:
    """What an operator or a database says of a port; None where it says nothing."""

    rate_bps: int | None = None
    queue_bytes: int | None = None


@dataclass(frozen=True)
class KnownHost:
    """A host of the topology file: where it is may be given, and is found otherwise."""

    name: str
    addresses: tuple[Address, ...]
    mac: str = ""
    switch: str = ""
    port: int | None = None

    @property
    def probed(self) -> Address:
        """The address that probes ask for: by ARP if it can be."""
        return min(self.addresses, key=lambda address: address.version)


@dataclass
class _Seat:
    """Where a host was seen."""

    port: PortId
    mac: str
    delay_ns: Known | None = None


@dataclass
class Topology:
    """All that was learnt. Methods that take news say whether the network changed by it.

    `ports_given` is the topology file's, by switch and port name or number; `everywhere` holds for all other ports.
    """

    hosts_given: Mapping[str, KnownHost]
    ports_given: Mapping[tuple[str, str | int], Given] = field(default_factory=dict)
    everywhere: Given = Given()
    seats: Seats = field(default_factory=Seats)
    """Who claims to be which host."""
    _ports: dict[str, dict[int, PortDescription]] = field(default_factory=dict)
    _described: dict[PortId, float] = field(default_factory=dict)
    _ovsdb: dict[tuple[str, str], tuple[Given, float]] = field(default_factory=dict)
    _queues: dict[PortId, tuple[int, float]] = field(default_factory=dict)
    _neighbours: dict[PortId, PortId] = field(default_factory=dict)
    _unanswered: dict[PortId, int] = field(default_factory=dict)
    _delays: dict[tuple[PortId, PortId], Known] = field(default_factory=dict)
    _seats: dict[str, _Seat] = field(default_factory=dict)
    _edges: set[PortId] = field(default_factory=set)
    _built: dict[PortId, Port] = field(default_factory=dict)
    """Ports as the network has them; made anew when something is told of them."""
    _linked: dict[PortId, Link] = field(default_factory=dict)
    _quiet: dict[PortId, int] = field(default_factory=dict)
    """Watches since a port came up by which LLDP has not crossed it. One that it has crossed leads to a switch until it goes
    down: that switch may forward while it is out of reach, and frames for all would come back from it."""

    def __post_init__(self) -> None:
        given = self.hosts_given.values()
        self._edges_given = {PortId(h.switch, h.port) for h in given if h.switch and h.port}

    # What switches say

    def switch_up(self, switch: str, ports: Iterable[PortDescription], now: float) -> bool:
        """A switch has connected. Cables may have been moved meanwhile, so hosts have to answer anew to mark edges; a port that
        led to a switch and is up leads to one still, which may forward though LLDP does not come back from it."""
        ports = list(ports)
        up = {PortId(switch, port.number) for port in ports if port.up}
        self._edges = {place for place in self._edges if place.switch != switch}
        self._quiet = {
            place: watches
            for place, watches in self._quiet.items()
            if place.switch != switch or (watches < 0 and place in up)
        }
        self._described = {p: at for p, at in self._described.items() if p.switch != switch}
        self._ports[switch] = {}
        self._neighbours = {
            source: target
            for source, target in self._neighbours.items()
            if switch not in (source.switch, target.switch)
        }
        for port in ports:
            self._ports[switch][port.number] = port
            self._built.pop(PortId(switch, port.number), None)
            self._described[PortId(switch, port.number)] = now
        return True

    def switch_again(self, switch: str, ports: Iterable[PortDescription], now: float) -> None:
        """A switch that was believed to be there meanwhile has connected: only ports that differ are news."""
        described = {port.number: port for port in ports}
        before = dict(self._ports[switch])
        for number in before.keys() - described.keys():
            self.port(switch, before[number], True, now)
        for number, port in described.items():
            if before.get(number) != port:
                self.port(switch, port, False, now)

    def switch_down(self, switch: str) -> bool:
        """A switch is gone; its links have to be confirmed anew."""
        if self._ports.pop(switch, None) is None:
            return False
        for port in [port for port in self._neighbours if port.switch == switch]:
            del self._neighbours[port]
        return True

    def port(self, switch: str, port: PortDescription, deleted: bool, now: float) -> bool:
        """A port was added, changed or deleted."""
        ports = self._ports.get(switch)
        if ports is None:
            return False
        before, place = ports.get(port.number), PortId(switch, port.number)
        if before is None and not deleted and len(ports) >= MOST_PORTS:
            return False
        if deleted:
            ports.pop(port.number, None)
            self._described.pop(place, None)
        else:
            ports[port.number] = port
            self._described[place] = now
        self._built.pop(place, None)
        if deleted or not port.up:
            self._edges.discard(place)  # whoever was there may be unplugged
            self._quiet.pop(place, None)
            self.seats.port_down(place)
            self._neighbours.pop(place, None)
            for source in [s for s, target in self._neighbours.items() if target == place]:
                del self._neighbours[source]
        return deleted or before != port

    def queue_rate(self, place: PortId, rate_bps: int, now: float) -> bool:
        """A switch has told the largest rate of a port's queue (queue_get_config)."""
        changed = self._queues.get(place, (None,))[0] != rate_bps
        self._queues[place] = (rate_bps, now)
        self._built.pop(place, None)
        return changed

    def ovsdb(self, found: Mapping[tuple[str, str], Given], now: float) -> bool:
        """What an OVSDB says, by switch and port name."""
        changed = {key: value for key, (value, _) in self._ovsdb.items()} != dict(found)
        self._ovsdb = {key: (value, now) for key, value in found.items()}
        self._built.clear()
        return changed

    # What probes say

    def link_seen(self, source: PortId, target: PortId) -> bool:
        """LLDP that left `source` has arrived at `target`."""
        if not (self.is_up(source) and self.is_up(target)):
            return False
        self._unanswered[source] = 0
        self._quiet[source] = self._quiet[target] = _NEVER
        changed = self._neighbours.get(source) != target
        self._neighbours[source] = target
        return changed

    def watch(self) -> tuple[list[PortId], bool]:
        """Each link is about to be probed; drops those on which the last probes were not heard.

        A port by which none was heard since it came up is an edge from now on. Returns the links that were dropped, by
        egress port, and whether there are new edges.
        """
        for source in self._neighbours:
            self._unanswered[source] += 1
        dumb = [source for source in self._neighbours if self._unanswered[source] > UNANSWERED]
        for source in dumb:
            del self._neighbours[source]
        found = False
        for place in self._without_switch():
            self._quiet[place] = self._quiet.get(place, 0) + 1
            found |= self._quiet[place] == UNANSWERED + 1
        return dumb, found

    def _without_switch(self) -> list[PortId]:
        """Ports that are up and by which no LLDP comes or goes."""
        linked = {*self._neighbours, *self._neighbours.values()}
        return [
            place
            for switch, ports in self._ports.items()
            for number, port in ports.items()
            if port.up and (place := PortId(switch, number)) not in linked
        ]

    def host_seen(self, name: str, place: PortId, mac: str, now: float) -> bool:
        """A host has answered at a port, at `now` (monotonic seconds); whether it sits there is the policy's to say."""
        self._edges.add(place)
        self.seats.seen(name, place, mac, now)
        return self._sit(name, now)

    def check_seats(self, now: float) -> bool:
        """Moves hosts whose claims have died to where they are now."""
        moved = [self._sit(name, now) for name in self.hosts_given]
        return any(moved)

    def is_silent(self, name: str, now: float) -> bool:
        """Whether a host answers nowhere, so that it has to be looked for."""
        return self.seats.owner(name, now) is None

    def _sit(self, name: str, now: float) -> bool:
        """Has a host sit where its owner is; whether that changed anything. One that is silent stays where it was."""
        owner, seat = self.seats.owner(name, now), self._seats.get(name)
        if owner is None or (seat and (seat.port, seat.mac) == (owner.port, owner.mac)):
            return False
        if seat and seat.port == owner.port:
            seat.mac = owner.mac
        else:
            self._seats[name] = _Seat(owner.port, owner.mac)
        return True

    def host_known(self, name: str, place: PortId, mac: str, delay: Known) -> None:
        """Where a host was before a restart; whether it still is there shows when it answers."""
        self._seats[name] = _Seat(place, mac, delay)

    def link_delay(
        self, source: PortId, target: PortId, delay: Known, better: bool = False
    ) -> bool:
        """A link's one-way delay was measured, or is known from before; if measured better than that, it counts as it is."""
        steady, changed = _steady(self._delays.get((source, target)), delay, better)
        self._delays[source, target] = steady
        return changed

    def host_delay(self, name: str, delay: Known, better: bool = False) -> bool:
        """A host's one-way delay was measured, or is known from before; `better` as of links."""
        seat = self._seats[name]
        seat.delay_ns, changed = _steady(seat.delay_ns, delay, better)
        return changed

    # What there is

    def is_up(self, place: PortId) -> bool:
        """Whether a port is there and up."""
        port = self._ports.get(place.switch, {}).get(place.number)
        return port is not None and port.up

    def is_edge(self, place: PortId) -> bool:
        """Whether a host is at a port, as seen or as the topology file says."""
        return place in self._edges or place in self._edges_given

    def switches(self) -> list[str]:
        """Names of the switches that are there."""
        return sorted(self._ports)

    def ports_up(self, switch: str) -> list[PortDescription]:
        """A switch's ports that are up, by number."""
        return [port for _, port in sorted(self._ports.get(switch, {}).items()) if port.up]

    def neighbour(self, place: PortId) -> PortId | None:
        """Where LLDP from a port arrives."""
        return self._neighbours.get(place)

    def delay(self, source: PortId, target: PortId) -> Known | None:
        """What is known of a link's delay, whether it is up or not."""
        return self._delays.get((source, target))

    def delays(self) -> Mapping[tuple[PortId, PortId], Known]:
        """All known delays of links, up or not."""
        return self._delays

    def seat(self, name: str) -> tuple[PortId, str, Known | None] | None:
        """Where a host was seen, its hardware address, and its delay."""
        seat = self._seats.get(name)
        return (seat.port, seat.mac, seat.delay_ns) if seat else None

    def unmeasured(self) -> tuple[list[PortId], list[str]]:
        """Links (by egress) that are up and hosts that were seen, without a delay."""
        links = [s for s, t in sorted(self._neighbours.items()) if (s, t) not in self._delays]
        hosts = [name for name, seat in sorted(self._seats.items()) if seat.delay_ns is None]
        return links, hosts

    def network(self) -> Network:
        """What is up and measured. A link is up if LLDP crosses it in both directions; no host is where a link is."""
        ports = {
            place: self._port(place, description)
            for switch, described in self._ports.items()
            for place, description in (
                (PortId(switch, number), port) for number, port in described.items()
            )
        }
        links = {
            source: self._link(source, target)
            for source, target in self._neighbours.items()
            if self._neighbours.get(target) == source
            and {(source, target), (target, source)} <= self._delays.keys()
        }
        hosts = {
            name: Host(name, self.hosts_given[name].addresses, seat.port, seat.delay_ns, seat.mac)
            for name, seat in self._seats.items()
            if seat.delay_ns is not None and seat.port in ports and seat.port not in links
        }
        edges = frozenset(
            place
            for place in self._without_switch()
            if self.is_edge(place) or self._quiet.get(place, 0) > UNANSWERED
        )
        return Network(ports, links, hosts, edges)

    def _port(self, place: PortId, port: PortDescription) -> Port:
        if (built := self._built.get(place)) is None:
            rate, queue = self._rate(place, port), self._queue(place, port)
            built = self._built[place] = Port(place, port.name, rate, queue)
        return built

    def _link(self, source: PortId, target: PortId) -> Link:
        known, delay = self._linked.get(source), self._delays[source, target]
        if known is None or known.target != target or known.delay_ns is not delay:
            known = self._linked[source] = Link(source, target, delay)
        return known

    def _file(self, place: PortId, port: PortDescription) -> Given:
        return self.ports_given.get(
            (place.switch, port.name), self.ports_given.get((place.switch, place.number), Given())
        )

    def _rate(self, place: PortId, port: PortDescription) -> Known | None:
        """The operator's word for this port; else the slowest of port, queue and database; else the word for all."""
        if rate := self._file(place, port).rate_bps:
            return Known(rate, Source.FILE, self._described[place])
        found = []
        if port.rate_bps:
            found.append(Known(port.rate_bps, Source.PORT, self._described[place]))
        if place in self._queues:
            found.append(Known(self._queues[place][0], Source.QUEUE, self._queues[place][1]))
        given, at = self._ovsdb.get((place.switch, port.name), (Given(), 0.0))
        if given.rate_bps:
            found.append(Known(given.rate_bps, Source.OVSDB, at))
        if found:
            return min(found, key=lambda known: known.value)
        rate = self.everywhere.rate_bps
        return Known(rate, Source.FILE, self._described[place]) if rate else None

    def _queue(self, place: PortId, port: PortDescription) -> Known | None:
        """OVSDB where it says; else the topology file (OpenFlow 1.3 has no queue lengths)."""
        given, at = self._ovsdb.get((place.switch, port.name), (Given(), 0.0))
        if given.queue_bytes:
            return Known(given.queue_bytes, Source.OVSDB, at)
        size = self._file(place, port).queue_bytes or self.everywhere.queue_bytes
        return Known(size, Source.FILE, self._described[place]) if size else None


def _steady(before: Known | None, now: Known, better: bool) -> tuple[Known, bool]:
    """The delay that counts, and whether it is another than before."""
    if before and not better and abs(now.value - before.value) <= STEADY_NS:
        return Known(before.value, now.source, now.at), False
    return now, True
