# SPDX-License-Identifier: MIT OR Apache-2.0
"""Messages that os-ken may read: it follows the lengths within a message without a look, and at one of 0 it reads the same
bytes for ever, until memory ends. For some actions and instructions it takes a length of its own instead, and then reads
from their midst. So nothing reaches it whose lengths do not add up, or that nobody asked for, and entries and groups are
written anew, with the actions alone whose lengths both agree on.

Sections are those of OpenFlow 1.3.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from etalon_otcp.messages import ECHO_REPLY, ECHO_REQUEST, HEADER, PACKET_IN, VERSION

HELLO, ERROR, FEATURES_REPLY, PORT_STATUS, MULTIPART_REPLY, QUEUES_REPLY = 0, 1, 6, 12, 19, 23
FLOWS, GROUPS, PORTS = 1, 7, 13
"""Of multipart replies (section 7.3.5)."""
WITHOUT_PARTS = frozenset({ERROR, ECHO_REQUEST, ECHO_REPLY, FEATURES_REPLY, PACKET_IN, PORT_STATUS})
"""What has no lengths within but a match's, whose fields each have a header, so that reading it ends."""
_MULTIPART_AT = 16
_PORT = 64
_VERSIONS = 1
_RATES = (1, 2)
"""OFPQT_MIN_RATE, OFPQT_MAX_RATE: at a property of another kind os-ken stays."""
_OF_ACTIONS = (3, 4, 5)
"""Instructions that hold actions (section 7.2.4)."""
_READ = {(0, 16), (22, 8)}
"""Actions that are read, by type and length: output, group (section 7.2.5)."""
_ANOTHER = bytes.fromhex("000b000800000000")
"""In the place of any other: copying the TTL outwards, which is a header alone."""


def cleaned(message: bytes) -> bytes | None:
    """A message as os-ken may read it, without what only others understand; None if nobody here wants it.

    Raises:
        ValueError: if lengths within it do not add up.
    """
    version, kind = message[0], message[1]
    if kind == HELLO:
        return _hello(message)
    if version != VERSION:
        return None
    if kind in WITHOUT_PARTS:
        return message
    if kind == MULTIPART_REPLY:
        return _multipart(message)
    if kind == QUEUES_REPLY:
        return _queues(message)
    return None


def _hello(message: bytes) -> bytes:
    """With the versions alone, as os-ken takes the zeros behind an element for the next one (section 7.5.1)."""
    version, kind, _, transaction = HEADER.unpack_from(message)
    body = b""
    if version >= VERSION:  # before that a hello has no elements, and its body is to be ignored
        for at, end in _parts(message, HEADER.size, len(message), 2, 4, padded=True):
            if _short(message, at) == _VERSIONS:
                body += message[at:end]
    return HEADER.pack(version, kind, HEADER.size + len(body), transaction) + body


def _multipart(message: bytes) -> bytes | None:
    what = _short(message, HEADER.size)
    if what not in (FLOWS, GROUPS, PORTS):
        return None
    if len(message) < _MULTIPART_AT:
        raise ValueError("a reply shorter than its head")
    if what == PORTS and (len(message) - _MULTIPART_AT) % _PORT:
        raise ValueError("a port that is cut")
    if what == FLOWS:
        return _whole(message[:_MULTIPART_AT], _flows(message))
    if what == GROUPS:
        return _whole(message[:_MULTIPART_AT], _groups(message))
    return message


def _whole(head: bytes, parts: Iterable[bytes]) -> bytes:
    """A message that is not longer than it was."""
    body = b"".join(parts)
    return head[:2] + _two(len(head) + len(body)) + head[4:] + body


def _flows(message: bytes) -> Iterator[bytes]:
    """Entries with the instructions alone that hold actions (section 7.3.5.2)."""
    for at, end in _parts(message, _MULTIPART_AT, len(message), 0, 56):
        match = at + 48
        instructions = match + _up(_short(message, match + 2))
        held = b"".join(
            message[one : one + 2] + _two(8 + len(actions)) + bytes(4) + actions
            for one, last in _parts(message, instructions, end, 2, 8)
            if _short(message, one) in _OF_ACTIONS
            for actions in [_actions(message, one + 8, last)]
        )
        yield _two(instructions - at + len(held)) + message[at + 2 : instructions] + held


def _groups(message: bytes) -> Iterator[bytes]:
    """Groups and their buckets (section 7.3.5.9)."""
    for at, end in _parts(message, _MULTIPART_AT, len(message), 0, 8):
        buckets = b"".join(
            _two(16 + len(actions)) + message[one + 2 : one + 16] + actions
            for one, last in _parts(message, at + 8, end, 0, 16)
            for actions in [_actions(message, one + 16, last)]
        )
        yield _two(8 + len(buckets)) + message[at + 2 : at + 8] + buckets


def _actions(message: bytes, at: int, end: int) -> bytes:
    return b"".join(
        message[one:last] if (_short(message, one), last - one) in _READ else _ANOTHER
        for one, last in _parts(message, at, end, 2, 8)
    )


def _queues(message: bytes) -> bytes:
    """With the queues' rates alone (section 7.2.2)."""
    cleaned = bytearray(message[: HEADER.size + 8])
    if len(cleaned) < HEADER.size + 8:
        raise ValueError("a reply shorter than its head")
    for at, end in _parts(message, HEADER.size + 8, len(message), 8, 16):
        properties = b"".join(
            message[one:last]
            for one, last in _parts(message, at + 16, end, 2, 16)
            if _short(message, one) in _RATES
        )
        length = 16 + len(properties)
        cleaned += message[at : at + 8] + _two(length) + bytes(6) + properties
    cleaned[2:4] = _two(len(cleaned))
    return bytes(cleaned)


def _parts(
    message: bytes, at: int, end: int, length_at: int, least: int, padded: bool = False
) -> Iterator[tuple[int, int]]:
    """Where parts begin and end that follow each other up to `end`; their length is 16 bits, `length_at` behind their start."""
    if at > end:
        raise ValueError("a part that begins behind the end of the whole")
    while at < end:
        length = _short(message, at + length_at)
        if length < least or at + length > end:
            raise ValueError(f"a part of {length} bytes, where {least} to {end - at} may be")
        yield at, at + length
        at += _up(length) if padded else length


def _short(message: bytes, at: int) -> int:
    if at + 2 > len(message):
        raise ValueError("a part that is cut")
    return int.from_bytes(message[at : at + 2], "big")


def _two(number: int) -> bytes:
    return number.to_bytes(2, "big")


def _up(length: int) -> int:
    """To the next multiple of 8."""
    return -(-length // 8) * 8
