# SPDX-License-Identifier: MIT OR Apache-2.0
"""LLDP frames that measure (IEEE 802.1AB), signed, so that nobody else can make links or delays.

A frame carries where it left and when, a nonce, and a code over all of it with a key that only this life of the controller
knows (keyed BLAKE2b, RFC 7693). What it says is believed if the code is right; that it arrives only once is checked by
`probing`, which keeps the nonces.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

ETHERTYPE = 0x88CC
DESTINATION = bytes.fromhex("0180c200000e")
"""The nearest bridge: switches do not pass it on."""
SOURCE = bytes.fromhex("024f54435000")
OUI = bytes.fromhex("024f54")
"""Of the organisationally specific TLV: locally administered."""
MOST_FRAME = 1514
_BODY = struct.Struct("!BQIQQ")
_CODE_BYTES = 16
_TAIL = 16 + _CODE_BYTES + 2
"""From the nonce to the end: nonce, time, code, and the last TLV."""
_SUBTYPE = 1
_END, _CHASSIS, _PORT, _TTL, _ORGANISATION = 0, 1, 2, 3, 127
_LAST = bytes(2)
"""The TLV that ends a frame."""
_TYPE = ETHERTYPE.to_bytes(2, "big")


class Kind(IntEnum):
    """What a frame measures."""

    LOOP = 0
    """Out to the controller's port and in again: the control path alone."""
    LINK = 1
    """Out of a port, in at a neighbour."""
    LINKS = 2
    """Out of several ports at once, whose neighbours are known: the port is 0."""


class Frame(NamedTuple):
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
    """One of ours by its form, with a code that is not."""


def encode(frame: Frame, key: bytes) -> bytes:
    """The Ethernet frame, 60 bytes or more, without FCS."""
    body = _BODY.pack(frame.kind, frame.dpid, frame.port, frame.nonce, frame.sent_ns)
    return _start(frame.dpid, frame.port) + body + _signature(body, key) + _LAST


@lru_cache(maxsize=65_536)
def _start(dpid: int, port: int) -> bytes:
    """What all frames of a port begin with."""
    ours = struct.pack("!H", _ORGANISATION << 9 | (4 + _BODY.size + _CODE_BYTES))
    return (
        DESTINATION
        + SOURCE
        + struct.pack("!H", ETHERTYPE)
        + _tlv(_CHASSIS, b"\x07" + f"{dpid:016x}".encode())
        + _tlv(_PORT, b"\x07" + str(port).encode())
        + _tlv(_TTL, struct.pack("!H", 120))
        + ours
        + OUI
        + bytes([_SUBTYPE])
    )


def decode(frame: bytes, key: bytes) -> Frame:
    """What a received frame says.

    Raises:
        Malformed: if it is no LLDP frame, or ours with fields that cannot be.
        Foreign: if it is an LLDP frame without our TLV.
        Forged: if its code is wrong.
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
    if len(ours) > 1 or len(ours[0]) != _BODY.size + _CODE_BYTES:
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
    return frame[12:14] == _TYPE


def _signature(body: bytes, key: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_CODE_BYTES, key=key).digest()


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
