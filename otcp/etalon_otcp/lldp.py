# SPDX-License-Identifier: MIT OR Apache-2.0
"""LLDP frames that measure (IEEE 802.1AB), signed, so that nobody else can make links or delays.

A frame carries where it left and when, a nonce, and an HMAC over all of it with a key that only this life of the controller
knows. What it says is believed if the HMAC is right; that it arrives only once is checked by `probing`, which keeps the nonces.
"""

from __future__ import annotations

import hmac
import struct
from dataclasses import dataclass
from enum import IntEnum

ETHERTYPE = 0x88CC
DESTINATION = bytes.fromhex("0180c200000e")
"""The nearest bridge: switches do not pass it on."""
SOURCE = bytes.fromhex("024f54435000")
OUI = bytes.fromhex("024f54")
"""Of the organisationally specific TLV: locally administered."""
LEAST_FRAME = 60
"""Bytes of an Ethernet frame without FCS."""
MOST_FRAME = 1514
_BODY = struct.Struct("!BQIQQ")
_HMAC_BYTES = 16
_TAIL = 16 + _HMAC_BYTES + 2
"""From the nonce to the end: nonce, time, HMAC, and the last TLV."""
_SUBTYPE = 1
_END, _CHASSIS, _PORT, _TTL, _ORGANISATION = 0, 1, 2, 3, 127


class Kind(IntEnum):
    """What a frame measures."""

    LOOP = 0
    """Out to the controller's port and in again: the control path alone."""
    LINK = 1
    """Out of a port, in at a neighbour."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What a frame says: its kind, the switch (datapath id) and port it leaves, a nonce, and when (ns, monotonic)."""

    kind: Kind
    dpid: int
    port: int
    nonce: int
    sent_ns: int


class Malformed(Exception):
    """Not an LLDP frame as we write them; the message says what is wrong."""


class Foreign(Exception):
    """A well-formed LLDP frame of somebody else's."""


class Forged(Exception):
    """One of ours by its form, with an HMAC that is not."""


def encode(frame: Frame, key: bytes) -> bytes:
    """The Ethernet frame, 60 bytes or more, without FCS."""
    body = _BODY.pack(frame.kind, frame.dpid, frame.port, frame.nonce, frame.sent_ns)
    chassis = b"\x07" + f"{frame.dpid:016x}".encode()
    tlvs = (
        _tlv(_CHASSIS, chassis)
        + _tlv(_PORT, b"\x07" + str(frame.port).encode())
        + _tlv(_TTL, struct.pack("!H", 120))
        + _tlv(_ORGANISATION, OUI + bytes([_SUBTYPE]) + body + _signature(body, key))
        + _tlv(_END, b"")
    )
    header = DESTINATION + SOURCE + struct.pack("!H", ETHERTYPE)
    return (header + tlvs).ljust(LEAST_FRAME, b"\0")


def decode(frame: bytes, key: bytes) -> Frame:
    """What a received frame says.

    Raises:
        Malformed: if it is no LLDP frame, or ours with fields that cannot be.
        Foreign: if it is an LLDP frame without our TLV.
        Forged: if its HMAC is wrong.
    """
    if not is_lldp(frame):
        raise Malformed("no LLDP frame")
    if len(frame) > MOST_FRAME:
        raise Malformed("longer than an Ethernet frame")
    ours = [
        value[4:]
        for kind, value in _tlvs(frame[14:])
        if kind == _ORGANISATION and value[:3] == OUI and value[3:4] == bytes([_SUBTYPE])
    ]
    if not ours:
        raise Foreign
    if len(ours) > 1 or len(ours[0]) != _BODY.size + _HMAC_BYTES:
        raise Malformed("our TLV twice, or of another length")
    body, signature = ours[0][: _BODY.size], ours[0][_BODY.size :]
    if not hmac.compare_digest(signature, _signature(body, key)):
        raise Forged
    kind, dpid, port, nonce, sent_ns = _BODY.unpack(body)
    return Frame(
        Kind(kind), dpid, port, nonce, sent_ns
    )  # signed by us, so that the kind is one of ours


def nonce(frame: bytes) -> int:
    """What stands where a frame of ours has its nonce; whose frame it is remains to be seen."""
    return int.from_bytes(frame[-_TAIL : -_TAIL + 8], "big")


def is_lldp(frame: bytes) -> bool:
    """Whether a frame is of LLDP's type."""
    return frame[12:14] == ETHERTYPE.to_bytes(2, "big")


def _signature(body: bytes, key: bytes) -> bytes:
    return hmac.digest(key, body, "sha256")[:_HMAC_BYTES]


def _tlv(kind: int, value: bytes) -> bytes:
    return struct.pack("!H", kind << 9 | len(value)) + value


def _tlvs(data: bytes) -> list[tuple[int, bytes]]:
    """The TLVs up to the end's; raises `Malformed` where they are cut off or the first three are not LLDP's."""
    found: list[tuple[int, bytes]] = []
    at = 0
    while True:
        if at + 2 > len(data):
            raise Malformed("cut off")
        header = int.from_bytes(data[at : at + 2], "big")
        kind, length = header >> 9, header & 0x1FF
        value = data[at + 2 : at + 2 + length]
        if len(value) < length:
            raise Malformed("cut off")
        if kind == _END:
            break
        found.append((kind, value))
        at += 2 + length
    if [kind for kind, _ in found[:3]] != [_CHASSIS, _PORT, _TTL]:
        raise Malformed("does not begin with chassis, port and time to live")
    return found
