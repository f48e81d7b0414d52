# SPDX-License-Identifier: MIT OR Apache-2.0
"""What switches say, by os-ken's messages without sockets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from os_ken.ofproto import ofproto_v1_3 as proto
from os_ken.ofproto import ofproto_v1_3_parser as parser

from etalon_otcp.config import Config
from etalon_otcp.controller import Controller
from etalon_otcp.network import PortId
from etalon_otcp.switches import COOKIE, FORWARD_PRIORITY, Switches

FILE = """
[tcp]
alpha = "flows"
[[switch]]
name = "t1"
dpid = "1"
"""


class Connection:
    """A datapath that swallows what it is sent."""

    id = 1
    ofproto, ofproto_parser = proto, parser

    def send_msg(self, message: Any) -> None:
        pass

    def say(self, body: list[Any], more: bool = False, **fields: Any) -> Any:
        """An event with a message."""
        flags = proto.OFPMPF_REPLY_MORE if more else 0
        return SimpleNamespace(msg=SimpleNamespace(datapath=self, body=body, flags=flags, **fields))


@pytest.fixture
def switches(tmp_path: Path) -> Iterator[Switches]:
    file = tmp_path / "controller.toml"
    file.write_text(FILE)
    Switches.controller = Controller(Config.load(file))
    yield Switches()
    del Switches.controller


def entry(packets: int, port: int, cookie: int = 0, **match: Any) -> Any:
    output = [parser.OFPActionOutput(port)]
    return parser.OFPFlowStats(
        cookie=cookie,
        priority=FORWARD_PRIORITY,
        packet_count=packets,
        match=parser.OFPMatch(**match),
        instructions=[parser.OFPInstructionActions(proto.OFPIT_APPLY_ACTIONS, output)],
    )


def tcp(packets: int, port: int, flow: int) -> Any:
    return entry(packets, port, eth_type=0x0800, ip_proto=6, tcp_dst=flow)


def test_tcp_entries_are_counted_over_all_parts_of_a_reply(
    switches: Switches, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller, connection = switches.controller, Connection()
    calls: list[str] = []
    counted = controller.flows
    monkeypatch.setattr(
        controller,
        "flows",
        lambda switch, packets: (calls.append(switch), counted(switch, packets)),
    )
    switches.features(connection.say([], datapath_id=1))
    switches.flow_stats(connection.say([entry(0, 1, COOKIE, eth_dst="02:00:00:00:00:01")]))
    port = parser.OFPPort(1, "02:00:00:00:01:01", b"p1", 0, 0, 0, 0, 0, 0, 10**6, 0)
    switches.ports(connection.say([port]))
    assert not calls, "the first reply is about our own entries"

    one, two = PortId("t1", 1), PortId("t1", 2)
    switches.flow_stats(connection.say([tcp(10, 1, 80), tcp(5, 2, 81)], more=True))
    assert not calls, "more is to come"
    switches.flow_stats(connection.say([tcp(7, 1, 82)]))
    assert controller.flow_counts() == {one: 2, two: 1}
    switches.flow_stats(connection.say([tcp(11, 1, 80)], more=True))
    switches.flow_stats(connection.say([tcp(7, 1, 82)]))
    assert controller.flow_counts() == {one: 1}
    switches.flow_stats(connection.say([]))
    assert controller.flow_counts() == {}
    switches.flow_stats(connection.say([tcp(3, 2, 81)]))
    assert controller.flow_counts() == {two: 1}, "a new entry, with fewer packets than the old"
    assert calls == ["t1"] * 4
