# SPDX-License-Identifier: MIT OR Apache-2.0
"""OpenFlow 1.3's messages that each probe needs, by hand: os-ken's classes take most of a probe's time."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import lru_cache

from etalon_otcp.entries import WHOLE
from etalon_otcp.probing import CONTROLLER_PORT

HEADER = struct.Struct("!BBHI")
"""Version, type, length, transaction (section 7.1)."""
VERSION = 4
ECHO_REQUEST, ECHO_REPLY, PACKET_IN, PACKET_OUT = 2, 3, 10, 13
_OUT = struct.Struct("!IIH6x")
_OUTPUT = struct.Struct("!HHIH6x")
_NO_BUFFER = 0xFFFFFFFF
_IN_PORT = bytes.fromhex("0001000c80000004")
"""A match of type OXM, 12 bytes long, whose one field is OXM_OF_IN_PORT (section 7.2.2)."""
_MATCH_AT, _FRAME_AT = 24, 42


def packet_out(ports: Iterable[int], frame: bytes) -> bytes:
    """A frame to leave by ports (section 7.3.7), as if the controller's port had received it."""
    actions = b"".join(map(_output, ports))
    length = HEADER.size + _OUT.size + len(actions) + len(frame)
    head = HEADER.pack(VERSION, PACKET_OUT, length, 0)
    return head + _OUT.pack(_NO_BUFFER, CONTROLLER_PORT, len(actions)) + actions + frame


@lru_cache(maxsize=65_536)
def _output(port: int) -> bytes:
    """The action for one port: the cache would grow without bounds by sets of ports, of which probes have many."""
    return _OUTPUT.pack(0, _OUTPUT.size, port, WHOLE)


def packet_in(message: bytes) -> tuple[int, bytes] | None:
    """The port and the frame of a packet-in (section 7.4.1) whose match is the port alone.

    None for any other message, which is os-ken's to read.
    """
    if message[1] != PACKET_IN or message[_MATCH_AT : _MATCH_AT + 8] != _IN_PORT:
        return None
    if len(message) < _FRAME_AT:
        return None
    length = int.from_bytes(message[12:14], "big")
    number = int.from_bytes(message[32:36], "big")
    return number, message[_FRAME_AT : _FRAME_AT + length]


def echo_request(data: bytes) -> bytes:
    """An echo request (section 7.5.2)."""
    return HEADER.pack(VERSION, ECHO_REQUEST, HEADER.size + len(data), 0) + data
