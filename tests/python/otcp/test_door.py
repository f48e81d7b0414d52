# SPDX-License-Identifier: MIT OR Apache-2.0
"""Connections to the API before TLS's handshake is over: few, short, and in nobody's way."""

from __future__ import annotations

import json
import resource
import socket
import ssl
from pathlib import Path

import pytest
from controller_beside import ControllerBeside
from fabric import until
from networks import tables
from sockets import is_open

from conftest import need_module

need_module("os_ken", "otcp")
need_module("cryptography", "otcp")

from etalon.errors import EtalonError
from etalon_otcp import process
from etalon_otcp.api import door
from etalon_otcp.api.door import PATIENCE_S, Door, Patient
from etalon_otcp.config import Config
from etalon_otcp.demo.credentials import certificates

FILE = tables("t1")
TLS = 'certificate = "controller.pem"\nkey = "controller.key"\nconnections_of_one = 8\n'


def test_the_oldest_makes_room_once_it_has_had_its_time() -> None:
    far, near, now = [], [], [0.0]

    def connect(address: str) -> socket.socket:
        far.append(socket.create_connection(made.getsockname(), source_address=(address, 0)))
        near.append(made.accept())
        return far[-1]

    bound = socket.create_server(("127.0.0.1", 0))
    with Door(bound, most=4, most_of_one=2, clock=lambda: now[0]) as made:
        first, second = connect("127.0.0.1"), connect("127.0.0.1")
        assert not is_open(connect("127.0.0.1")), "one too many of its address"
        other = connect("127.0.0.2")
        assert all(map(is_open, (first, second, other))) and len(made) == 3
        made.entered(near[1][1])
        assert is_open(connect("127.0.0.1")), "one has finished its handshake"
        assert is_open(connect("127.0.0.3")) and not is_open(connect("127.0.0.4")), "four in all"
        now[0] = PATIENCE_S
        assert is_open(connect("127.0.0.5")) and not is_open(first), "the oldest goes"
        assert is_open(second) and made.refused == 3
    for one in (*far, *(found for found, _ in near)):
        one.close()


def test_memory_of_handshakes_that_came_to_nothing_is_collected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    collected: list[int] = []
    monkeypatch.setattr(door, "MOST_FAILED", 5)
    monkeypatch.setattr(door.gc, "collect", lambda: collected.append(1))
    bound = socket.create_server(("127.0.0.1", 0))
    with Door(bound, most=4, most_of_one=2) as made:
        for number in range(10):
            with socket.create_connection(made.getsockname()):
                near, peer = made.accept()
                if number >= 8:
                    made.entered(peer)
            near.close()  # as asyncio does when the other end is gone
        assert len(collected) == 1 and made.refused == 0


def test_without_descriptors_there_is_one_warning_and_connections_wait(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bound = socket.create_server(("127.0.0.1", 0))
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with Patient(bound) as made, socket.create_connection(made.getsockname()):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
            for _ in range(50):
                with pytest.raises(BlockingIOError):
                    made.accept()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        made.accept()[0].close()
    assert 1 <= len(caplog.records) <= 11 and "accepts no connection" in caplog.text


def test_silent_connections_keep_nobody_out(tmp_path: Path) -> None:
    certificates(tmp_path)
    context = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    context.check_hostname = False

    def health(controller: ControllerBeside) -> str:
        where = ("127.0.0.1", int(controller.url.rpartition(":")[2]))
        with socket.create_connection(where, timeout=5) as raw, context.wrap_socket(raw) as asking:
            asking.sendall(
                b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            )
            answer = asking.makefile("rb").read()
        return str(json.loads(answer.partition(b"\r\n\r\n")[2])["status"])

    class Beside(ControllerBeside):
        def answers(self) -> bool:
            assert self.process and self.process.poll() is None, self.log.read_text()
            try:
                return bool(health(self))
            except OSError:
                return False

    with Beside(tmp_path, FILE, api=TLS) as controller:
        where = ("127.0.0.1", int(controller.url.rpartition(":")[2]))
        silent = [socket.create_connection(where, timeout=5) for _ in range(40)]
        until(lambda: sum(map(is_open, silent)) <= 8)
        until(controller.answers)  # they make room when they have had their time
        for one in silent:
            one.close()


def test_a_check_of_the_file_reads_what_it_names(tmp_path: Path) -> None:
    certificates(tmp_path)
    tokens = tmp_path / "tokens.toml"
    file = tmp_path / "controller.toml"
    file.write_text(f'state = "state.json"\n{FILE}[api]\ntokens = "tokens.toml"\n{TLS}')

    def complaint() -> str:
        with pytest.raises(EtalonError) as found:
            process.check(Config.load(file))
        return str(found.value)

    assert "tokens.toml" in complaint()
    tokens.write_text("[hosts]\n")
    tokens.chmod(0o644)
    assert "is open to everybody" in complaint()
    tokens.chmod(0o600)
    process.check(Config.load(file))
    (tmp_path / "state.json").write_text("{")
    assert "is not a controller's state" in complaint()
    (tmp_path / "state.json").unlink()
    (tmp_path / "controller.key").write_text("no key")
    assert "TLS with" in complaint()
