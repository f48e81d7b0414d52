# SPDX-License-Identifier: MIT OR Apache-2.0
"""Probes and what comes back: a probe is believed once, from where it can come, within a time."""

from __future__ import annotations

import os
import secrets
import struct
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from typing import NamedTuple

from etalon_otcp import arp, lldp, ndp
from etalon_otcp.delays import Calibrate, Samples, Statistic, host_ns, link_ns
from etalon_otcp.lldp import Frame, Kind
from etalon_otcp.network import Address, PortId

CONTROLLER_PORT = 0xFFFFFFFD
"""OFPP_CONTROLLER."""
MOST_PORT = 0xFFFFFF00
"""OFPP_MAX: greater numbers are no ports."""
PATIENCE_NS = 2_000_000_000
"""What comes later is lost."""
_ECHO = struct.Struct("!8sQ")
ECHO_MARK = b"OTCPECHO"
"""What echoes of ours begin with."""
_NONCES = struct.Struct("!512Q")


class PacketOut(NamedTuple):
    """A frame for a switch to send out of ports."""

    switch: str
    ports: tuple[int, ...]
    frame: bytes


class Echo(NamedTuple):
    """An echo request to a switch."""

    switch: str
    data: bytes


Action = PacketOut | Echo


class LinkSeen(NamedTuple):
    """LLDP has crossed a link."""

    source: PortId
    target: PortId


class HostSeen(NamedTuple):
    """A host has answered a probe at a port, with its hardware address."""

    host: str
    port: PortId
    mac: str


class HostSays(NamedTuple):
    """A host asks for an IPv4 address, or tells others where one is."""

    port: PortId
    packet: arp.Packet


class NeighbourSays(NamedTuple):
    """The same in IPv6, and the frame."""

    port: PortId
    says: ndp.Neighbour
    frame: bytes


Finding = LinkSeen | HostSeen | HostSays | NeighbourSays


class _Asked(NamedTuple):
    """A probe of a host under way."""

    host: str
    address: Address
    ports: frozenset[PortId]
    sent_ns: int
    sample: bool


@dataclass
class Prober:
    """Makes probes and takes what switches hand in. Times are monotonic ns.

    `dpids` are the switches' datapath ids by name. `samples` is how many times are kept of each.
    """

    dpids: dict[str, int]
    samples: int
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    counters: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._frames: dict[int, tuple[Frame, bytes, bool]] = {}
        self._awaited: dict[int, dict[PortId, PortId]] = {}
        self._nonces: list[int] = []
        self._asked: dict[bytes, _Asked] = {}
        self._drawn, self._slot = secrets.randbits(20), 0
        self._names = {dpid: name for name, dpid in self.dpids.items()}
        self._echoes: dict[bytes, tuple[str, int]] = {}
        self.control: dict[Calibrate, Samples[str]] = {
            kind: Samples(self.samples) for kind in Calibrate
        }
        self.crossings: Samples[tuple[PortId, PortId]] = Samples(self.samples)
        self.hosts: Samples[tuple[str, PortId]] = Samples(self.samples)

    # Probes

    def loop(self, switch: str, now_ns: int) -> Action:
        """Out to the controller's port and in again."""
        return self._lldp(Kind.LOOP, PortId(switch, CONTROLLER_PORT), now_ns)

    def echo(self, switch: str, now_ns: int) -> Action:
        """An OpenFlow echo."""
        data = _ECHO.pack(ECHO_MARK, self._nonce())
        self._echoes[data] = (switch, now_ns)
        return Echo(switch, data)

    def link(self, port: PortId, now_ns: int, sample: bool = True) -> Action:
        """LLDP out of a port; unless it is a sample, its time does not count: who watches sends many at once."""
        return self._lldp(Kind.LINK, port, now_ns, sample)

    def links(
        self, switch: str, ports: tuple[int, ...], sources: Mapping[PortId, PortId], now_ns: int
    ) -> Action:
        """One frame of LLDP out of several ports of a switch; `sources` are these, by the neighbours' ports."""
        nonce = self._nonce()
        frame = Frame(Kind.LINKS, self.dpids[switch], 0, nonce, now_ns)
        encoded = lldp.encode(frame, self.key)
        self._frames[nonce] = frame, encoded, True
        self._awaited[nonce] = dict(sources)
        return PacketOut(switch, ports, encoded)

    def host(
        self,
        name: str,
        address: Address,
        switch: str,
        ports: tuple[int, ...],
        now_ns: int,
        sample: bool = True,
    ) -> Action:
        """A probe for a host's address out of ports of a switch: by ARP, or neighbour discovery for IPv6."""
        places = frozenset([PortId(switch, port) for port in ports])
        asked = _Asked(name, address, places, now_ns, sample)
        if isinstance(address, IPv4Address):
            probe = arp.probe(address, self._nonce() >> 40)
            while probe.sender_mac in self._asked:
                probe = arp.probe(address, self._nonce() >> 40)
            self._asked[probe.sender_mac] = asked
            return PacketOut(switch, ports, arp.encode(probe))
        self._slot += 1
        mac = ndp.prober(self._drawn, self._slot)
        self._asked[mac + address.packed] = asked
        return PacketOut(switch, ports, ndp.probe(address, mac))

    def _lldp(self, kind: Kind, port: PortId, now_ns: int, sample: bool = True) -> Action:
        nonce = self._nonce()
        frame = Frame(kind, self.dpids[port.switch], port.number, nonce, now_ns)
        encoded = lldp.encode(frame, self.key)
        self._frames[nonce] = frame, encoded, sample
        return PacketOut(port.switch, (port.number,), encoded)

    def _nonce(self) -> int:
        """64 bits that nobody can guess; many are drawn at once, since each draw is a system call."""
        if not self._nonces:
            self._nonces = list(_NONCES.unpack(os.urandom(_NONCES.size)))
        return self._nonces.pop()

    # What comes back

    def packet_in(
        self, place: PortId, data: bytes, at_ns: int, is_edge: Callable[[PortId], bool]
    ) -> Finding | None:
        """A frame that a switch hands in; `is_edge` says whether a host is at a port."""
        if lldp.is_lldp(data):
            return self._lldp_in(place, data, at_ns, is_edge)
        if arp.is_arp(data):
            return self._arp_in(place, data, at_ns)
        if ndp.is_ipv6(data):
            return self._ndp_in(place, data, at_ns)
        self.counters["other_frames"] += 1
        return None

    def awaits(self, place: PortId, data: bytes) -> bool:
        """Whether a frame is what a probe brings back, to the byte where others could know the rest. Changes nothing."""
        if lldp.is_lldp(data):
            frame = self._known(data)
            if frame is None or frame.kind is not Kind.LINKS:
                return frame is not None
            return place in self._awaited.get(frame.nonce, ())
        if data[:3] != arp.PROBE_OUI:
            return False
        try:
            address: Address
            if arp.is_arp(data):
                reply = arp.decode(data)
                asked, address = self._asked.get(reply.target_mac), reply.sender
            else:
                found = ndp.decode(data)
                asked = self._asked.get(found.destination + found.target.packed)
                address = found.target
        except (arp.Malformed, ndp.Malformed):
            return False
        return asked is not None and place in asked.ports and asked.address == address

    def echo_reply(self, switch: str, data: bytes, at_ns: int) -> None:
        """The answer to an echo; others' echoes are none of ours."""
        asked = self._echoes.pop(bytes(data), None)
        if asked and asked[0] == switch:
            self.control[Calibrate.ECHO].add(switch, at_ns - asked[1])

    def expire(self, now_ns: int) -> None:
        """Gives up on what has not come back."""
        before = now_ns - PATIENCE_NS
        for nonce in [n for n, (frame, *_) in self._frames.items() if frame.sent_ns < before]:
            lost, *_ = self._frames.pop(nonce)
            many = len(self._awaited.pop(nonce, ())) or 1
            self.counters["loops_lost" if lost.kind is Kind.LOOP else "lldp_lost"] += many
        for mac in [m for m, asked in self._asked.items() if asked.sent_ns < before]:
            del self._asked[mac]
            self.counters["arp_lost" if len(mac) == 6 else "nd_lost"] += 1
        for data in [d for d, (_, sent_ns) in self._echoes.items() if sent_ns < before]:
            del self._echoes[data]
            self.counters["echoes_lost"] += 1

    def _lldp_in(
        self, place: PortId, data: bytes, at_ns: int, is_edge: Callable[[PortId], bool]
    ) -> Finding | None:
        if is_edge(place):
            self.counters["lldp_from_host"] += 1
            return None
        try:
            frame = self._known(data) or lldp.decode(data, self.key)
        except lldp.Malformed:
            self.counters["lldp_malformed"] += 1
            return None
        except lldp.Foreign:
            self.counters["lldp_foreign"] += 1
            return None
        except lldp.Forged:
            self.counters["lldp_forged"] += 1
            return None
        if frame.kind is Kind.LINKS:
            self._links_in(place, frame, at_ns)
            return None
        sent, _, sample = self._frames.pop(frame.nonce, (None, b"", False))
        if sent != frame:
            self.counters["lldp_replayed"] += 1
            return None
        source = self._names.get(frame.dpid)
        if source is None or (frame.kind is Kind.LOOP) != (place.number == CONTROLLER_PORT):
            self.counters["lldp_misplaced"] += 1
            return None
        self.counters["lldp_accepted"] += 1
        if frame.kind is Kind.LOOP:
            if source == place.switch:
                self.control[Calibrate.LOOP].add(source, at_ns - frame.sent_ns)
            return None
        seen = LinkSeen(PortId(source, frame.port), place)
        if sample:
            self.crossings.add((seen.source, seen.target), at_ns - frame.sent_ns)
        return seen

    def _links_in(self, place: PortId, frame: Frame, at_ns: int) -> None:
        """One of several arrivals of a frame: each neighbour counts once. It tells nothing of a link but its time."""
        awaited = self._awaited.get(frame.nonce, {})
        source = awaited.pop(place, None)
        if source is None:
            self.counters["lldp_replayed"] += 1
            return
        if not awaited:
            del self._awaited[frame.nonce], self._frames[frame.nonce]
        self.counters["lldp_accepted"] += 1
        self.crossings.add((source, place), at_ns - frame.sent_ns)

    def _known(self, data: bytes) -> Frame | None:
        """The frame that these bytes are, if they are exactly what was sent: its nonce proves as much as its code."""
        frame, encoded, _ = self._frames.get(lldp.nonce(data), (None, b"", False))
        return frame if encoded == data else None

    def _arp_in(self, place: PortId, data: bytes, at_ns: int) -> Finding | None:
        try:
            packet = arp.decode(data)
        except arp.Malformed:
            self.counters["arp_malformed"] += 1
            return None
        if packet.operation == arp.REQUEST and packet.sender_mac[:3] == arp.PROBE_OUI:
            self.counters["arp_own"] += (
                1  # a probe of ours that has crossed a link, before the link was known
            )
            return None
        if packet.operation == arp.REQUEST:
            self.counters["arp_requests"] += 1
            return HostSays(place, packet)
        if packet.destination[:3] != arp.PROBE_OUI:
            self.counters["arp_replies"] += 1
            return HostSays(place, packet)
        asked = self._asked.get(packet.target_mac)
        if (
            asked is None
            or place not in asked.ports
            or packet.sender != asked.address
            or packet.destination != packet.target_mac
        ):
            self.counters["arp_unasked"] += 1
            return None
        del self._asked[packet.target_mac]
        self.counters["arp_accepted"] += 1
        return self._host_seen(asked, place, packet.sender_mac, at_ns)

    def _ndp_in(self, place: PortId, data: bytes, at_ns: int) -> Finding | None:
        try:
            if data[:3] != arp.PROBE_OUI:
                says = ndp.neighbour(data)
                own = data[6:9] == arp.PROBE_OUI  # a probe of ours that has crossed a link
                self.counters["nd_own" if own else "nd_others"] += 1
                return None if own else NeighbourSays(place, says, data)
            packet = ndp.decode(data)
        except ndp.Malformed:
            self.counters["nd_malformed"] += 1
            return None
        key = packet.destination + packet.target.packed
        asked = self._asked.get(key)
        if asked is None or place not in asked.ports:
            self.counters["nd_unasked"] += 1
            return None
        del self._asked[key]
        self.counters["nd_accepted"] += 1
        return self._host_seen(asked, place, packet.source, at_ns)

    def _host_seen(self, asked: _Asked, place: PortId, mac: bytes, at_ns: int) -> Finding:
        if asked.sample:
            self.hosts.add((asked.host, place), at_ns - asked.sent_ns)
        return HostSeen(asked.host, place, mac.hex(":"))

    # Delays

    def link_delay_ns(
        self, source: PortId, target: PortId, calibrate: Calibrate, statistic: Statistic
    ) -> int | None:
        """A link's one-way delay from the samples; None while some are missing."""
        raw = self.crossings.of((source, target), statistic)
        control = self.control[calibrate]
        near, far = control.of(source.switch, statistic), control.of(target.switch, statistic)
        if raw is None or near is None or far is None:
            return None
        return link_ns(raw, near, far)

    def host_delay_ns(
        self, host: str, port: PortId, calibrate: Calibrate, statistic: Statistic
    ) -> int | None:
        """A host's one-way delay from the samples; None while some are missing."""
        raw = self.hosts.of((host, port), statistic)
        control = self.control[calibrate].of(port.switch, statistic)
        return None if raw is None or control is None else host_ns(raw, control)
