# SPDX-License-Identifier: MIT OR Apache-2.0
"""How long a measurement takes: all messages as OpenFlow has them, but no sockets."""

from __future__ import annotations

import struct
import time
from pathlib import Path

import pytest
from networks import fat_tree

from conftest import need_module

need_module("os_ken", "otcp")

from os_ken.ofproto import ofproto_parser
from os_ken.ofproto import ofproto_v1_3 as proto
from os_ken.ofproto.ofproto_protocol import ProtocolDesc

from etalon_otcp import arp, messages
from etalon_otcp.config import Config
from etalon_otcp.controller import Controller
from etalon_otcp.measuring import Measuring
from etalon_otcp.network import Network, PortId
from etalon_otcp.probing import CONTROLLER_PORT, Action, PacketOut
from etalon_otcp.switches import frame_of
from etalon_otcp.topology import PortDescription

DATAPATH = ProtocolDesc(version=proto.OFP_VERSION)


def packet_in(number: int, frame: bytes) -> bytearray:
    """The message of a switch."""
    match = struct.pack("!HHHBBI4x", proto.OFPMT_OXM, 12, 0x8000, 0, 4, number)
    body = struct.pack("!IHBBQ", proto.OFP_NO_BUFFER, len(frame), 1, 0, 0) + match + b"\0\0" + frame
    return bytearray(struct.pack("!BBHI", 4, proto.OFPT_PACKET_IN, 8 + len(body), 0) + body)


class Wires:
    """Answers at once, by the messages that switches would send."""

    def __init__(self, controller: Controller, network: Network) -> None:
        self.controller = controller
        self.network = network
        self.at = {host.port: host for host in network.hosts.values()}
        self.sent = 0
        controller.southbound = self

    def send(self, action: Action) -> None:
        self.sent += 1
        if not isinstance(action, PacketOut):
            return
        messages.packet_out(action.ports, action.frame)
        for number in action.ports:
            place, frame = PortId(action.switch, number), action.frame
            if number != CONTROLLER_PORT and place in self.network.links:
                place = self.network.links[place].target
            elif place in self.at:
                mac = bytes.fromhex(self.at[place].mac.replace(":", ""))
                frame = arp.encode(arp.answer(arp.decode(frame), mac))
            self._hand_in(place, frame)

    def _hand_in(self, place: PortId, frame: bytes) -> None:
        data = packet_in(place.number, frame)
        header = ofproto_parser.header(data)
        found = frame_of(ofproto_parser.msg(DATAPATH, *header, data))
        assert found
        self.controller.packet_in(PortId(place.switch, found[0]), found[1], time.monotonic_ns())

    def write(self, *_: object) -> None:
        raise AssertionError("nobody computes")

    count_flows = write


def file_of(network: Network) -> str:
    switches = sorted({place.switch for place in network.ports})
    text = '[measure]\nlongest = "20s"\n'
    text += "".join(
        f'[[switch]]\nname = "{s}"\ndpid = "{n:x}"\n' for n, s in enumerate(switches, 1)
    )
    for name, host in network.hosts.items():
        text += f'[[host]]\nname = "{name}"\naddresses = ["{host.addresses[0]}"]\n'
    return text


@pytest.mark.slow
def test_a_fat_tree_of_a_thousand_hosts_is_measured_without_pauses(tmp_path: Path) -> None:
    """A tenth of the samples, and ten times what they take."""
    network = fat_tree(k=16, hosts=8)
    file = tmp_path / "controller.toml"
    file.write_text(file_of(network))
    controller = Controller(Config.load(file))
    wires = Wires(controller, network)
    for switch in controller.config.switch:
        places = [place for place in network.ports if place.switch == switch.name]
        ports = [PortDescription(p.number, str(p), True, 10**9) for p in places]
        controller.topology.switch_up(switch.name, ports, 0.0)
    for link in network.links.values():
        controller.topology.link_seen(link.source, link.target)
    for host in network.hosts.values():
        controller.topology.host_seen(host.name, host.port, host.mac, time.monotonic())
    began, busy = time.monotonic(), time.process_time()
    Measuring(controller)._measure_new()
    took, spent = time.monotonic() - began, time.process_time() - busy
    assert not any(controller.topology.unmeasured())
    assert wires.sent == 10 * (2 * 320 + 4096 + 1024)
    print(f"100 samples: {took * 10:.1f} s, {spent * 10:.1f} s of a processor")
    assert spent * 10 <= 200  # seconds; 634 of them were pauses
