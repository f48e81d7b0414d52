# SPDX-License-Identifier: MIT OR Apache-2.0
"""Frames and OpenFlow messages as an attacker may send them, to a whole controller: it believes only what is genuine.

A second each here; `python otcp/fuzz.py --minutes 10` for long, with another seed each time.
"""

from __future__ import annotations

import logging
import os
import random
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import IPv4Address
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fabric import HOSTS, running, until
from switches_beside import packet_in

from conftest import need_module
from etalon_otcp import arp, lldp
from etalon_otcp.controller import Controller
from etalon_otcp.lldp import Frame, Kind
from etalon_otcp.network import PortId
from etalon_otcp.probing import CONTROLLER_PORT, PATIENCE_NS, PacketOut
from etalon_otcp.routes import Routes

SECONDS = float(os.environ.get("ETALON_FUZZ_S", "1"))
SEED = int(os.environ.get("ETALON_FUZZ_SEED", "79"))
BATCH = 500
"""Inputs between two looks at what the controller believes."""
SPICE = [b"\0", b"\xff", b"\x7f\xff", b"\xfe\x31", b"\x02\x4f\x54", b"\x88\xcc", b"\x08\x06"]
EDGE, UPLINK, ABOVE = PortId("t1", 3), PortId("t1", 1), PortId("a1", 1)
PLACES = [EDGE, UPLINK, ABOVE, PortId("t2", 1), PortId("t1", CONTROLLER_PORT), PortId("t1", 99)]
Seed = tuple[bytes, PortId]
"""A genuine frame, and where it comes in."""


def mutated(random_: random.Random, seed: bytes) -> bytes:
    """Bits turned, parts cut, doubled or replaced; now and then nothing."""
    data = bytearray(seed)
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


def settled(folder: Path) -> Controller:
    """A controller that knows a network of four switches and two hosts; nothing runs in it any more."""
    with running(folder) as (controller, fabric):
        fabric.connect("t1", "t2", "a1", "a2")
        until(lambda: len(controller.view.documents) == 2)
    controller.send = lambda action: None  # type: ignore[method-assign]
    return controller


def fresh(controller: Controller) -> list[Seed]:
    """A genuine frame of each kind that is under way."""
    prober, now = controller.prober, time.monotonic_ns()
    host, mac = (IPv4Address(HOSTS["t1", 3][0]), bytes.fromhex("020000000001"))
    link, loop = prober.link(UPLINK, now), prober.loop("t1", now)
    probe = prober.host("h1", host, "t1", (3,), now)
    assert isinstance(link, PacketOut) and isinstance(loop, PacketOut)
    assert isinstance(probe, PacketOut)
    reply = arp.encode(arp.answer(arp.decode(probe.frame), mac))
    asks = arp.Packet(arp.BROADCAST, mac, arp.REQUEST, mac, host, bytes(6), IPv4Address("10.0.0.2"))
    return [
        (link.frame, ABOVE),
        (loop.frame, PortId("t1", CONTROLLER_PORT)),
        (probe.frame, ABOVE),
        (reply, EDGE),
        (arp.encode(asks), EDGE),
    ]


def believed(controller: Controller) -> tuple[object, ...]:
    """Links, and where hosts are; and what is computed from them can be."""
    network = controller.topology.network()
    routes = Routes(network)
    for source in network.hosts:
        for target in network.hosts:
            routes.path(source, target)
    links = {(link.source, link.target) for link in network.links.values()}
    return links, {host.name: host.port for host in network.hosts.values()}


def batches() -> Iterator[random.Random]:
    """For so many seconds of a processor: a busy machine makes it last longer, not test less."""
    end, random_ = time.process_time() + SECONDS, random.Random(SEED)
    while time.process_time() < end:
        yield random_


@contextmanager
def blamed(data: bytes) -> Iterator[None]:
    """An exception names the input that it came from."""
    try:
        yield
    except Exception as error:
        error.add_note(f"input: {data.hex()}")
        raise


@pytest.mark.parametrize(
    ("what", "wanted"), [("LLDP", lldp.is_lldp), ("ARP", arp.is_arp)], ids=["LLDP", "ARP"]
)
def test_frames(tmp_path: Path, what: str, wanted: Callable[[bytes], bool]) -> None:
    """What is under way is handed in, damaged, where it belongs; what has come back already, anywhere."""
    controller = settled(tmp_path)
    before, count = believed(controller), 0
    start = controller.prober.counters.total()
    spent = [seed for seed in fresh(controller) if wanted(seed[0])]
    for frame, place in spent:
        controller.packet_in(place, frame, time.monotonic_ns())
    for random_ in batches():
        seeds = [seed for seed in fresh(controller) if wanted(seed[0])]
        for _ in range(BATCH):
            frame, place = random_.choice(seeds)
            if random_.random() < 0.5:
                frame, place = random_.choice(spent)[0], random_.choice(PLACES)
            data = mutated(random_, frame)
            with blamed(data):
                controller.packet_in(place, data, time.monotonic_ns())
            count += 1
        assert believed(controller) == before
        controller.prober.expire(time.monotonic_ns() + 2 * PATIENCE_NS)
    counters = controller.prober.counters
    lost = sum(n for name, n in counters.items() if name.endswith("_lost"))
    assert counters.total() - lost - start >= count
    told = {name: n for name, n in sorted(counters.items()) if what.lower() in name}
    print(f"{what}: {count} frames; {told}")


def test_what_is_signed_is_believed_only_as_it_was() -> None:
    key, genuine = bytes(32), Frame(Kind.LINK, 1, 2, 3, 4)
    frame = lldp.encode(genuine, key)
    for random_ in batches():
        for _ in range(BATCH):
            data = mutated(random_, frame)
            with blamed(data):
                try:
                    assert lldp.decode(data, key) == genuine
                except (lldp.Malformed, lldp.Foreign, lldp.Forged):
                    continue


def test_packet_in_messages(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Whole OpenFlow messages through os-ken's parser, as a connection reads them, and on to the controller."""
    caplog.set_level(logging.CRITICAL, logger="os_ken")  # it logs each that it refuses
    need_module("os_ken", "otcp")
    from os_ken.ofproto import ofproto_parser, ofproto_protocol, ofproto_v1_3

    from etalon_otcp import messages
    from etalon_otcp.switches import Switches, frame_of

    datapath = ofproto_protocol.ProtocolDesc(ofproto_v1_3.OFP_VERSION)
    datapath.id = 1
    Switches.controller = controller = settled(tmp_path)
    switches = Switches()
    switches.features(_features(datapath))
    refused = taken = 0
    for random_ in batches():
        seeds = [packet_in(place.number, frame) for frame, place in fresh(controller)]
        for _ in range(BATCH):
            data = bytearray(mutated(random_, random_.choice(seeds))[:65535].ljust(8, b"\0"))
            data[:4] = struct.pack("!BBH", 4, 10, len(data))  # else it is another handler's
            try:
                message = ofproto_parser.msg(datapath, 4, 10, len(data), 1, bytes(data))
            except Exception:
                message = None  # ends the connection, which the switch opens again
            if message is None:
                refused += 1
                continue
            with blamed(bytes(data)):
                short = messages.packet_in(bytes(data))
                assert short is None or short == frame_of(message)
                switches.packet_in(SimpleNamespace(msg=message, at_ns=time.monotonic_ns()))
            taken += 1
        believed(controller)  # a switch may lie; what follows from it can be computed
        controller.prober.expire(time.monotonic_ns() + 2 * PATIENCE_NS)
    del Switches.controller
    assert taken > 0 and controller.prober.counters["lldp_accepted"] > 0
    print(f"packet-in: {taken} messages taken, {refused} refused by os-ken")


def _features(datapath: Any) -> Any:
    """The event by which a connection becomes t1's."""
    from os_ken.ofproto import ofproto_v1_3, ofproto_v1_3_parser

    datapath.ofproto, datapath.ofproto_parser = ofproto_v1_3, ofproto_v1_3_parser
    datapath.send_msg, datapath.taker = lambda message: None, None
    datapath.probe = lambda message: True
    datapath.inbox = SimpleNamespace(told=lambda ports, free: None)
    return SimpleNamespace(msg=SimpleNamespace(datapath=datapath, datapath_id=1))
