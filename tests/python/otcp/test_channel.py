# SPDX-License-Identifier: MIT OR Apache-2.0
"""Connections of switches: what passes by os-ken is what os-ken would read, and no switch holds up another."""

from __future__ import annotations

import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fabric import until
from hypothesis import given
from hypothesis import strategies as st

from conftest import need_module

need_module("os_ken", "otcp")
need_module("cryptography", "otcp")

from openflow import error, port_status
from os_ken.cfg import CONF
from os_ken.controller.handler import DEAD_DISPATCHER
from os_ken.ofproto import ofproto_parser
from os_ken.ofproto import ofproto_v1_3 as proto
from os_ken.ofproto import ofproto_v1_3_parser as parser
from os_ken.ofproto.ofproto_protocol import ProtocolDesc
from switches_beside import packet_in

from etalon_otcp import channel as channel_module
from etalon_otcp import messages
from etalon_otcp.channel import (
    MOST_REST_S,
    MOST_WAITING,
    UNWANTED_BURST_S,
    UNWANTED_SHARE,
    Channel,
    Reader,
    Wire,
)
from etalon_otcp.demo.credentials import certificates
from etalon_otcp.floods import Budget
from etalon_otcp.probing import ECHO_MARK
from etalon_otcp.rate import Rate
from etalon_otcp.seldom import Seldom
from etalon_otcp.switches import frame_of

DATAPATH = ProtocolDesc(version=proto.OFP_VERSION)
FRAMES = st.binary(max_size=200)


class Taker:
    def __init__(self) -> None:
        self.frames: list[tuple[int, bytes]] = []
        self.echoes: list[bytes] = []

    def frame(self, number: int, frame: bytes, at_ns: int) -> bool:
        self.frames.append((number, frame))
        return True

    def echo(self, data: bytes, at_ns: int) -> None:
        self.echoes.append(data)

    def dropped(self, kind: str) -> None:
        raise AssertionError(f"{kind} was dropped")

    def late(self) -> None:
        raise AssertionError("messages wait")


class Ends:
    """Both ends of connections to a reader."""

    def __init__(self) -> None:
        self._door = socket.create_server(("127.0.0.1", 0))
        self._reader = Reader()
        self.far: list[socket.socket] = []
        self.threads: list[threading.Thread] = []
        self.channels: list[Channel] = []

    def connect(self, wrap: Callable[[socket.socket], socket.socket] | None = None) -> Channel:
        """A switch that has connected; its own end is the last of `far`."""
        self.far.append(socket.create_connection(self._door.getsockname()))
        near, address = self._door.accept()
        channel = Channel(wrap(near) if wrap else near, address, self._reader)
        channel.set_version(proto.OFP_VERSION)
        channel.taker = Taker()
        channel.read_by_os_ken = []
        channel._by_os_ken = channel.read_by_os_ken.append
        self.threads.append(threading.Thread(target=channel.serve, daemon=True))
        self.threads[-1].start()
        self.channels.append(channel)
        return channel

    def close(self) -> None:
        for one in (*self.far, self._door):
            one.close()
        join(*self.threads)
        assert all(channel.socket.fileno() < 0 for channel in self.channels)


def join(*threads: threading.Thread) -> None:
    """Waits for threads' ends, but not for ever."""
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads)


@pytest.fixture
def ends() -> Iterator[Ends]:
    made = Ends()
    yield made
    made.close()


def by_os_ken(message: bytes) -> tuple[int, bytes] | None:
    header = ofproto_parser.header(message)
    return frame_of(ofproto_parser.msg(DATAPATH, *header, message))


@given(st.integers(0, 2**32 - 1), FRAMES)
def test_a_packet_in_is_read_as_os_ken_reads_it(port: int, frame: bytes) -> None:
    message = packet_in(port, frame)
    assert messages.packet_in(message) == by_os_ken(message) == (port, frame)


@given(st.binary(max_size=60), st.integers(0, 59), st.binary(max_size=3))
def test_a_packet_in_of_another_shape_is_os_kens(frame: bytes, at: int, junk: bytes) -> None:
    """What is read by hand of a damaged message is what os-ken reads."""
    message = bytearray(packet_in(7, frame))
    message[8 + at : 8 + at + len(junk)] = junk
    message[2:4] = len(message).to_bytes(2, "big")
    found = messages.packet_in(bytes(message))
    assert found is None or found == by_os_ken(bytes(message))


def test_metadata_in_the_match_is_left_to_os_ken() -> None:
    """OXM_OF_METADATA beside the port: 8 more bytes of match, which Open vSwitch sends when a table has set them."""
    oxm = struct.pack("!HBBI", 0x8000, 0, 4, 5) + struct.pack("!HBBQ", 0x8000, 2 << 1, 8, 9)
    match = struct.pack("!HH", 1, 4 + len(oxm)) + oxm + bytes(-(4 + len(oxm)) % 8)
    body = struct.pack("!IHBBQ", proto.OFP_NO_BUFFER, 3, 1, 0, 0) + match + b"\0\0" + b"abc"
    message = struct.pack("!BBHI", 4, proto.OFPT_PACKET_IN, 8 + len(body), 0) + body
    assert messages.packet_in(message) is None
    assert by_os_ken(message) == (5, b"abc")


@given(FRAMES)
def test_an_echo_request_by_hand_is_os_kens(data: bytes) -> None:
    theirs = parser.OFPEchoRequest(DATAPATH, data=data)
    theirs.set_xid(0)
    theirs.serialize()
    assert messages.echo_request(data) == bytes(theirs.buf)


def echo(kind: int, data: bytes) -> bytes:
    return struct.pack("!BBHI", 4, kind, 8 + len(data), 1) + data


def test_messages_arrive_whole_however_they_are_cut(ends: Ends) -> None:
    channel = ends.connect()
    mine, others = echo(messages.ECHO_REPLY, ECHO_MARK + bytes(8)), echo(3, b"else")
    said = b"".join((packet_in(1, b"a" * 60), others, mine, packet_in(2, b""))) * 50
    far = ends.far[-1]
    for at in range(0, len(said), 7):
        far.sendall(said[at : at + 7])
        time.sleep(0 if at % 91 else 0.001)
    taker = channel.taker
    until(lambda: len(taker.frames) == 100 and len(channel.read_by_os_ken) == 50)
    assert taker.frames == [(1, b"a" * 60), (2, b"")] * 50
    assert taker.echoes == [ECHO_MARK + bytes(8)] * 50
    assert channel.read_by_os_ken == [others] * 50


def test_a_message_shorter_than_its_header_ends_the_connection(ends: Ends) -> None:
    channel = ends.connect()
    ends.far[-1].sendall(struct.pack("!BBHI", 4, 0, 7, 0))
    until(lambda: channel.socket.fileno() < 0)


def test_a_switch_that_reads_nothing_holds_nobody_up(ends: Ends) -> None:
    """Probes to it are dropped once its buffers are full; those to others are sent and taken meanwhile."""
    stuck, well = ends.connect(), ends.connect()
    message = messages.packet_out((1,), bytes(1400))
    until(lambda: not all(stuck.probe(message) for _ in range(1000)))
    slowest = 0.0
    for n in range(200):
        began = time.monotonic()
        stuck.probe(message)
        slowest = max(slowest, time.monotonic() - began)
        assert well.probe(messages.packet_out((1,), b"x"))
        ends.far[1].sendall(packet_in(n, b"y"))
    until(lambda: len(well.taker.frames) == 200)
    assert slowest < 0.5  # seconds; it would be five if it waited


def test_a_flood_for_os_ken_is_left_in_the_socket(ends: Ends) -> None:
    """A connection's thread that is stuck lets no more than so many bytes in; another's messages are taken meanwhile."""
    flooding, well = ends.connect(), ends.connect()
    go_on = threading.Event()
    flooding._by_os_ken = lambda message: go_on.wait(20)
    far, sent, flood = ends.far[0], 0, echo(messages.ECHO_REQUEST, bytes(60_000))
    far.setblocking(False)
    until(lambda: flooding.inbox._put > 0 or far.send(flood))
    quiet = time.monotonic()
    while time.monotonic() - quiet < 0.3:
        try:
            sent += far.send(flood)
            quiet = time.monotonic()
        except BlockingIOError:
            time.sleep(0.01)
    let_in = flooding.inbox._put
    ends.far[1].sendall(packet_in(1, b"z"))
    until(lambda: well.taker.frames)
    go_on.set()
    assert MOST_WAITING <= let_in <= MOST_WAITING + 3 * 65_536 < sent
    until(lambda: flooding.inbox._got > MOST_WAITING + 3 * 65_536)


def test_a_connection_that_is_closed_is_read_no_more(ends: Ends) -> None:
    channel = ends.connect()
    channel.close()
    until(lambda: channel.state == DEAD_DISPATCHER and channel.socket.fileno() < 0)
    assert not ends._reader._channels and not ends._reader._paused


def test_a_switch_that_does_not_answer_echoes_is_gone(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CONF, "echo_request_interval", 0.01)
    monkeypatch.setattr(CONF, "maximum_unreplied_echo_requests", 2)
    channel = ends.connect()
    far = ends.far[-1]
    far.sendall(echo(messages.ECHO_REPLY, b""))  # with another's number
    until(lambda: channel.socket.fileno() < 0)
    heard = b""
    while data := far.recv(4096):
        heard += data
    kinds = [heard[at + 1] for at in range(0, len(heard), 8)]
    assert kinds[0] == 0 and set(kinds[1:]) == {messages.ECHO_REQUEST} and len(kinds) > 2


def test_a_switch_whose_answers_wait_behind_others_is_there(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It answers no echo, and stays while it was heard of lately."""
    monkeypatch.setattr(CONF, "echo_request_interval", 0.01)
    monkeypatch.setattr(CONF, "maximum_unreplied_echo_requests", 2)
    channel = ends.connect()
    channel._heard_ns = time.monotonic_ns() + 10**15
    asked = b""
    while asked.count(bytes([4, messages.ECHO_REQUEST, 0, 8])) < 10:
        heard = ends.far[-1].recv(4096)
        assert heard, "the connection was ended"
        asked += heard
    assert channel.state != DEAD_DISPATCHER
    channel._heard_ns = 0
    until(lambda: channel.state == DEAD_DISPATCHER)


def test_a_switch_that_is_asked_answers_or_does_not(ends: Ends) -> None:
    """What it said before it was asked does not count, and neither does a connection that has ended."""
    channel = ends.connect()
    far = ends.far[-1]
    far.sendall(packet_in(1, b"x"))
    until(lambda: channel.taker.frames)
    began = time.monotonic()
    assert not channel.answers(0.2) and 0.15 < time.monotonic() - began < 10
    asked = threading.Timer(0.05, far.sendall, [echo(messages.ECHO_REPLY, b"")])
    asked.start()
    assert channel.answers(20)
    far.close()
    until(lambda: channel.state == DEAD_DISPATCHER)
    began = time.monotonic()
    assert not channel.answers(20) and time.monotonic() - began < 10
    assert channel.peer.startswith("127.0.0.1:")


def test_connections_that_come_and_go_leave_no_threads(ends: Ends) -> None:
    for _ in range(50):
        ends.connect()
        ends.far[-1].close()
    join(*ends.threads)


def test_a_wire_is_closed_between_two_calls() -> None:
    """OpenSSL's memory of a connection must not go while another thread is in a call with it."""
    near, far = socket.socketpair()
    wire = Wire(near)
    closing = threading.Thread(target=wire.close, daemon=True)
    with far, wire._calls:
        closing.start()
        closing.join(0.2)
        assert wire.fileno() >= 0
    join(closing)
    assert wire.fileno() < 0 and wire.read() == b""


class Closed(socket.socket):
    """As TLS that another thread has closed."""

    def recv(self, *_: Any) -> bytes:
        raise ValueError("Read on closed or unwrapped SSL socket.")


def test_what_is_closed_while_it_is_read_has_ended() -> None:
    near, far = socket.socketpair()
    with far, Closed(fileno=near.detach()) as closed:
        assert Wire(closed).read() == b""


@pytest.mark.parametrize("what", ["read", "take"])
def test_a_connection_that_fails_ends_alone(ends: Ends, what: str) -> None:
    failing, well = ends.connect(), ends.connect()

    def fail(*_: Any) -> Any:
        raise RuntimeError("a mistake of ours")

    setattr(failing.socket if what == "read" else failing, what, fail)
    ends.far[0].sendall(packet_in(1, b"x"))
    until(lambda: failing.socket.fileno() < 0)
    ends.far[1].sendall(packet_in(1, b"y"))
    until(lambda: well.taker.frames)


def test_a_connection_that_is_gone_pauses_no_other(ends: Ends) -> None:
    """A switch that comes back may have its old connection's descriptor."""
    older = ends.connect()
    older.close()
    until(lambda: older.socket.fileno() < 0)
    newer = ends.connect()
    until(lambda: newer.socket.fileno() in ends._reader._channels)
    ends._reader._pause(older, newer.socket.fileno())
    ends.far[-1].sendall(packet_in(1, b"x"))
    until(lambda: newer.taker.frames)
    assert not ends._reader._paused


class Dripping(socket.socket):
    """Takes a byte at every second call."""

    takes = False

    def send(self, data: Any, *_: Any) -> int:
        self.takes = not self.takes
        if not self.takes:
            raise BlockingIOError
        return super().send(data[:1])


@pytest.mark.parametrize("how", ["sendall", "offer"])
def test_a_message_that_takes_too_long_ends_the_connection(
    monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Each byte comes in time, the message does not; what would follow is no message any more."""
    monkeypatch.setattr(channel_module, "PATIENCE_S", 0.05)
    near, far = socket.socketpair()
    with far, Dripping(fileno=near.detach()) as dripping:
        wire = Wire(dripping)
        wire._out = SimpleNamespace(poll=lambda ms: time.sleep(0.01) or True)
        if how == "offer":
            assert not wire.offer(bytes(80))
        else:
            with pytest.raises(TimeoutError):
                wire.sendall(bytes(80))
        far.settimeout(5)
        heard = b""
        while data := far.recv(100):
            heard += data
        assert 0 < len(heard) < 80


def test_what_strangers_cause_fills_no_log(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    seldom = Seldom(Rate(3, 30.0, lambda: now[0]))
    for number in range(100):
        seldom.warn("connection %d", number)
    now[0] = 10.0
    seldom.warn("later")
    seldom.warn("at once")
    seldom.warn("another's", of="t1")
    said = [record.getMessage() for record in caplog.records]
    assert said[:3] == ["connection 0", "connection 1", "connection 2"]
    assert said[3:5] == ["97 more messages about connections were left out", "later"]
    assert said[5:] == ["1 more messages about connections were left out", "another's"]


def test_a_fault_in_what_a_probe_brings_back_fills_no_log(
    ends: Ends, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel_module, "STRANGERS", Seldom(Rate(2, 1e6)))
    channel = ends.connect()
    taker, count = channel.taker, [0]

    def fail(*_: Any) -> None:
        count[0] += 1
        raise RuntimeError("a mistake of ours")

    taker.frame = fail
    ends.far[-1].sendall(packet_in(1, b"x") * 50)
    until(lambda: count[0] == 50)
    assert caplog.text.count("could not be handled") == 2
    assert "RuntimeError: a mistake of ours" in caplog.text


def test_over_tls_threads_read_and_write_at_once(ends: Ends, tmp_path: Path) -> None:
    certificates(tmp_path)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "controller.pem", tmp_path / "controller.key")
    client = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    client.check_hostname = False
    far: list[Any] = []

    def wrap(near: socket.socket) -> socket.socket:
        for one in (near, ends.far[-1]):
            one.settimeout(20)
        thread = threading.Thread(target=lambda: far.append(client.wrap_socket(ends.far[-1])))
        thread.start()
        wrapped = server.wrap_socket(near, server_side=True)
        join(thread)
        return wrapped

    channel = ends.connect(wrap)
    ends.far[-1] = far[0]
    client_end, heard, most = Wire(far[0]), bytearray(), 300
    arrived, end = select.poll(), time.monotonic() + 20
    arrived.register(client_end.fileno(), select.POLLIN)

    def listen() -> None:
        while time.monotonic() < end and (
            heard.count(b"PROBE") < most or heard.count(b"LATER") < most
        ):
            if arrived.poll(100):  # one that asks again and again keeps the other threads from TLS
                heard.extend(client_end.read() or b"")

    def say() -> None:
        for _ in range(most):
            channel.send(messages.packet_out((1,), b"LATER" + bytes(1000)))
            while not channel.probe(messages.packet_out((2,), b"PROBE")) and time.monotonic() < end:
                time.sleep(0.001)

    threads = [threading.Thread(target=one, daemon=True) for one in (listen, say)]
    for thread in threads:
        thread.start()
    for n in range(most):
        client_end.sendall(packet_in(n, b"q" * 1000))
    join(*threads)
    assert heard.count(b"PROBE") == heard.count(b"LATER") == most
    until(lambda: len(channel.taker.frames) == most)
    assert [number for number, _ in channel.taker.frames] == list(range(most))


def test_one_that_sends_too_much_is_read_less_often_and_others_as_before(ends: Ends) -> None:
    flooding, well = ends.connect(), ends.connect()
    taken: list[bytes] = []

    def one_too_many(number: int, frame: bytes, at_ns: int) -> bool:
        taken.append(frame)
        return False

    flooding.taker.frame = one_too_many
    flooding._unwanted.spend(0.1)  # it rests about a second
    ends.far[0].sendall(packet_in(1, b"a"))
    until(lambda: taken)
    ends.far[0].sendall(packet_in(1, b"b"))
    ends.far[1].sendall(packet_in(1, b"c"))
    until(lambda: well.taker.frames)
    assert taken == [b"a"]
    until(lambda: taken == [b"a", b"b"])
    assert flooding.inbox.is_empty


def test_what_is_put_off_later_is_charged_as_it_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A large batch, most of which is dropped of the queue, and then a small one, which costs more a byte."""
    channel, spent = Channel(socket.socket(), ("192.0.2.1", 1), Reader()), [0.0]
    channel._unwanted = Budget(UNWANTED_SHARE, UNWANTED_BURST_S, lambda: 0.0)
    monkeypatch.setattr(channel_module.time, "thread_time", lambda: spent[0])
    cost_s = 1e-6

    def put(message: bytes) -> bool:
        spent[0] += cost_s
        return True

    monkeypatch.setattr(channel.inbox, "put", put)
    one = error(3, 4, bytes(64))
    for _ in range(100):
        assert channel.take(one * 100, 0)
    assert not channel.rest_s()
    channel.inbox.put_off, cost_s = 9_000 * len(one), 1e-3
    assert channel.take(port_status(1), 0)
    total_s = 10_000 * 1e-6 + 1e-3
    expected_s = total_s * 9_000 / 10_001 / UNWANTED_SHARE - UNWANTED_BURST_S / UNWANTED_SHARE
    assert channel.rest_s() == pytest.approx(expected_s, rel=0.01)
    channel._unwanted.spend(10.0)
    assert channel.rest_s() == MOST_REST_S
    channel.socket.close()
