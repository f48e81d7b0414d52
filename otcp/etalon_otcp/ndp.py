# SPDX-License-Identifier: MIT OR Apache-2.0
"""Neighbour discovery for IPv6 over Ethernet (RFC 4861): probes of hosts, and their answers.

A probe comes from a link-local address of one's own, not from the unspecified one: a host that is about to take the address
asked for would see a duplicate (RFC 4862, section 5.4.3). Hosts remember who asked, so that few addresses ask; which ones is
drawn when the controller starts.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from ipaddress import IPv6Address

from etalon_otcp.arp import PROBE_OUI

ETHERTYPE = 0x86DD
SOLICITATION, ADVERTISEMENT = 135, 136
ICMPV6 = 58
SLOTS = 16
"""Addresses that ask."""
_ETHERNET = struct.Struct("!6s6sH")
_IPV6 = struct.Struct("!IHBB16s16s")
_ICMP = struct.Struct("!BBHI16s")
_HEADERS = _ETHERNET.size + _IPV6.size
_HOPS = 255
"""Of what no router has passed on (section 7.1)."""
_SOURCE_MAC, _TARGET_MAC = 1, 2


@dataclass(frozen=True, slots=True)
class Advertisement:
    """Who has an address: the frame's addresses, and the one that is advertised."""

    destination: bytes
    source: bytes
    target: IPv6Address


@dataclass(frozen=True, slots=True)
class Neighbour:
    """What hosts learn of a neighbour from its solicitation or advertisement."""

    destination: bytes
    kind: int
    target: IPv6Address
    claimed: IPv6Address
    macs: frozenset[bytes]
    """Where the claimed address is said to be; none if the frame does not say that."""


class Malformed(Exception):
    """Not neighbour discovery's, or damaged."""


def prober(drawn: int, slot: int) -> bytes:
    """The hardware address of a probe: 20 bits that are drawn once, and one of `SLOTS`."""
    return PROBE_OUI + (drawn << 4 & 0xFFFFF0 | slot % SLOTS).to_bytes(3, "big")


def probe(address: IPv6Address, mac: bytes) -> bytes:
    """The frame that asks who has an address (sections 4.3 and 7.2.2), without FCS."""
    low = address.packed[-3:]
    group = IPv6Address(b"\xff\x02" + bytes(9) + b"\x01\xff" + low)
    source = _link_local(mac)
    option = bytes([_SOURCE_MAC, 1]) + mac
    return _frame(b"\x33\x33\xff" + low, mac, source, group, SOLICITATION, 0, address, option)


def answer(asked: bytes, mac: bytes) -> bytes:
    """What a host with hardware address `mac` answers to a probe (section 7.2.4)."""
    target, asker = IPv6Address(asked[_HEADERS + 8 : _HEADERS + 24]), asked[6:12]
    option = bytes([_TARGET_MAC, 1]) + mac
    flags = 0x6000_0000  # solicited, override
    return _frame(asker, mac, target, _link_local(asker), ADVERTISEMENT, flags, target, option)


def decode(frame: bytes) -> Advertisement:
    """A received advertisement.

    Raises:
        Malformed: if it is none, is cut off, came by a router, or has a wrong checksum.
    """
    kind, body, _ = _message(frame)
    if kind != ADVERTISEMENT:
        raise Malformed
    return Advertisement(frame[:6], frame[6:12], IPv6Address(body[8 : _ICMP.size]))


def neighbour(frame: bytes) -> Neighbour:
    """What a received solicitation or advertisement says of who sends it (sections 7.2.3 and 7.2.5).

    Raises:
        Malformed: if it is neither, is cut off, came by a router, or has a wrong checksum.
    """
    kind, body, sender = _message(frame)
    target = IPv6Address(body[8 : _ICMP.size])
    macs, rest = set(), body[_ICMP.size :]
    while rest:
        size = rest[1] * 8 if len(rest) > 1 else 0
        if not 0 < size <= len(rest):
            raise Malformed
        if rest[0] in (_SOURCE_MAC, _TARGET_MAC):
            macs.add(rest[2:8])
        rest = rest[size:]
    claimed = target if kind == ADVERTISEMENT else sender
    return Neighbour(frame[:6], kind, target, claimed, frozenset(macs))


def _message(frame: bytes) -> tuple[int, bytes, IPv6Address]:
    """A message's type, ICMPv6's part of it, and its sender."""
    if not is_ipv6(frame) or len(frame) < _HEADERS + _ICMP.size:
        raise Malformed
    first, length, header, hops, sender, receiver = _IPV6.unpack_from(frame, _ETHERNET.size)
    body = frame[_HEADERS : _HEADERS + length]
    if (
        first >> 28 != 6
        or header != ICMPV6
        or hops != _HOPS
        or not _ICMP.size <= length == len(body)
    ):
        raise Malformed
    kind, code, *_ = _ICMP.unpack_from(body)
    if kind not in (SOLICITATION, ADVERTISEMENT) or code or _checksum(sender, receiver, body):
        raise Malformed
    return kind, body, IPv6Address(sender)


def is_ipv6(frame: bytes) -> bool:
    """Whether a frame is of IPv6's type."""
    return frame[12:14] == ETHERTYPE.to_bytes(2, "big")


def _link_local(mac: bytes) -> IPv6Address:
    """By RFC 4291, appendix A."""
    return IPv6Address(
        b"\xfe\x80" + bytes(6) + bytes([mac[0] ^ 2]) + mac[1:3] + b"\xff\xfe" + mac[3:]
    )


def _frame(
    destination: bytes,
    mac: bytes,
    sender: IPv6Address,
    receiver: IPv6Address,
    kind: int,
    flags: int,
    target: IPv6Address,
    option: bytes,
) -> bytes:
    body = _ICMP.pack(kind, 0, 0, flags, target.packed) + option
    checked = _checksum(sender.packed, receiver.packed, body)
    body = body[:2] + struct.pack("!H", checked) + body[4:]
    head = _IPV6.pack(6 << 28, len(body), ICMPV6, _HOPS, sender.packed, receiver.packed)
    return _ETHERNET.pack(destination, mac, ETHERTYPE) + head + body


def _checksum(sender: bytes, receiver: bytes, body: bytes) -> int:
    """Of ICMPv6 over its pseudo-header (RFC 8200, section 8.1); 0 for a body whose own is right."""
    whole = sender + receiver + struct.pack("!II", len(body), ICMPV6) + body + bytes(len(body) % 2)
    total: int = sum(struct.unpack(f"!{len(whole) // 2}H", whole))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
