# SPDX-License-Identifier: MIT OR Apache-2.0
"""A switch's flow entries and select groups as OpenFlow 1.3 messages, without I/O.

Flows to a host with several equal ways go to a select group, whose switch picks a way by its own hash of a flow's headers.
A group's ports never change: another set of ports is another group, so that an entry is never without one.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from etalon_otcp import arp, lldp, ndp
from etalon_otcp.forwarding import OTHERS, groups_of
from etalon_otcp.probing import MOST_PORT

COOKIE = 0x4F544350_00000000
"""Of the entries that we write: 'OTCP'."""
COOKIE_MASK = 0xFFFFFFFF_00000000
PUNT_PRIORITY, FORWARD_PRIORITY, OTHERS_PRIORITY = 60_000, 10, 5
GROUPS = 0x4F54_0000
"""Our groups: 'OT' and 16 bits."""
MOST_GROUPS = 1 << 15
"""Of ours that a switch may come with: where all numbers are taken, no free one is found."""
RESERVED = ("01:80:c2:00:00:00", "ff:ff:ff:ff:ff:f0")
"""Destinations that no bridge passes on (IEEE 802.1Q, table 8-1)."""
WHOLE = 65_535
"""OFPCML_NO_BUFFER: all of a frame."""
Ports = tuple[int, ...]


def is_ours(group: int) -> bool:
    """Whether a group has one of our numbers."""
    return group & 0xFFFF_0000 == GROUPS


class Entries:
    """What one switch has, and the messages that change it."""

    def __init__(self, datapath: Any) -> None:
        self._datapath = datapath
        self._parser, self._proto = datapath.ofproto_parser, datapath.ofproto
        self.table: dict[str, Ports] = {}
        self._groups: dict[Ports, int] = {}
        self._numbers: dict[int, Ports] = {}
        """The same by number."""
        self._surplus: set[int] = set()
        """Groups of ours that are there from before, and do what another one does, or what none of ours would."""

    # What it has

    def group_found(self, number: int, ports: Ports) -> bool:
        """A group that is there from before, empty if it does what none of ours would; False if there are too many."""
        if is_ours(number) and number not in self._numbers:
            if ports and ports not in self._groups:
                self._groups[ports], self._numbers[number] = number, ports
            else:
                self._surplus.add(number)
        return len(self._numbers) + len(self._surplus) <= MOST_GROUPS

    def entry_found(self, entry: Any) -> None:
        """An entry that is there from before, of a flow statistics reply."""
        if entry.priority not in (FORWARD_PRIORITY, OTHERS_PRIORITY):
            return
        others = entry.priority == OTHERS_PRIORITY and "eth_dst" not in entry.match
        mac = OTHERS if others else entry.match.get("eth_dst")
        ports = self.ports_of(entry)
        if isinstance(mac, str) and ports:
            self.table[mac] = ports

    def ports_of(self, entry: Any) -> Ports:
        """The ports that an entry, or its group, sends to."""
        found: list[int] = []
        for action in _actions(entry):
            group = getattr(action, "group_id", None)
            if group is not None:
                return self._numbers.get(group, ())
            port = getattr(action, "port", None)
            if port is not None and port < MOST_PORT:
                found.append(int(port))
        return tuple(found)

    # What changes it

    def punting(self, forwards: bool) -> Iterator[Any]:
        """What the switch hands in: LLDP, answers to our probes, and, if we forward, hosts' claims to addresses."""
        parser, proto = self._parser, self._proto
        matches = [
            parser.OFPMatch(eth_type=lldp.ETHERTYPE),
            parser.OFPMatch(eth_type=arp.ETHERTYPE, eth_dst=arp.PROBE_MASK),
            parser.OFPMatch(eth_type=ndp.ETHERTYPE, eth_dst=arp.PROBE_MASK),
        ]
        if forwards:
            matches.append(parser.OFPMatch(eth_type=arp.ETHERTYPE))
            for kind in (ndp.SOLICITATION, ndp.ADVERTISEMENT):
                match = {"ip_proto": ndp.ICMPV6, "icmpv6_type": kind}
                matches.append(parser.OFPMatch(eth_type=ndp.ETHERTYPE, **match))
        for match in matches:
            yield self._add(PUNT_PRIORITY, match, self._outputs([proto.OFPP_CONTROLLER]))
        if forwards:
            yield self._add(OTHERS_PRIORITY + 1, parser.OFPMatch(eth_dst=RESERVED), [])

    def write(self, written: Mapping[str, Ports], deleted: Iterable[str]) -> Iterator[Any]:
        """Entries to write and to delete; groups that are new come first, those without an entry go last.

        To be gone through to its end.
        """
        while self._surplus:  # before its entries, which go with it, are written anew
            yield self._delete(self._surplus.pop())
        for ports in sorted(groups_of(p for mac, p in written.items() if mac != OTHERS)):
            if ports not in self._groups:
                yield self._group(ports)
        for mac, ports in written.items():
            self.table[mac] = ports
            yield self._add(*self._match(mac), self._to(mac, ports))
        for mac in deleted:
            self.table.pop(mac, None)
            priority, match = self._match(mac)
            yield self._parser.OFPFlowMod(
                self._datapath,
                command=self._proto.OFPFC_DELETE_STRICT,
                out_port=self._proto.OFPP_ANY,
                out_group=self._proto.OFPG_ANY,
                priority=priority,
                match=match,
            )
        used = groups_of(ports for mac, ports in self.table.items() if mac != OTHERS)
        for ports in sorted(self._groups.keys() - used):
            number = self._groups.pop(ports)
            self._numbers.pop(number, None)
            yield self._delete(number)

    def _match(self, mac: str) -> tuple[int, Any]:
        if mac == OTHERS:
            return OTHERS_PRIORITY, self._parser.OFPMatch()
        return FORWARD_PRIORITY, self._parser.OFPMatch(eth_dst=mac)

    def _to(self, mac: str, ports: Ports) -> list[Any]:
        if mac != OTHERS and len(ports) > 1:
            return [self._parser.OFPActionGroup(self._groups[ports])]
        return self._outputs(ports)

    def _outputs(self, ports: Iterable[int]) -> list[Any]:
        return [self._parser.OFPActionOutput(port, WHOLE) for port in ports]

    def _group(self, ports: Ports) -> Any:
        """A new select group, by a number that no other has."""
        number = GROUPS | zlib.crc32(repr(ports).encode()) & 0xFFFF
        while number in self._numbers:
            number = GROUPS | (number + 1) & 0xFFFF
        self._groups[ports], self._numbers[number] = number, ports
        nobody = {"watch_port": self._proto.OFPP_ANY, "watch_group": self._proto.OFPG_ANY}
        buckets = [
            self._parser.OFPBucket(weight=1, actions=self._outputs([port]), **nobody)
            for port in ports
        ]
        return self._parser.OFPGroupMod(
            self._datapath, self._proto.OFPGC_ADD, self._proto.OFPGT_SELECT, number, buckets
        )

    def _delete(self, number: int) -> Any:
        return self._parser.OFPGroupMod(
            self._datapath, self._proto.OFPGC_DELETE, self._proto.OFPGT_SELECT, number, []
        )

    def _add(self, priority: int, match: Any, actions: list[Any]) -> Any:
        apply = self._parser.OFPInstructionActions(self._proto.OFPIT_APPLY_ACTIONS, actions)
        return self._parser.OFPFlowMod(
            self._datapath,
            cookie=COOKIE,
            priority=priority,
            match=match,
            instructions=[apply] if actions else [],
        )


def _actions(entry: Any) -> Iterator[Any]:
    for instruction in entry.instructions:
        yield from getattr(instruction, "actions", ())
