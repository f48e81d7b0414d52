# SPDX-License-Identifier: MIT OR Apache-2.0
"""Messages whose inner lengths do not add up: os-ken would read them for ever."""

from __future__ import annotations

import signal
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_switch import message, port
from openflow import (
    LEARN,
    MAXIMUM,
    MINIMUM,
    NESTED,
    OTHERS,
    OUTPUT,
    TO_GROUP,
    VENDOR,
    VERSIONS,
    flow,
    group,
    queue,
    reply,
)

from conftest import need_module

need_module("os_ken", "otcp")

from os_ken.exception import OSKenException
from switches_beside import packet_in

from etalon_otcp.lengths import cleaned

import etalon_otcp.channel  # noqa: F401 isort: skip, it chooses os-ken's threads
from os_ken.ofproto import ofproto_parser, ofproto_v1_3_parser
from os_ken.ofproto.ofproto_protocol import ProtocolDesc

DATAPATH = ProtocolDesc(version=4)


GOOD = [
    message(0),
    message(0, VERSIONS),
    message(0, struct.pack("!HHII4x", 1, 12, 1 << 4, 0)),
    message(1, struct.pack("!HH", 1, 2) + b"what"),
    message(6, struct.pack("!QIBB10x", 1, 0, 254, 0)),
    message(12, struct.pack("!B7x", 2) + port(1)),
    reply(13, port(1) + port(2)),
    flow(OUTPUT + TO_GROUP),
    flow(b"", instruction=5),
    flow(VENDOR + LEARN + NESTED + OUTPUT),
    group(OUTPUT + OUTPUT),
    message(23, struct.pack("!I4x", 1) + queue(MINIMUM + OTHERS + MAXIMUM) + queue(b"")),
    packet_in(7, b"frame"),
]
ENDLESS = [
    message(0, struct.pack("!HH", 1, 0)),
    message(0, struct.pack("!HH", 9, 0) + bytes(8)),
    reply(1, bytes(64)),
    reply(7, bytes(64)),
    reply(7, struct.pack("!HBxI", 40, 1, 7) + bytes(32)),
    flow(struct.pack("!HHI", 0, 0, 0)),
    group(struct.pack("!HHI", 22, 0, 0)),
    reply(13, bytes(63)),
    message(23, struct.pack("!I4x", 1) + bytes(16)),
    message(23, struct.pack("!I4x", 1) + queue(struct.pack("!HH12x", 2, 0))),
    message(23, b"\0"),
    message(19, b"\0\1"),
    message(19),
]


class TooLong(BaseException):
    """It ends a loop of os-ken, which catches it as it does all others."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    late = []

    def stop(*_: object) -> None:
        late.append(True)
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not late, f"it takes longer than {seconds} s"


def read(data: bytes) -> Any:
    """What os-ken makes of it; None if it can make nothing."""
    with within(10):
        try:
            return ofproto_parser.msg(DATAPATH, *ofproto_parser.header(data), data)
        except OSKenException:
            return None


@pytest.mark.parametrize("data", GOOD, ids=bytes.hex)
def test_what_switches_say_is_read(data: bytes) -> None:
    taken = cleaned(data)
    assert taken is not None and int.from_bytes(taken[2:4], "big") == len(taken)
    assert read(taken) is not None


@pytest.mark.parametrize("data", ENDLESS, ids=bytes.hex)
def test_what_would_be_read_for_ever_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"part|reply|port"):
        cleaned(data)


@pytest.mark.parametrize("kind", [4, 8, 10**2, *range(13, 19), 20, 21])
def test_what_nobody_asked_for_is_left_out(kind: int) -> None:
    assert cleaned(message(kind, bytes(64))) is None
    assert cleaned(reply(kind, bytes(64))) is None or kind in (13,)


def test_another_versions_messages_are_left_out() -> None:
    """But for a hello, whose body has no parts before version 4."""
    for version in (1, 5, 255):
        assert cleaned(bytes([version]) + message(6, bytes(24))[1:]) is None
    assert cleaned(b"\1" + message(0, b"what")[1:]) == b"\1" + message(0)[1:]
    with pytest.raises(ValueError, match="part"):
        cleaned(b"\6" + message(0, struct.pack("!HH", 1, 0))[1:])


def test_what_is_read_says_what_was_said() -> None:
    taken = cleaned(GOOD[9])
    assert taken is not None
    (entry,) = read(taken).body
    kinds = [type(action) for action in entry.instructions[0].actions]
    assert [one.__name__ for one in kinds] == ["OFPActionCopyTtlOut"] * 3 + ["OFPActionOutput"]
    taken = cleaned(GOOD[11])
    assert taken is not None
    one, other = read(taken).queues
    assert [type(p) for p in one.properties] == [
        ofproto_v1_3_parser.OFPQueuePropMinRate,
        ofproto_v1_3_parser.OFPQueuePropMaxRate,
    ]
    assert (one.port, one.queue_id, other.properties) == (5, 0, [])
    taken = cleaned(GOOD[2])
    assert taken is not None and read(taken).elements[0].versions == [4]


LONGER = struct.pack("!HHIH6x", 0, 24, 5, 0xFFFF) + struct.pack("!HHI", 0xFFFF, 0, 0x2320)
"""An output with eight bytes too many, which os-ken would take for the next action: its length is 0."""


@pytest.mark.parametrize("data", [flow(LONGER + OUTPUT), group(LONGER + OUTPUT)], ids=bytes.hex)
def test_what_is_longer_than_its_kind_is_not_read_from_its_midst(data: bytes) -> None:
    taken = cleaned(data)
    assert taken is not None
    (found,) = read(taken).body
    (holds,) = getattr(found, "buckets", None) or found.instructions
    assert [getattr(action, "port", None) for action in holds.actions] == [None, 5]


@settings(max_examples=500, deadline=None)
@given(
    st.sampled_from([*GOOD, *ENDLESS]),
    st.lists(st.tuples(st.integers(0, 200), st.binary(max_size=4)), max_size=4),
    st.integers(0, 60),
)
def test_what_is_let_through_is_read_to_its_end(
    data: bytes, changes: list[tuple[int, bytes]], cut: int
) -> None:
    damaged = bytearray(data if cut > 30 else data[: max(8, len(data) - cut)])
    for at, junk in changes:
        damaged[1 + at : 1 + at + len(junk)] = junk
    damaged += bytes(max(0, 8 - len(damaged)))
    damaged[2:4] = len(damaged).to_bytes(2, "big")
    try:
        taken = cleaned(bytes(damaged))
    except ValueError:
        return
    if taken is not None:
        assert int.from_bytes(taken[2:4], "big") == len(taken)
        read(taken)
