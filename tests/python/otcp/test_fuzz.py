"""Frames and OpenFlow messages as an attacker may send them: no exception leaves the parsers. ETALON_FUZZ_S=600 for long."""

from __future__ import annotations

import os
import random
import struct
import time
from collections.abc import Iterator
from ipaddress import IPv4Address
from typing import Any

import pytest

from etalon.otcp import arp, lldp
from etalon.otcp.lldp import Frame, Kind
from etalon.otcp.network import PortId
from etalon.otcp.probing import PacketOut, Prober

SECONDS = float(os.environ.get("ETALON_FUZZ_S", "1"))
SPICE = [b"\0", b"\xff", b"\x7f\xff", b"\xfe\x31", b"\x02\x4f\x54", b"\x88\xcc", b"\x08\x06"]


def mutated(random_: random.Random, seeds: list[bytes]) -> bytes:
    """A seed with bits turned, parts cut, doubled or replaced."""
    data = bytearray(random_.choice(seeds))
    for _ in range(random_.randint(0, 6)):
        at = random_.randrange(len(data) + 1)
        match random_.randrange(5):
            case 0 if data:
                data[at % len(data)] ^= 1 << random_.randrange(8)
            case 1:
                del data[at:]
            case 2:
                data[at:at] = random_.choice(SPICE)
            case 3:
                data[at : at + random_.randrange(9)] = random_.randbytes(random_.randrange(9))
            case 4:
                data += data[at : at + 64]
    return bytes(data)


def frames(prober: Prober) -> list[bytes]:
    """Genuine frames of each kind."""
    probe = prober.host("h1", IPv4Address("10.0.0.1"), "t1", (1,), 0)
    link, loop = prober.link(PortId("t1", 1), 0), prober.loop("t1", 0)
    assert (
        isinstance(probe, PacketOut) and isinstance(link, PacketOut) and isinstance(loop, PacketOut)
    )
    request = arp.Packet(
        arp.BROADCAST,
        b"\2" * 6,
        arp.REQUEST,
        b"\2" * 6,
        IPv4Address("10.0.0.1"),
        bytes(6),
        IPv4Address("10.0.0.2"),
    )
    reply = arp.encode(arp.answer(arp.decode(probe.frame), b"\2" * 6))
    return [link.frame, loop.frame, probe.frame, reply, arp.encode(request)]


def rounds() -> Iterator[random.Random]:
    end, random_ = time.monotonic() + SECONDS, random.Random(79)
    while time.monotonic() < end:
        yield random_


@pytest.mark.parametrize("which", ["LLDP", "ARP"])
def test_frames(which: str) -> None:
    prober = Prober({"t1": 1}, samples=10)
    wanted = lldp.is_lldp if which == "LLDP" else arp.is_arp
    seeds = [frame for frame in frames(prober) if wanted(frame)]
    count = 0
    for random_ in rounds():
        for _ in range(500):
            prober.packet_in(PortId("t1", 1), mutated(random_, seeds), 1, lambda place: False)
            count += 1
    assert count == prober.counters.total()
    print(f"{which}: {count} frames, {dict(prober.counters)}")


def test_what_is_signed_is_believed_only_as_it_was() -> None:
    key, genuine = bytes(32), Frame(Kind.LINK, 1, 2, 3, 4)
    seeds = [lldp.encode(genuine, key)]
    for random_ in rounds():
        try:
            assert lldp.decode(mutated(random_, seeds), key) == genuine
        except (lldp.Malformed, lldp.Foreign, lldp.Forged):
            continue


def test_packet_in_messages() -> None:
    """Whole OpenFlow messages through os-ken's parser, as a connection reads them, and on to the controller's handler."""
    pytest.importorskip("os_ken", reason="the extra otcp is not installed")
    from os_ken.ofproto import ofproto_parser, ofproto_protocol, ofproto_v1_3

    from etalon.otcp.switches import frame_of

    datapath = ofproto_protocol.ProtocolDesc(ofproto_v1_3.OFP_VERSION)
    prober = Prober({"t1": 1}, samples=10)
    seeds = [_packet_in(frame) for frame in frames(prober)]
    refused = taken = 0
    for random_ in rounds():
        data = bytearray(mutated(random_, seeds)[:65535].ljust(8, b"\0"))
        data[:4] = struct.pack(
            "!BBH", 4, 10, len(data)
        )  # what is no packet-in is another handler's
        message: Any = None
        try:
            message = ofproto_parser.msg(datapath, 4, 10, len(data), 1, bytes(data))
        except Exception:
            refused += 1  # ends the connection, which the switch opens again
        found = frame_of(message) if message else None
        if found:
            taken += 1
            prober.packet_in(PortId("t1", found[0]), found[1], 1, lambda place: False)
    assert taken > 0
    print(f"packet-in: {taken} taken, {refused} refused by os-ken")


def _packet_in(frame: bytes) -> bytes:
    match = struct.pack("!HHIII", 1, 12, 0x80000004, 1, 0)[:16]
    body = struct.pack("!IHBBQ", 0xFFFFFFFF, len(frame), 0, 0, 0) + match + b"\0\0" + frame
    return struct.pack("!BBHI", 4, 10, 8 + len(body), 1) + body
