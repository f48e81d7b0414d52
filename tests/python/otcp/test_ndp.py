# SPDX-License-Identifier: MIT OR Apache-2.0
"""Neighbour discovery's frames, held to os-ken's own packets."""

from __future__ import annotations

from ipaddress import IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import need_module

need_module("os_ken", "otcp")

from os_ken.lib.packet import icmpv6, ipv6
from os_ken.lib.packet.packet import Packet

from etalon_otcp import ndp

ADDRESS = IPv6Address("2001:db8::12:3456")
HOST = bytes.fromhex("020000000009")


def test_a_probe_asks_as_the_rfc_says() -> None:
    mac = ndp.prober(0xABCDE, 5)
    frame = ndp.probe(ADDRESS, mac)
    packet = Packet(frame)
    header, found = packet.get_protocol(ipv6.ipv6), packet.get_protocol(icmpv6.icmpv6)
    assert mac == bytes.fromhex("024f54abcde5") and frame[:6] == bytes.fromhex("3333ff123456")
    assert header.dst == "ff02::1:ff12:3456" and header.hop_limit == 255
    assert header.src == "fe80::4f:54ff:feab:cde5"
    assert found.type_ == icmpv6.ND_NEIGHBOR_SOLICIT and found.data.dst == str(ADDRESS)
    assert found.data.option.hw_src == "02:4f:54:ab:cd:e5"
    sent = found.csum
    packet.serialize()  # computes the checksum anew
    assert packet.get_protocol(icmpv6.icmpv6).csum == sent


def test_an_answer_is_understood() -> None:
    mac = ndp.prober(1, 2)
    answer = ndp.answer(ndp.probe(ADDRESS, mac), HOST)
    assert Packet(answer).get_protocol(icmpv6.icmpv6).type_ == icmpv6.ND_NEIGHBOR_ADVERT
    assert ndp.decode(answer) == ndp.Advertisement(mac, HOST, ADDRESS)


@given(st.integers(0, 85), st.integers(1, 255))
def test_a_damaged_answer_is_refused_or_says_the_same(place: int, flip: int) -> None:
    """Addresses of the frame and a few bits of IPv6 are under no checksum."""
    answer = bytearray(ndp.answer(ndp.probe(ADDRESS, ndp.prober(1, 2)), HOST))
    answer[place] ^= flip
    try:
        found = ndp.decode(bytes(answer))
    except ndp.Malformed:
        return
    assert found.target == ADDRESS


@pytest.mark.parametrize("length", range(0, 85, 7))
def test_a_cut_answer_is_refused(length: int) -> None:
    answer = ndp.answer(ndp.probe(ADDRESS, ndp.prober(1, 2)), HOST)
    with pytest.raises(ndp.Malformed):
        ndp.decode(answer[:length])
