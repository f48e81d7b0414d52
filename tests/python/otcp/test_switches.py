# SPDX-License-Identifier: MIT OR Apache-2.0
"""What switches say, by os-ken's messages without sockets."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fabric import until
from hypothesis import given
from hypothesis import strategies as st
from networks import tables

from conftest import need_module

need_module("os_ken", "otcp")

from os_ken.ofproto import ofproto_v1_3 as proto
from os_ken.ofproto import ofproto_v1_3_parser as parser

from etalon_otcp import forwarding, messages, rivals
from etalon_otcp import switches as switches_module
from etalon_otcp.config import Config
from etalon_otcp.controller import Controller
from etalon_otcp.entries import COOKIE, FORWARD_PRIORITY, OTHERS_PRIORITY, Entries
from etalon_otcp.forwarding import OTHERS
from etalon_otcp.network import PortId
from etalon_otcp.probing import MOST_PORT
from etalon_otcp.rate import Rate
from etalon_otcp.seldom import Seldom
from etalon_otcp.switches import Switches
from etalon_otcp.topology import MOST_PORTS, PortDescription

FILE = f"""
[tcp]
alpha = "flows"
{tables("t1")}"""


class Connection:
    """A datapath that swallows what it is sent."""

    id = 1
    peer = "192.0.2.1:50000"
    ofproto, ofproto_parser = proto, parser
    taker: Any = None
    inbox = SimpleNamespace(told=lambda ports, free: None)
    is_alive = False
    """Whether it answers when another connection names the same switch."""

    def answers(self, within_s: float) -> bool:
        return self.is_alive

    def close(self) -> None:
        pass

    def send_msg(self, message: Any) -> None:
        pass

    def probe(self, data: bytes) -> bool:
        return True

    def say(self, body: list[Any], more: bool = False, **fields: Any) -> Any:
        """An event with a message."""
        flags = proto.OFPMPF_REPLY_MORE if more else 0
        said = {"datapath": self, "body": body, "flags": flags, "buf": b""} | fields
        return SimpleNamespace(msg=SimpleNamespace(**said))


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


def test_a_counter_that_wraps_or_begins_anew_counts(switches: Switches) -> None:
    controller, port = switches.controller, PortId("t1", 1)

    def count(packets: int) -> dict[PortId, int]:
        controller.flows("t1", {port: {"flow": packets}})
        return controller.flow_counts()

    assert [count(n)[port] for n in (2**32 - 1, 2**32 - 1, 7, 7, 0, 0, 3)] == [1, 0, 1, 0, 0, 0, 1]
    assert [count(n)[port] for n in (2**64 - 1, 5, 2**64 - 1)] == [1, 1, 1]


def named(number: int, name: bytes) -> Any:
    return parser.OFPPort(number, "02:00:00:00:01:01", name, 0, 0, 0, 0, 0, 0, 10**6, 0)


def test_a_ports_name_cannot_write_lines_of_the_log(
    switches: Switches, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    connection = Connection()
    switches.features(connection.say([], datapath_id=1))
    switches.ports(connection.say([named(1, b"p1")]))
    status = {"desc": named(2, b"x\n2026 WARNING\x1b[2J"), "reason": proto.OFPPR_ADD}
    switches.port_status(connection.say([], **status))
    assert "port 2 (x?2026 WARNING?[2J) of t1: up, 1000 Mb/s" in caplog.text
    assert "x\n2026" not in caplog.text


def test_a_switch_with_ports_without_end_is_left_alone(switches: Switches) -> None:
    topology, connection = switches.controller.topology, Connection()
    closed: list[bool] = []
    connection.close = lambda: closed.append(True)  # type: ignore[attr-defined]
    switches.features(connection.say([], datapath_id=1))
    switches.ports(connection.say([named(1, b"p1")]))
    for number in range(2, 6000):
        described = PortDescription(number, f"p{number}", True, 10**9)
        topology.port("t1", described, False, 0.0)
    assert len(topology.ports_up("t1")) == MOST_PORTS
    switches.features(connection.say([], datapath_id=1))
    part = [named(number, b"p") for number in range(1, 1001)]
    for _ in range(5):
        switches.ports(connection.say(part, more=True))
    assert closed == [True, True], "the older connection, and this one"


def test_a_switch_that_answers_keeps_its_place(
    switches: Switches, caplog: pytest.LogCaptureFixture
) -> None:
    """Another connection that names it is refused, and is a problem for a while."""
    first, second = Connection(), Connection()
    first.is_alive = True
    second.peer = "192.0.2.9:4"
    switches.features(first.say([], datapath_id=1))
    switches.features(second.say([], datapath_id=1))
    assert switches._switches["t1"].datapath is first and second.taker is None
    assert "t1 is connected from 192.0.2.1:50000, and another connection from 192.0.2.9:4" in str(
        switches.controller.disputes
    )
    (problem,) = switches.controller.disputes
    assert problem in caplog.text
    found = switches.controller._rivals._found
    found["t1"] = problem, time.monotonic() - rivals.RIVAL_S - 1
    assert not switches.controller.disputes
    first.is_alive = False
    switches.features(second.say([], datapath_id=1))
    assert switches._switches["t1"].datapath is second and first.taker is None
    assert "switch t1 has connected from 192.0.2.9:4: its connection from 192.0.2.1:50000" in caplog.text  # fmt: skip


@pytest.mark.parametrize("more", [True, False])
@pytest.mark.parametrize("what", ["flow_stats", "groups"])
def test_a_reply_without_end_ends_the_connection(
    switches: Switches, monkeypatch: pytest.MonkeyPatch, what: str, more: bool
) -> None:
    """Before its ports are known a switch might go on with replies that do end, to a question that it was asked once."""
    monkeypatch.setattr(switches_module, "MOST_REPLIED", 1000)
    connection, closed = Connection(), []
    connection.close = lambda: closed.append(True)  # type: ignore[method-assign]
    switches.features(connection.say([], datapath_id=1))
    reply = getattr(switches, what)
    for _ in range(10):
        reply(connection.say([], more=more, buf=bytes(100)))
    assert not closed
    reply(connection.say([], more=more, buf=bytes(100)))
    assert closed == [True]


def test_replies_that_end_go_on_for_ever(
    switches: Switches, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(switches_module, "MOST_REPLIED", 1000)
    connection, closed = Connection(), []
    connection.close = lambda: closed.append(True)  # type: ignore[method-assign]
    switches.features(connection.say([], datapath_id=1))
    switches.ports(connection.say([named(1, b"p1")]))
    for _ in range(100):
        switches.flow_stats(connection.say([], more=True, buf=bytes(400)))
        switches.flow_stats(connection.say([], buf=bytes(400)))
    assert not closed


def test_a_packet_out_by_hand_is_os_kens() -> None:
    ports, frame = (3, proto.OFPP_CONTROLLER), bytes(range(60))
    actions = [parser.OFPActionOutput(port, 0xFFFF) for port in ports]
    theirs = parser.OFPPacketOut(
        Connection(), proto.OFP_NO_BUFFER, proto.OFPP_CONTROLLER, actions, frame
    )
    theirs.set_xid(0)
    theirs.serialize()
    assert messages.packet_out(ports, frame) == bytes(theirs.buf)


def test_a_frame_of_ours_leaves_by_all_ports_of_the_largest_switch() -> None:
    """OpenFlow's longest message has 65,535 bytes, as its header counts them in 16 bits."""
    ports = tuple(range(MOST_PORT - MOST_PORTS, MOST_PORT))
    assert len(messages.packet_out(ports, bytes(1500))) <= 0xFFFF
    actions = [parser.OFPActionOutput(port, 0xFFFF) for port in ports]
    entry = parser.OFPInstructionActions(proto.OFPIT_APPLY_ACTIONS, actions)
    flow = parser.OFPFlowMod(Connection(), match=parser.OFPMatch(), instructions=[entry])
    flow.serialize()
    assert len(flow.buf) <= 0xFFFF


def test_what_is_kept_for_packet_outs_grows_with_ports_not_with_sets_of_them() -> None:
    def kept() -> int:
        caches = [one for one in vars(messages).values() if hasattr(one, "cache_info")]
        return sum(cache.cache_info().currsize for cache in caches)

    before = kept()
    for first in range(20):
        for second in range(20):
            messages.packet_out((70_000 + first, 70_000 + second), b"frame")
    assert kept() - before <= 20


@pytest.fixture
def strangers(monkeypatch: pytest.MonkeyPatch) -> Seldom:
    """Two warnings of each name, and no more while a test lasts."""
    made = Seldom(Rate(2, 1e6))
    monkeypatch.setattr(switches_module, "STRANGERS", made)
    return made


def test_refusals_fill_no_log_and_strangers_hide_none(
    switches: Switches, strangers: Seldom, caplog: pytest.LogCaptureFixture
) -> None:
    switch, stranger = Connection(), Connection()
    switches.features(switch.say([], datapath_id=1))
    for _ in range(50):
        switches.error(stranger.say([], type=1, code=2))
    for _ in range(50):
        switches.error(switch.say([], type=3, code=4))
    assert caplog.text.count("a switch refuses: error type 1 code 2") == 2
    assert caplog.text.count("t1 refuses: error type 3 code 4") == 2


def test_faults_fill_no_log(
    switches: Switches,
    strangers: Seldom,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_: Any) -> None:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr(switches, "get_handlers", lambda *_: [fail])
    for _ in range(50):
        switches._send_event(SimpleNamespace(), None)
    assert caplog.text.count("could not be handled") == 2
    assert caplog.text.count("RuntimeError: a mistake of ours") == 2


def test_a_message_that_cannot_be_written_holds_up_no_other(
    switches: Switches, caplog: pytest.LogCaptureFixture
) -> None:
    """A group has 32 bytes for each port, so that one of 3,000 is longer than a message can be."""
    connection, sent = Connection(), []
    switches.features(connection.say([], datapath_id=1))

    def send(message: Any) -> None:
        message.serialize()
        sent.append(message)

    connection.send_msg = send  # type: ignore[method-assign]
    many = tuple(range(1, 3001))
    switches.write("t1", {MACS[0]: many}, ())
    switches.write("t1", {MACS[1]: (5,)}, ())
    until(lambda: any(getattr(m, "match", {}).get("eth_dst") == MACS[1] for m in sent))
    assert caplog.text.count("a message to t1 is lost") == 1


def test_bad_hellos_fill_no_log(caplog: pytest.LogCaptureFixture) -> None:
    from os_ken.controller.ofp_handler import OFPHandler  # after `switches` has chosen its threads

    handler, datapath = OFPHandler(), Connection()
    datapath.address = "192.0.2.1"  # type: ignore[attr-defined]
    datapath.send_msg = lambda *_, **__: None  # type: ignore[method-assign]
    for _ in range(50):
        handler._hello_failed(datapath, "no common version")
    assert caplog.text.count("no common version") <= 10


class Switch:
    """Keeps entries and groups as OpenFlow 1.3 has it: a group that is used must be there, and is gone with its entries."""

    def __init__(self) -> None:
        self.entries: dict[tuple[int, str], Any] = {}
        self.groups: dict[int, tuple[int, ...]] = {}

    def take(self, messages: Iterable[Any]) -> None:
        for message in messages:
            message.serialize()
            if isinstance(message, parser.OFPGroupMod):
                self._group(message)
                continue
            key = message.priority, message.match.get("eth_dst", OTHERS)
            if message.command == proto.OFPFC_DELETE_STRICT:
                del self.entries[key]
                continue
            for action in message.instructions[0].actions:
                assert getattr(action, "group_id", None) in (None, *self.groups)
            self.entries[key] = message

    def _group(self, message: Any) -> None:
        if message.command == proto.OFPGC_DELETE:
            del self.groups[message.group_id]
            for entry in self.entries.values():
                assert message.group_id not in [
                    getattr(action, "group_id", None) for action in entry.instructions[0].actions
                ]
            return
        assert message.group_id not in self.groups and message.type == proto.OFPGT_SELECT
        self.groups[message.group_id] = tuple(
            action.port for bucket in message.buckets for action in bucket.actions
        )

    def table(self) -> dict[str, tuple[int, ...]]:
        """As another controller would learn it."""
        learnt = Entries(Connection())
        for number, ports in self.groups.items():
            learnt.group_found(number, ports)
        for entry in self.entries.values():
            learnt.entry_found(entry)
        return learnt.table


MACS = [f"02:00:00:00:00:{n:02x}" for n in range(3)]
TABLES = st.dictionaries(
    st.sampled_from([OTHERS, *MACS]),
    st.sets(st.integers(1, 4), min_size=1).map(lambda ports: tuple(sorted(ports))),
)


@given(st.lists(TABLES, max_size=5))
def test_a_switch_has_what_was_written_and_no_group_without_use(tables: list[Any]) -> None:
    switch, entries, before = Switch(), Entries(Connection()), {}
    for wanted in tables:
        switch.take(entries.write(*forwarding.changes(before, wanted)))
        assert switch.table() == wanted
        used = {ports for mac, ports in wanted.items() if mac != OTHERS and len(ports) > 1}
        assert set(switch.groups.values()) == used
        before = wanted


def test_a_bridge_passes_on_all_but_what_is_for_bridges() -> None:
    entries = Entries(Connection())
    others = list(entries.write({OTHERS: (1, 2)}, ()))
    assert [action.port for action in others[0].instructions[0].actions] == [1, 2]
    assert others[0].priority == OTHERS_PRIORITY and not list(others[0].match.items())
    dropped = [e for e in entries.punting(True) if "eth_dst" in e.match and not e.instructions]
    assert dropped[0].match["eth_dst"] == ("01:80:c2:00:00:00", "ff:ff:ff:ff:ff:f0")
    assert dropped[0].priority > OTHERS_PRIORITY
