# SPDX-License-Identifier: MIT OR Apache-2.0
"""ARP for IPv4 over Ethernet (RFC 826): probes of hosts (RFC 5227), their answers, and answers in hosts' stead.

A probe's sender address is 0.0.0.0, so that no host learns from it, and its sender hardware address is one that is drawn for
this probe: an answer goes there, and one that was not asked for cannot know it.
"""

from __future__ import annotations

import struct
from ipaddress import IPv4Address
from typing import NamedTuple

ETHERTYPE = 0x0806
BROADCAST = b"\xff" * 6
PROBE_OUI = bytes.fromhex("024f54")
"""First half of probes' hardware addresses; the rest is drawn."""
PROBE_MASK = ("02:4f:54:00:00:00", "ff:ff:ff:00:00:00")
"""The same for a flow entry's match."""
REQUEST, REPLY = 1, 2
LEAST_FRAME = 60
_FIXED = struct.Struct("!HHBBH")
_ETHERNET_IPV4 = (1, 0x0800, 6, 4)
_TYPE = ETHERTYPE.to_bytes(2, "big")
_NOBODY = IPv4Address(0)


class Packet(NamedTuple):
    """An ARP packet and the frame's addresses."""

    destination: bytes
    source: bytes
    operation: int
    sender_mac: bytes
    sender: IPv4Address
    target_mac: bytes
    target: IPv4Address


class Malformed(Exception):
    """Not ARP for IPv4 over Ethernet."""


def encode(packet: Packet) -> bytes:
    """The Ethernet frame, 60 bytes, without FCS."""
    header = packet.destination + packet.source + _TYPE
    fixed = _FIXED.pack(*_ETHERNET_IPV4, packet.operation)
    sender = packet.sender_mac + packet.sender.packed
    target = packet.target_mac + packet.target.packed
    return (header + fixed + sender + target).ljust(LEAST_FRAME, b"\0")


def decode(frame: bytes) -> Packet:
    """A received frame.

    Raises:
        Malformed: if it is cut off, or not ARP for IPv4 over Ethernet, or the frame's source is another than the packet's.
    """
    if not is_arp(frame) or len(frame) < 42:
        raise Malformed
    *kind, operation = _FIXED.unpack(frame[14:22])
    if tuple(kind) != _ETHERNET_IPV4 or operation not in (REQUEST, REPLY):
        raise Malformed
    packet = Packet(
        destination=frame[:6],
        source=frame[6:12],
        operation=operation,
        sender_mac=frame[22:28],
        sender=IPv4Address(frame[28:32]),
        target_mac=frame[32:38],
        target=IPv4Address(frame[38:42]),
    )
    if packet.source != packet.sender_mac:
        raise Malformed
    return packet


def is_arp(frame: bytes) -> bool:
    """Whether a frame is of ARP's type."""
    return frame[12:14] == _TYPE


def probe(address: IPv4Address, drawn: int) -> Packet:
    """Asks whether a host has this address; `drawn` are 24 random bits."""
    mac = PROBE_OUI + drawn.to_bytes(3, "big")
    return Packet(BROADCAST, mac, REQUEST, mac, _NOBODY, bytes(6), address)


def answer(request: Packet, mac: bytes) -> Packet:
    """What the host with hardware address `mac` would answer to a request."""
    return Packet(
        request.sender_mac, mac, REPLY, mac, request.target, request.sender_mac, request.sender
    )
