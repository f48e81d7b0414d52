# SPDX-License-Identifier: MIT OR Apache-2.0
"""What hosts ask of their neighbours, by ARP and neighbour discovery: the controller answers, or hands it on to who may.

It also sees here that a host speaks from another place than where it sits.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable

from etalon_otcp import arp, ndp
from etalon_otcp.network import Address, PortId
from etalon_otcp.probing import Action, HostSays, NeighbourSays, PacketOut
from etalon_otcp.rate import Rate
from etalon_otcp.seldom import STRANGERS
from etalon_otcp.topology import Topology

RELAYED_PER_S = 50
"""ARP of one port that is for addresses that are not in the file: no host can use up what is left to others."""


class Answering:
    """Works on a topology under its lock.

    `edges` tells the ports without a switch, `send` and `probe_host` are the controller's, `counters` count forged claims.
    """

    def __init__(
        self,
        topology: Topology,
        lock: threading.RLock,
        counters: Counter[str],
        edges: Callable[[], Iterable[PortId]],
        send: Callable[[Action], None],
        probe_host: Callable[[str, PortId], None],
    ) -> None:
        self._topology, self._lock, self._counters = topology, lock, counters
        self._edges, self._send, self._probe_host = edges, send, probe_host
        self._relayed = Rate(RELAYED_PER_S, 1.0)
        self._names = {
            address: name
            for name, host in topology.hosts_given.items()
            for address in host.addresses
        }

    def check_claim(self, port: PortId, address: Address) -> None:
        """A host that speaks somewhere else than where it sits has moved, or another claims to be it: a probe will show."""
        name, seat = self._names.get(address), self._seat_of(address)
        if name and (seat is None or seat[0] != port):
            self._probe_host(name, port)

    def answer(self, asks: HostSays) -> None:
        """Answers ARP for a host that we know, in its stead; what is for others goes to all ports without a switch."""
        packet = asks.packet
        seat = self._seat_of(packet.target)
        if packet.operation == arp.REQUEST and packet.target in self._names:
            if seat:
                reply = arp.answer(packet, bytes.fromhex(seat[1].replace(":", "")))
                self._send_to(asks.port, arp.encode(reply))
        elif self._is_honest(asks.port, packet.sender, {packet.sender_mac}):
            if seat and seat[1] == packet.destination.hex(":"):
                self._send_to(seat[0], arp.encode(packet))
            else:
                self._relay(asks.port, arp.encode(packet))

    def hand_on(self, heard: NeighbourSays) -> None:
        """Neighbour discovery goes to the host that it is for, if we know that, or else to all ports without a switch."""
        says = heard.says
        if not self._is_honest(heard.port, says.claimed, says.macs):
            return
        seat = self._seat_of(says.target) if says.kind == ndp.SOLICITATION else None
        if seat is None and not says.destination[0] & 1:
            mac = says.destination.hex(":")
            with self._lock:
                seats = [self._topology.seat(name) for name in self._topology.hosts_given]
            seat = next((one[:2] for one in seats if one and one[1] == mac), None)
        if seat:
            self._send_to(seat[0], heard.frame)
        else:
            self._relay(heard.port, heard.frame)

    def _seat_of(self, address: Address) -> tuple[PortId, str] | None:
        """Port and hardware address of the host of the file that has an address, if it was found."""
        name = self._names.get(address)
        with self._lock:
            seat = self._topology.seat(name) if name else None
        return seat[:2] if seat else None

    def _is_honest(self, port: PortId, address: Address, macs: Iterable[bytes]) -> bool:
        """Whether an address that is claimed is nobody else's: hosts believe what they hear of their neighbours."""
        seat = self._seat_of(address)
        others = {mac.hex(":") for mac in macs} - {seat[1]} if seat else set()
        if seat is None or not others:
            return True
        self._counters["claims_forged"] += 1
        STRANGERS.warn(
            "port %d of %s claims that host %s has the hardware address %s, not %s: others do not hear that",
            port.number,
            port.switch,
            self._names[address],
            " and ".join(sorted(others)),
            seat[1],
            of=f"claims at {port}",
        )
        return False

    def _send_to(self, port: PortId, frame: bytes) -> None:
        self._send(PacketOut(port.switch, (port.number,), frame))

    def _relay(self, port: PortId, frame: bytes) -> None:
        if self._relayed.wait_s(str(port)):
            return
        ports: dict[str, list[int]] = {}
        for place in sorted({*self._edges()} - {port}):
            ports.setdefault(place.switch, []).append(place.number)
        for switch, numbers in ports.items():
            self._send(PacketOut(switch, tuple(numbers), frame))
