# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whatever answers an operator's command instead of a controller, one sentence says so, and nobody else gets the token."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from etalon.errors import EtalonError, PlanError
from etalon_otcp import client
from etalon_otcp.client import Client

NESTED = b"[" * 200_000
NO_CONTROLLER = "what answers is no controller"


@contextmanager
def answering(
    status: int = 200, body: bytes = b"", **headers: object
) -> Iterator[tuple[str, list[str | None]]]:
    """A server's address, and the tokens that it is sent."""
    tokens: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            tokens.append(self.headers["Authorization"])
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), str(value))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        yield f"http://127.0.0.1:{server.server_port}", tokens
        server.shutdown()
        serving.join()


def said(ask: Callable[[], object]) -> str:
    with pytest.raises(EtalonError) as caught:
        ask()
    assert not isinstance(caught.value, PlanError)
    return str(caught.value)


@pytest.fixture
def token(tmp_path: Path) -> Path:
    file = tmp_path / "mine.token"
    file.write_text("0123456789abcdef\n")
    return file


def test_a_good_answer_is_read() -> None:
    with answering(202, b'{"links": 3}') as (url, tokens):
        assert Client(f"{url}/").get("/v1/links") == {"links": 3}
    assert tokens == [None]


@pytest.mark.parametrize("body", [b"\xff\xfe", b"<html>", NESTED], ids=["bytes", "page", "nested"])
def test_an_answer_that_is_no_json(body: bytes) -> None:
    with answering(200, body) as (url, _):
        assert said(lambda: Client(url).get("/")) == f"{url}: {NO_CONTROLLER}"


@pytest.mark.parametrize("body", [b"\xff\xfe", b"[]", NESTED], ids=["bytes", "list", "nested"])
def test_an_error_without_a_sentence(body: bytes) -> None:
    with answering(503, body) as (url, _):
        assert said(lambda: Client(url).get("/")) == f"{url}: status 503"


def test_an_error_with_a_sentence() -> None:
    with answering(404, b'{"error": "there is no host h9"}') as (url, _):
        assert said(lambda: Client(url).get("/")) == f"{url}: there is no host h9"


@pytest.mark.parametrize("status", [200, 500])
def test_an_answer_that_ends_early(status: int) -> None:
    with answering(status, b"half", Content_Length=8) as (url, _):
        sentence = said(lambda: Client(url).text("/"))
    assert sentence.startswith(f"{url}: no whole answer comes: ")


@pytest.mark.parametrize("status", [200, 500])
def test_an_answer_without_end(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "LARGEST", 1 << 20)
    for length in ({}, {"Content_Length": 1 << 60}):
        with answering(status, bytes((1 << 20) + 1), **length) as (url, _):
            sentence = said(lambda url=url: Client(url).text("/"))  # type: ignore[misc]
        assert sentence == f"{url}: {NO_CONTROLLER}: it sends more than 1 MiB"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status: int, token: Path) -> None:
    with (
        answering(200, b"{}") as (other, stolen),
        answering(status, Location=f"{other}/") as (url, tokens),
    ):
        sentence = said(lambda: Client(url, token).get("/"))
    assert sentence == f"{url}: {NO_CONTROLLER}: it redirects to another address"
    assert tokens == ["Bearer 0123456789abcdef"] and stolen == []


def test_no_proxy_gets_the_token(token: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(200, b"1") as (proxy, stolen), answering(200, b"2") as (url, _):
        monkeypatch.setenv("http_proxy", proxy)
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        assert Client(url, token).get("/") == 2
    assert stolen == []


@pytest.mark.parametrize(
    "name", ["192.0.2.1", "[2001:db8::1]", "controller.example", "127.example"]
)
def test_a_token_goes_by_plain_http_to_this_host_only(name: str, token: Path) -> None:
    with pytest.raises(PlanError, match="would carry the token in the clear: expected https://"):
        Client(f"http://{name}:8080", token).get("/")


@pytest.mark.parametrize("name", ["127.0.0.1", "127.0.0.9", "[::1]", "localhost"])
def test_a_token_goes_to_this_host(name: str, token: Path) -> None:
    """Nobody listens at port 1, which is then the complaint."""
    sentence = said(lambda: Client(f"http://{name}:1", token).get("/"))
    assert "no controller answers" in sentence
