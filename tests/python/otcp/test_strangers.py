# SPDX-License-Identifier: MIT OR Apache-2.0
"""Who has no token, at the API: asks no more often than others whatever the path, and leaves little in logs."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import need_module

need_module("fastapi", "otcp")
need_module("uvicorn", "otcp")

from networks import tree
from test_api import HOST, OPERATOR, OTHER, Running, serve  # noqa: F401, a fixture

from etalon_otcp.api.auth import Tokens, make
from etalon_otcp.api.service import _network
from etalon_otcp.audit import LONGEST, Audit


@pytest.mark.parametrize(
    "path", ["/v1/health", "/nothing", "/v1/openapi.json", "/v1/hosts/%00/routes"]
)
def test_whatever_a_stranger_asks_counts(serve: Callable[..., Running], path: str) -> None:  # noqa: F811
    running = serve(api="requests_per_minute = 5")
    statuses = [running.ask(path, None)[0] for _ in range(8)]
    assert 429 not in statuses[:5] and statuses[5:] == [429] * 3
    assert running.ask("/v1/health", OPERATOR)[0] == 200
    assert sum(running.service.requests.values()) == 9


def test_a_body_counts_too(serve: Callable[..., Running]) -> None:  # noqa: F811
    running = serve(api="requests_per_minute = 5")
    length = {"Content-Length": "999999"}
    statuses = [running.ask("/v1/measure", None, "POST", **length)[0] for _ in range(8)]
    assert statuses == [413] * 5 + [429] * 3


def test_addresses_of_one_network_of_ipv6_are_one_stranger() -> None:
    assert _network("192.0.2.7") == "192.0.2.7" and _network("") == ""
    assert _network("2001:db8:0:1::7") == _network("2001:db8:0:1:ffff::") == "2001:db8:0:1::/64"
    assert _network("2001:db8:0:2::7") != _network("2001:db8:0:1::7")


def test_a_long_path_does_not_fill_the_audit_log(tmp_path: Path) -> None:
    log = Audit(tmp_path / "audit.jsonl")
    long = "/v1/pairs/" + "a" * 63 + "/" + "b" * 63
    log.asked("operator alice", "192.0.2.1", "GET", long, 200)
    log.asked("", "192.0.2.1", "G" * 5000, "/\n\x1b[2J\u202e" + "\x01" * 5000, 404)
    log.close()
    lines = (tmp_path / "audit.jsonl").read_text().splitlines()
    whole, cut = (json.loads(line) for line in lines)
    assert whole["path"] == long
    assert cut["path"].startswith("/\n\x1b[2J\u202e\x01") and cut["path"].endswith("...")
    assert len(cut["path"]) == len(cut["method"]) == LONGEST + 3
    assert all(line.isascii() and line.isprintable() for line in lines)


def test_what_is_no_http_fills_no_log(
    serve: Callable[..., Running],  # noqa: F811
    caplog: pytest.LogCaptureFixture,
) -> None:
    running = serve()
    for _ in range(60):
        with socket.create_connection(("127.0.0.1", running.port), timeout=20) as stranger:
            stranger.sendall(b"\x16\x03\x01 nonsense\r\n\r\n")
            assert stranger.recv(4096).startswith(b"HTTP/1.1 400")
    assert 1 <= caplog.text.count("Invalid HTTP request") <= 30


def test_ten_thousand_tokens_take_as_long_as_one(tmp_path: Path) -> None:
    """Each of ten thousand streams asks for its own every few seconds: the last is found in as many steps as the only one."""

    def steps(number: int) -> int:
        file = tmp_path / f"{number}.toml"
        made = [make() for _ in range(number)]
        lines = [f'h{at} = "{hashed}"' for at, (_, hashed) in enumerate(made)]
        file.write_text("\n".join(["[hosts]", *lines]))
        file.chmod(0o600)
        tokens, taken = Tokens(file), 0

        def step(*_: object) -> Any:
            nonlocal taken
            taken += 1
            return step

        sys.settrace(step)
        try:
            found = tokens.who(made[-1][0])
        finally:
            sys.settrace(None)
        assert found and found.name == f"h{number - 1}"
        return taken

    assert steps(10_000) == steps(1)


def test_a_stream_ends_when_its_token_becomes_anothers(
    serve: Callable[..., Running],  # noqa: F811
    tmp_path: Path,
) -> None:
    running = serve(api='lifetime = "5s"')
    running.publish(tree())
    events = running.listen()
    assert events.next()["event"] == "routes"
    (tmp_path / "tokens.toml").write_text(f'[hosts]\nh1-1 = "{OTHER}"\nh2-1 = "{HOST}"\n')
    assert {} in [events.next() for _ in range(2)]
    events.close()
