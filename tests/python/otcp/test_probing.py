# SPDX-License-Identifier: MIT OR Apache-2.0
"""LLDP and ARP: what is believed, and what is counted and ignored."""

from __future__ import annotations

from ipaddress import IPv4Address

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from etalon_otcp import arp, lldp
from etalon_otcp.delays import Calibrate, Statistic
from etalon_otcp.lldp import Frame, Kind
from etalon_otcp.network import PortId
from etalon_otcp.probing import (
    CONTROLLER_PORT,
    HostSays,
    HostSeen,
    LinkSeen,
    PacketOut,
    Prober,
)

KEY = bytes(range(32))
US = 1000
T1, A1 = PortId("t1", 1), PortId("a1", 7)
frames = st.builds(
    Frame,
    st.sampled_from(Kind),
    st.integers(0, 2**64 - 1),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**64 - 1),
    st.integers(0, 2**64 - 1),
)


def nowhere(_: PortId) -> bool:
    return False


@pytest.fixture
def prober() -> Prober:
    return Prober({"t1": 1, "a1": 2}, samples=100)


def sent(action: object) -> bytes:
    assert isinstance(action, PacketOut)
    return action.frame


@given(frames)
def test_lldp_comes_back_as_it_left(frame: Frame) -> None:
    encoded = lldp.encode(frame, KEY)
    assert len(encoded) >= 60 and encoded[12:14] == b"\x88\xcc"
    assert lldp.decode(encoded, KEY) == frame


@given(frames, st.data())
def test_a_changed_bit_is_never_believed(frame: Frame, data: st.DataObject) -> None:
    encoded = bytearray(lldp.encode(frame, KEY))
    at = data.draw(st.integers(0, len(encoded) * 8 - 1))
    encoded[at // 8] ^= 1 << at % 8
    try:
        believed = lldp.decode(bytes(encoded), KEY)
    except (lldp.Malformed, lldp.Foreign, lldp.Forged):
        return
    assert believed == frame  # the bit was outside of what is signed


@given(st.binary(max_size=200))
@example(b"")
def test_any_bytes_are_refused_in_order(junk: bytes) -> None:
    prober = Prober({"t1": 1}, samples=10)
    for data in (junk, bytes(12) + b"\x88\xcc" + junk, bytes(12) + b"\x08\x06" + junk):
        found = prober.packet_in(T1, data, 0, nowhere)
        assert found is None or isinstance(found, HostSays)
    accepted = {"lldp_accepted", "arp_accepted"}
    assert not accepted & prober.counters.keys()
    assert prober.counters.total() == 3


def test_a_link_is_seen_and_timed(prober: Prober) -> None:
    for name in ("t1", "a1"):
        data = sent(prober.loop(name, 0))
        assert prober.packet_in(PortId(name, CONTROLLER_PORT), data, 300 * US, nowhere) is None
    data = sent(prober.link(T1, 1000))
    assert prober.packet_in(A1, data, 1000 + 500 * US, nowhere) == LinkSeen(T1, A1)
    assert prober.link_delay_ns(T1, A1, Calibrate.LOOP, Statistic.MIN) == 200 * US
    assert prober.link_delay_ns(T1, A1, Calibrate.ECHO, Statistic.MIN) is None
    assert prober.counters == {"lldp_accepted": 3}


def test_one_frame_by_many_ports_is_a_sample_of_each_link(prober: Prober) -> None:
    """Each neighbour counts once, whatever the order, and what comes elsewhere or too late does not count."""
    sources = {PortId("a1", number): PortId("t1", number) for number in (1, 2, 3)}
    for name in ("t1", "a1"):
        prober.control[Calibrate.LOOP].add(name, 300 * US)
    action = prober.links("t1", (2, 3, 1), sources, 1000)
    assert isinstance(action, PacketOut) and action.ports == (2, 3, 1)
    for number, delay in ((3, 900), (1, 500)):
        arrived = 1000 + delay * US
        assert prober.packet_in(PortId("a1", number), action.frame, arrived, nowhere) is None
    assert prober.packet_in(PortId("a1", 3), action.frame, 1000 + US, nowhere) is None
    assert prober.packet_in(PortId("a1", 4), action.frame, 1000 + US, nowhere) is None
    assert prober.counters == {"lldp_accepted": 2, "lldp_replayed": 2}
    found = {
        target.number: prober.link_delay_ns(source, target, Calibrate.LOOP, Statistic.MIN)
        for target, source in sources.items()
    }
    assert found == {1: 200 * US, 2: None, 3: 600 * US}
    prober.expire(3 * 10**9)
    assert prober.packet_in(PortId("a1", 2), action.frame, 3 * 10**9, nowhere) is None
    assert prober.counters["lldp_lost"] == 1 and prober.counters["lldp_replayed"] == 3


def test_a_frame_that_all_neighbours_have_got_is_forgotten(prober: Prober) -> None:
    sources = {PortId("a1", number): PortId("t1", number) for number in (1, 2)}
    action = prober.links("t1", (1, 2), sources, 0)
    for target in sources:
        prober.packet_in(target, sent(action), US, nowhere)
    prober.expire(3 * 10**9)
    assert prober.counters == {"lldp_accepted": 2}


@pytest.mark.parametrize(
    ("statistic", "expected"),
    [(Statistic.MIN, 100), (Statistic.MEDIAN, 200), (Statistic.MEAN, 400)],
)
def test_statistics(prober: Prober, statistic: Statistic, expected: int) -> None:
    for name in ("t1", "a1"):
        prober.control[Calibrate.ECHO].add(name, 0)
    for time in (100, 200, 900):
        prober.crossings.add((T1, A1), time * US)
    assert prober.link_delay_ns(T1, A1, Calibrate.ECHO, statistic) == expected * US


def test_replayed_forged_foreign_malformed_and_hosts_lldp_is_counted_and_ignored(
    prober: Prober,
) -> None:
    genuine = sent(prober.link(T1, 0))
    assert prober.packet_in(A1, genuine, 1, nowhere)
    assert prober.packet_in(A1, genuine, 2, nowhere) is None
    assert (
        prober.packet_in(A1, lldp.encode(Frame(Kind.LINK, 1, 1, 5, 0), bytes(32)), 3, nowhere)
        is None
    )
    unasked = lldp.encode(Frame(Kind.LINK, 1, 1, 5, 0), prober.key)
    assert prober.packet_in(A1, unasked, 3, nowhere) is None
    assert prober.packet_in(A1, genuine[:40], 4, nowhere) is None
    foreign = genuine[:14] + bytes.fromhex(
        "0207 04aabbccddeeff 0403 05 6574 0602 0078 0000".replace(" ", "")
    )
    assert prober.packet_in(A1, foreign, 5, nowhere) is None
    relayed = sent(prober.link(T1, 6))
    assert prober.packet_in(A1, relayed, 7, lambda place: place == A1) is None
    loop = sent(prober.loop("t1", 8))
    assert prober.packet_in(A1, loop, 9, nowhere) is None
    assert prober.counters == {
        "lldp_accepted": 1,
        "lldp_replayed": 2,
        "lldp_forged": 1,
        "lldp_malformed": 1,
        "lldp_foreign": 1,
        "lldp_from_host": 1,
        "lldp_misplaced": 1,
    }


def test_what_comes_too_late_is_lost(prober: Prober) -> None:
    late = sent(prober.link(T1, 0))
    prober.expire(3 * 10**9)
    assert prober.packet_in(A1, late, 3 * 10**9, nowhere) is None
    assert prober.counters == {"lldp_lost": 1, "lldp_replayed": 1}


def answered(probe: bytes, mac: bytes = bytes.fromhex("020000000001")) -> bytes:
    return arp.encode(arp.answer(arp.decode(probe), mac))


def test_a_host_is_seen_and_timed_by_its_answer(prober: Prober) -> None:
    place = PortId("t1", 3)
    prober.control[Calibrate.LOOP].add("t1", 300 * US)
    probe = sent(prober.host("h1", IPv4Address("10.0.0.1"), "t1", (3, 4), 0))
    assert arp.decode(probe).sender == IPv4Address(0)  # RFC 5227: nobody learns from a probe
    seen = prober.packet_in(place, answered(probe), 500 * US, nowhere)
    assert seen == HostSeen("h1", place, "02:00:00:00:00:01")
    assert prober.host_delay_ns("h1", place, Calibrate.LOOP, Statistic.MIN) == 100 * US
    assert prober.packet_in(place, answered(probe), 600 * US, nowhere) is None  # once


def test_answers_that_nobody_asked_for_are_ignored(prober: Prober) -> None:
    probe = sent(prober.host("h1", IPv4Address("10.0.0.1"), "t1", (3,), 0))
    assert prober.packet_in(PortId("t1", 4), answered(probe), 1, nowhere) is None  # elsewhere
    other = sent(Prober({"t1": 1}, 1).host("h1", IPv4Address("10.0.0.1"), "t1", (3,), 0))
    assert prober.packet_in(PortId("t1", 3), answered(other), 1, nowhere) is None
    lying = bytearray(answered(probe))
    lying[31] = 9  # another sender address
    assert prober.packet_in(PortId("t1", 3), bytes(lying), 1, nowhere) is None
    assert prober.counters == {"arp_unasked": 3}


def test_a_probe_that_crossed_an_unknown_link_is_not_answered(prober: Prober) -> None:
    probe = sent(prober.host("h1", IPv4Address("10.0.0.1"), "t1", (1,), 0))
    assert prober.packet_in(A1, probe, 1, nowhere) is None
    assert prober.counters == {"arp_own": 1}


def test_a_request_is_handed_on(prober: Prober) -> None:
    request = arp.Packet(
        arp.BROADCAST,
        b"\2" * 6,
        arp.REQUEST,
        b"\2" * 6,
        IPv4Address("10.0.0.1"),
        bytes(6),
        IPv4Address("10.0.0.2"),
    )
    assert prober.packet_in(T1, arp.encode(request), 0, nowhere) == HostSays(T1, request)
    reply = arp.answer(request, b"\4" * 6)
    assert (reply.destination, reply.sender, reply.target) == (
        b"\2" * 6,
        request.target,
        request.sender,
    )
