# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every message that a switch may send, by hand: sections are those of OpenFlow 1.3.5."""

from __future__ import annotations

import struct

from model_switch import message, port
from switches_beside import packet_in

MATCH = struct.pack("!HHHBBH6x", 1, 10, 0x8000, 5 << 1, 2, 0x0800)
"""IPv4 (section 7.2.2)."""
OUTPUT = struct.pack("!HHIH6x", 0, 16, 5, 0xFFFF)
TO_GROUP = struct.pack("!HHI", 22, 8, 7)
VENDOR = struct.pack("!HHIH6x", 0xFFFF, 16, 0x2320, 14)
LEARN = struct.pack("!HHIH", 0xFFFF, 48, 0x2320, 16) + bytes(38)
NESTED = struct.pack("!HHIH14xHH4x", 0xFFFF, 32, 0x2320, 35, 0, 0)
"""Nicira's ct, with an action of length 0 within."""
MINIMUM, MAXIMUM = (struct.pack("!HH4xH6x", kind, 16, 500) for kind in (1, 2))
OTHERS = struct.pack("!HH4xI4x", 9, 16, 7)
VERSIONS = struct.pack("!HHI", 1, 8, 1 << 4)
OUR_COOKIE = 0x4F544350_00000000
OUR_GROUP = 0x4F540007


def reply(kind: int, body: bytes = b"", more: bool = False) -> bytes:
    """A multipart reply (section 7.3.5)."""
    return message(19, struct.pack("!HH4x", kind, more) + body)


def features(dpid: int) -> bytes:
    """Who a switch is (section 7.3.1)."""
    return message(6, struct.pack("!QIBB10x", dpid, 0, 254, 0))


def entry(
    actions: bytes, instruction: int = 4, match: bytes = MATCH, cookie: int = 1, priority: int = 10
) -> bytes:
    """A flow entry with its statistics (section 7.3.5.2)."""
    held = struct.pack("!HH4x", instruction, 8 + len(actions)) + actions
    length = 48 + len(match) + len(held)
    head = struct.pack("!HBxIIHHHH4xQQQ", length, 0, 1, 1, priority, 0, 0, 0, cookie, 1, 1)
    return head + match + held


def flow(actions: bytes, instruction: int = 4) -> bytes:
    """A reply with one entry, which matches IPv4."""
    return reply(1, entry(actions, instruction))


def ours(mac: bytes, actions: bytes) -> bytes:
    """An entry as the controller writes it for a host."""
    match = struct.pack("!HHHBB", 1, 14, 0x8000, 3 << 1, 6) + mac + bytes(2)
    return entry(actions, match=match, cookie=OUR_COOKIE)


def described(number: int, *actions: bytes) -> bytes:
    """A group with a bucket for each list of actions (section 7.3.5.9)."""
    buckets = b"".join(
        struct.pack("!HHII4x", 16 + len(one), 1, 0xFFFFFFFF, 0xFFFFFFFF) + one for one in actions
    )
    return struct.pack("!HBxI", 8 + len(buckets), 1, number) + buckets


def group(actions: bytes) -> bytes:
    """A reply with one group of one bucket."""
    return reply(7, described(7, actions))


def queue(properties: bytes) -> bytes:
    """A queue of port 5 (section 7.3.6)."""
    return struct.pack("!IIH6x", 0, 5, 16 + len(properties)) + properties


def queues(*of: bytes) -> bytes:
    """The queues of a port (section 7.3.6)."""
    return message(23, struct.pack("!I4x", 1) + b"".join(of))


def port_status(number: int, reason: int = 2) -> bytes:
    """A port was added, deleted or (2) modified (section 7.4.3)."""
    return message(12, struct.pack("!B7x", reason) + port(number))


def error(kind: int, code: int, data: bytes = b"") -> bytes:
    """A refusal (section 7.4.4)."""
    return message(1, struct.pack("!HH", kind, code) + data)


_BAND = struct.pack("!HHII4x", 1, 16, 1000, 100)
EVERY = {
    "hello": message(0, VERSIONS),
    "hello, bare": message(0),
    "error": error(3, 4, message(14, bytes(64))),
    "error of a hello": error(0, 0, b"no version in common"),
    "error, experimenter": error(0xFFFF, 1, struct.pack("!I", 0x4F4E4600) + b"what"),
    "echo request": message(2, b"are you there"),
    "echo reply": message(3, b"I am"),
    "experimenter": message(4, struct.pack("!II", 0x2320, 9) + bytes(16)),
    "features": features(1),
    "configuration": message(8, struct.pack("!HH", 0, 0xFFFF)),
    "packet-in": packet_in(3, bytes(60)),
    "flow removed": message(
        11, struct.pack("!QHBBIIHHQQ", OUR_COOKIE, 10, 0, 0, 1, 1, 0, 0, 1, 60) + MATCH
    ),
    "port status": port_status(2),
    "barrier": message(21),
    "queues": queues(queue(MINIMUM + OTHERS + MAXIMUM), queue(b"")),
    "role": message(25, struct.pack("!I4xQ", 2, 7)),
    "async": message(27, struct.pack("!6I", 7, 7, 7, 7, 7, 7)),
    "description": reply(0, bytes(256 * 3 + 32 + 256)),
    "flows": reply(
        1,
        ours(b"\2\0\0\0\0\1", OUTPUT)
        + ours(b"\2\0\0\0\0\2", struct.pack("!HHI", 22, 8, OUR_GROUP))
        + entry(OUTPUT + TO_GROUP + VENDOR + NESTED),
    ),
    "aggregate": reply(2, struct.pack("!QQI4x", 1, 60, 1)),
    "tables": reply(3, struct.pack("!B3xIQQ", 0, 1, 1, 1)),
    "port counters": reply(4, struct.pack("!I4x12QII", 1, *range(12), 1, 1)),
    "queue counters": reply(5, struct.pack("!IIQQQII", 1, 0, 1, 1, 1, 1, 1)),
    "group counters": reply(6, struct.pack("!H2xII4xQQIIQQ", 56, 7, 1, 1, 1, 1, 1, 1, 1)),
    "groups": reply(
        7,
        described(OUR_GROUP, OUTPUT, OUTPUT)
        + described(OUR_GROUP + 1, TO_GROUP + LEARN)
        + described(8),
    ),
    "group features": reply(8, struct.pack("!II4I4I", 15, 15, *range(8))),
    "meters": reply(9, struct.pack("!IH6xIQQIIQQ", 1, 56, 1, 1, 1, 1, 1, 1, 1)),
    "meter configuration": reply(10, struct.pack("!HHI", 24, 1, 1) + _BAND),
    "meter features": reply(11, struct.pack("!IIIBB2x", 9, 2, 15, 8, 8)),
    "table features": reply(
        12, struct.pack("!HB5x32sQQII", 72, 0, b"t", 0, 0, 0, 9) + struct.pack("!HH4x", 0, 4)
    ),
    "ports": reply(13, port(1) + port(2) + port(3) + port(4)),
    "experimenter's reply": reply(0xFFFF, struct.pack("!II", 0x2320, 0) + bytes(8)),
}
"""By its name; of replies of several kinds, one of each."""
