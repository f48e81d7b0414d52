# SPDX-License-Identifier: MIT OR Apache-2.0
"""Where switches connect: strangers are dropped, and a certificate names the switch."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fabric import until
from sockets import is_open

from conftest import need_module

need_module("os_ken", "otcp")
need_module("cryptography", "otcp")

from test_switches import FILE, Connection

from etalon_otcp import listening
from etalon_otcp.api import server
from etalon_otcp.config import Config, OpenFlow
from etalon_otcp.controller import Controller
from etalon_otcp.demo.credentials import certificates
from etalon_otcp.listening import Listening, names_of
from etalon_otcp.switches import Switches


class Datapath:
    """Says who it is when its first byte comes, and lives until its socket is closed."""

    def __init__(self, at: socket.socket, address: Any, reader: Any) -> None:
        self.socket, self.taker = at, None

    def serve(self) -> None:
        while said := self.socket.recv(1):
            self.taker = said[0]

    def close(self) -> None:
        self.socket.close()


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], tuple[Listening, int]]]:
    monkeypatch.setattr(listening, "Channel", Datapath)
    monkeypatch.setattr(listening, "SPARE", 2)
    bound: list[socket.socket] = []

    def make(switches: int) -> tuple[Listening, int]:
        listen = OpenFlow(listen="127.0.0.1:0")
        bound.append(server.bind(listen))
        made = Listening(bound[-1], listen, switches)
        threading.Thread(target=made, daemon=True).start()
        return made, bound[-1].getsockname()[1]

    yield make
    for one in (*bound, *OPEN):
        one.close()
    OPEN.clear()


OPEN: list[socket.socket] = []
"""What the tests have connected."""


def connect(port: int, dpid: int = 0) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port))
    OPEN.append(made)
    if dpid:
        made.sendall(bytes([dpid]))
    return made


def test_strangers_make_room_for_whoever_comes_and_switches_do_not(
    door: Callable[[int], tuple[Listening, int]],
) -> None:
    accepting, port = door(1)
    switch = connect(port, dpid=7)
    until(lambda: any(one.is_known for one in accepting._connections))
    strangers = [connect(port) for _ in range(50)]
    until(lambda: accepting.refused == 47)
    assert len(accepting) == 4 and is_open(switch)
    until(lambda: sum(map(is_open, strangers)) == 3)
    others = [connect(port, dpid=8 + n) for n in range(3)]
    until(lambda: sum(one.is_known for one in accepting._connections) == 4)
    assert all(map(is_open, [switch, *others]))
    late = connect(port, dpid=99)
    until(lambda: not is_open(late))
    switch.close()
    until(lambda: len(accepting) == 3)


def test_a_flood_from_one_address_crowds_out_itself(
    door: Callable[[int], tuple[Listening, int]],
) -> None:
    accepting, port = door(1)
    slow = socket.create_connection(("127.0.0.1", port), source_address=("127.0.0.2", 0))
    OPEN.append(slow)
    until(lambda: len(accepting) == 1)
    for _ in range(50):
        connect(port)
    until(lambda: accepting.refused == 47)
    assert is_open(slow), "the oldest, but the only one of its address"


def test_who_does_not_say_who_it_is_is_dropped(
    door: Callable[[int], tuple[Listening, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    accepting, port = door(1)
    switch = connect(port, dpid=7)
    until(lambda: any(one.is_known for one in accepting._connections))
    monkeypatch.setattr(listening, "UNKNOWN_S", 0.2)
    stranger = connect(port)
    until(lambda: not is_open(stranger))
    time.sleep(0.3)
    assert is_open(switch) and len(accepting) == 1


def test_who_is_dropped_in_the_handshake_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Strangers who never finish TLS's handshake go when others come, not when its time is over."""
    certificates(tmp_path)
    monkeypatch.setattr(listening, "SPARE", 2)
    monkeypatch.setattr(listening, "UNKNOWN_S", 600)
    certificate, key = tmp_path / "controller.pem", tmp_path / "controller.key"
    listen = OpenFlow(listen="127.0.0.1:0", certificate=certificate, key=key)
    with server.bind(listen) as bound:
        accepting = Listening(bound, listen, 1)
        threading.Thread(target=accepting, daemon=True).start()
        strangers = [connect(bound.getsockname()[1]) for _ in range(4)]
        until(lambda: len(accepting) == 4)
        until(lambda: all(map(is_shaking, list(accepting._connections))))
        strangers += [connect(bound.getsockname()[1]) for _ in range(4)]
        until(lambda: sum(map(is_open, strangers)) == 4)
        assert accepting.refused == 4 and not any(map(is_open, strangers[:4]))
        for one in strangers:
            one.close()
        until(lambda: len(accepting) == 0)
    OPEN.clear()


def is_shaking(connection: listening.Connection) -> bool:
    """Whether TLS has taken a connection's socket."""
    return isinstance(connection.socket, ssl.SSLSocket) or connection.socket.fileno() < 0


def test_names_of_a_certificate() -> None:
    found = {
        "subject": ((("organizationName", "Example"),), (("commonName", "t1"),)),
        "subjectAltName": (("DNS", "0000000000000001"), ("IP Address", "192.0.2.1")),
    }
    assert list(names_of(found)) == ["t1", "0000000000000001"]
    assert list(names_of({})) == []


def test_over_tls_a_certificate_is_asked_for_and_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The controller's certificate of the demonstration stands for a switch's: its name is 'controller'."""
    certificates(tmp_path)
    ca, certificate, key = (tmp_path / f for f in ("ca.pem", "controller.pem", "controller.key"))
    seen: list[frozenset[str] | None] = []
    monkeypatch.setattr(Datapath, "names", property(lambda _: None, lambda _, n: seen.append(n)), raising=False)  # fmt: skip
    monkeypatch.setattr(listening, "Channel", Datapath)
    listen = OpenFlow(listen="127.0.0.1:0", certificate=certificate, key=key, client_ca=ca)
    bound = server.bind(listen)
    threading.Thread(target=Listening(bound, listen, 1), daemon=True).start()
    context = ssl.create_default_context(cafile=str(ca))
    context.check_hostname = False
    context.load_cert_chain(certificate, key)
    with socket.create_connection(bound.getsockname()) as raw, context.wrap_socket(raw) as made:
        made.sendall(b"7")
        until(lambda: seen == [frozenset({"controller"})])
    nobody = ssl.create_default_context(cafile=str(ca))
    nobody.check_hostname = False
    refused = pytest.raises((ssl.SSLError, ConnectionError))
    with (
        socket.create_connection(bound.getsockname()) as raw,
        nobody.wrap_socket(raw) as made,
        refused,
    ):
        made.recv(1)
    assert len(seen) == 1
    bound.close()


@pytest.mark.parametrize(
    ("names", "welcome"),
    [(None, True), ({"t1"}, True), ({"0000000000000001"}, True), ({"t2"}, False), (set(), False)],
)
def test_a_certificate_names_the_switch_that_it_may_be(
    tmp_path: Path, names: set[str] | None, welcome: bool
) -> None:
    file = tmp_path / "controller.toml"
    file.write_text(FILE)
    Switches.controller = Controller(Config.load(file))
    closed: list[bool] = []
    connection = Connection()
    connection.names = names  # type: ignore[attr-defined]
    connection.close = lambda: closed.append(True)  # type: ignore[attr-defined]
    switches = Switches()
    switches.features(SimpleNamespace(msg=SimpleNamespace(datapath=connection, datapath_id=1)))
    assert (not closed, "t1" in switches._switches) == (welcome, welcome)
    assert switches.controller.events.switches_refused == (not welcome)
    del Switches.controller
