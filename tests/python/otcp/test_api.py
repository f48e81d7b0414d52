# SPDX-License-Identifier: MIT OR Apache-2.0
"""The API over real sockets: who may see what, pushes, limits, TLS."""

from __future__ import annotations

import contextlib
import http.client
import json
import resource
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fabric import until
from networks import tables, tables_of, tree, without

from conftest import need, need_module

need_module("fastapi", "otcp")
need_module("uvicorn", "otcp")

from etalon.errors import PlanError
from etalon_otcp import groups
from etalon_otcp.api import events, server
from etalon_otcp.api.auth import Tokens, make
from etalon_otcp.api.service import Service
from etalon_otcp.config import Config
from etalon_otcp.controller import Controller
from etalon_otcp.measuring import Measuring
from etalon_otcp.network import Network, PortId
from etalon_otcp.rate import Rate
from etalon_otcp.routes import Routes

HOST, OTHER, OPERATOR = "h-" * 10, "x-" * 10, "o-" * 10


class Running:
    """A served controller whose network the test sets."""

    def __init__(self, folder: Path, api: str = "", tokens: bool = True) -> None:
        lines = ["[api]", 'listen = "127.0.0.1:0"', api]
        if tokens:
            file = folder / "tokens.toml"
            file.write_text(
                f'[hosts]\nh1-1 = "{HOST}"\nh2-1 = "{OTHER}"\n[operators]\nalice = "{OPERATOR}"\n'
            )
            file.chmod(0o600)
            lines.append('tokens = "tokens.toml"')
        lines.append(tables(network=tree()))
        (folder / "controller.toml").write_text("\n".join(lines))
        self.controller = Controller(Config.load(folder / "controller.toml"))
        self.service = Service(self.controller, Measuring(self.controller))
        bound = server.bind(self.controller.config.api)
        self.port = bound.getsockname()[1]
        self.stop = server.start(self.service, bound)

    def publish(self, network: Network) -> None:
        """What the computing thread does."""
        routes = Routes(network)
        found = groups.compute(routes, self.controller.config.policy)
        changed = self.controller.publication.update(found.routes)
        documents = dict(self.controller.publication.documents)
        self.controller.view = replace(
            self.controller.view,
            network=network,
            routes=routes,
            documents=documents,
            problems=found.problems,
            settled=True,
        )
        self.controller.told(changed)

    def ask(
        self, path: str, token: str | None = OPERATOR, method: str = "GET", **headers: str
    ) -> tuple[int, Any]:
        """Status, and the body's JSON (or text)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        if token:
            headers["Authorization"] = f"Bearer {token}"
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        try:
            return answer.status, json.loads(body)
        except ValueError:
            return answer.status, body

    def listen(self, host: str = "h1-1", token: str = HOST, last: str = "") -> Events:
        return Events(self.port, host, token, last)


class Events:
    """A client of an event stream."""

    def __init__(self, port: int, host: str, token: str, last: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        headers = {"Authorization": f"Bearer {token}"} | ({"Last-Event-ID": last} if last else {})
        self._connection.request("GET", f"/v1/hosts/{host}/events", headers=headers)
        self._answer = self._connection.getresponse()
        self.status = self._answer.status

    def next(self) -> dict[str, str]:
        """The next event's fields; empty at the end."""
        fields: dict[str, str] = {}
        while line := self._answer.readline().decode().rstrip("\n"):
            name, _, value = line.partition(":")
            fields[name] = value.strip()
        return fields

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    started: list[Running] = []

    def start(**settings: Any) -> Running:
        started.append(Running(tmp_path, **settings))
        return started[-1]

    yield start
    for running in started:
        running.stop()


def test_who_may_see_what(serve: Callable[..., Running]) -> None:
    running = serve()
    assert running.ask("/v1/hosts/h1-1/routes")[0] == 503
    running.publish(tree())
    expected = {
        ("/v1/hosts/h1-1/routes", HOST): 200,
        ("/v1/hosts/h1-1/routes", OPERATOR): 200,
        ("/v1/hosts/h1-1/routes", OTHER): 403,
        ("/v1/hosts/h1-1/routes", "wrong"): 401,
        ("/v1/hosts/h1-1/routes", None): 401,
        ("/v1/hosts/h1-1/events", OTHER): 403,
        ("/v1/hosts/nobody/routes", OPERATOR): 404,
        ("/v1/hosts/nobody/routes", HOST): 403,
        ("/v1/topology", HOST): 403,
        ("/v1/topology", OPERATOR): 200,
        ("/v1/links", HOST): 403,
        ("/v1/pairs/h1-1/h2-1", HOST): 403,
        ("/v1/pairs/h1-1/h2-1", OPERATOR): 200,
        ("/v1/pairs/h1-1/nobody", OPERATOR): 404,
        ("/metrics", HOST): 403,
        ("/metrics", OPERATOR): 200,
        ("/v1/health", None): 200,
    }
    assert {key: running.ask(*key)[0] for key in expected} == expected
    assert running.ask("/v1/measure", HOST, "POST")[0] == 403
    assert running.ask("/v1/measure", OPERATOR, "POST")[0] == 202


def test_documents_are_the_protocols(serve: Callable[..., Running]) -> None:
    running = serve()
    running.publish(tree())
    _, document = running.ask("/v1/hosts/h1-1/routes", HOST)
    assert list(document) == ["host", "epoch", "version", "lifetime_s", "routes"]
    assert document["host"] == "h1-1" and document["version"] == 1 and document["lifetime_s"] == 60
    prefixes = [route["prefix"] for route in document["routes"]]
    assert (
        prefixes == sorted(prefixes) == ["10.0.1.1/32", "10.0.1.2/32", "10.0.2.1/32", "10.0.2.2/32"]
    )
    assert document["routes"][2] == {
        "prefix": "10.0.2.1/32",
        "rto_min_us": 2000,
        "rto_init_us": 2 * (1200 + 6 * 720),
        "max_cwnd": 102,
        "initial_cwnd": 2,
        "initial_rwnd": 102,
    }
    _, pair = running.ask("/v1/pairs/h1-1/h2-1")
    assert pair["route"] == document["routes"][2] | {"version": 1}
    assert pair["published"]["max_cwnd"] == 102


def test_health_says_more_to_operators(serve: Callable[..., Running]) -> None:
    running = serve()
    assert running.ask("/v1/health", None) == (200, {"status": "starting"})
    running.publish(tree())
    assert running.ask("/v1/health", None) == (200, {"status": "ok"})
    assert running.ask("/v1/health")[1]["hosts"] == 4


def test_changes_are_pushed_whole_and_in_order(serve: Callable[..., Running]) -> None:
    running = serve(api='lifetime = "5s"')
    events = running.listen()
    assert "no routes yet" in events.next()[""]
    running.publish(tree())
    first = events.next()
    assert first["event"] == "routes" and json.loads(first["data"])["version"] == 1
    alive = events.next()  # after a quarter of the lifetime
    assert alive["event"] == "alive" and alive["id"] == first["id"]
    running.publish(without(tree(), PortId("t1", 1)))
    second = json.loads(events.next()["data"])
    assert second["version"] == 2 and second["routes"][2]["max_cwnd"] == 136
    again = running.listen(last=first["id"])
    assert json.loads(again.next()["data"]) == second
    newest = running.listen(last=f"{second['epoch']}.2")
    assert newest.next()["event"] == "alive"
    for listener in (events, again, newest):
        listener.close()


def test_a_third_stream_closes_the_oldest(serve: Callable[..., Running]) -> None:
    running = serve()
    running.publish(tree())
    streams = [running.listen() for _ in range(3)]
    assert [stream.next()["event"] for stream in streams] == ["routes"] * 3
    assert streams[0].next() == {}
    running.publish(without(tree(), PortId("t1", 1)))
    assert [stream.next()["event"] for stream in streams[1:]] == ["routes"] * 2
    for stream in streams:
        stream.close()


@pytest.mark.slow
def test_who_does_not_read_is_dropped(
    serve: Callable[..., Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "SLOW_S", 0.5)
    running = serve()
    networks = [tree(racks=250, hosts=1), tree(racks=250, hosts=1, upper_us=(900, 990))]
    running.publish(networks[0])
    sleeper = socket.socket()
    sleeper.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sleeper.connect(("127.0.0.1", running.port))
    head = f"GET /v1/hosts/h1-1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {HOST}\r\n\r\n"
    sleeper.sendall(head.encode())
    end = time.monotonic() + 60
    turn = 0
    while not running.service.hub.count():
        assert time.monotonic() < end
        time.sleep(0.01)
    while running.service.hub.count():
        assert time.monotonic() < end, "it is still there"
        turn += 1
        running.publish(networks[turn % 2])
        time.sleep(0.01)
    sleeper.close()


def test_who_does_not_ask_is_dropped(
    serve: Callable[..., Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "SLOW_S", 0.3)
    running = serve()
    with socket.create_connection(("127.0.0.1", running.port), timeout=20) as mute:
        mute.sendall(b"GET /v1/health HTTP/1.1\r\nHost:")
        with contextlib.suppress(ConnectionResetError):
            assert mute.recv(100) == b""


def test_requests_are_limited_and_bodies_refused(serve: Callable[..., Running]) -> None:
    running = serve(api="requests_per_minute = 5")
    statuses = [running.ask("/v1/health", HOST)[0] for _ in range(8)]
    assert statuses == [200] * 5 + [429] * 3
    assert running.ask("/v1/health", OTHER)[0] == 200
    strangers = [running.ask("/v1/links", "guess")[0] for _ in range(8)]
    assert strangers == [401] * 5 + [429] * 3
    refused = running.ask("/v1/measure", OPERATOR, "POST", **{"Content-Length": "999999"})
    assert refused == (413, {"error": "no body is expected"})


def test_without_tokens_only_this_machine_asks(serve: Callable[..., Running]) -> None:
    running = serve(tokens=False)
    assert running.ask("/v1/links", None)[0] == 200
    assert running.ask("/v1/links", None, Host="evil.example")[0] == 400


def test_openapi_and_metrics(serve: Callable[..., Running]) -> None:
    running = serve()
    running.publish(tree())
    status, document = running.ask("/v1/openapi.json", None)
    assert status == 200 and document["openapi"].startswith("3.1")
    assert "/v1/hosts/{host}/routes" in document["paths"]
    assert document["components"]["schemas"]["RouteModel"]["required"] == [
        *("prefix", "rto_min_us", "rto_init_us", "max_cwnd", "initial_cwnd", "initial_rwnd")
    ]
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    paths = document["paths"].items()
    asked = {path: way["security"] for path, ways in paths for way in ways.values()}
    assert asked["/v1/hosts/{host}/routes"] == asked["/metrics"] == [{"token": []}]
    assert {} in asked["/v1/health"]
    _, text = running.ask("/metrics")
    samples = dict(
        line.rsplit(" ", 1) for line in text.splitlines() if line and not line.startswith("#")
    )
    assert samples["etalon_otcp_hosts"] == "4"
    assert samples['etalon_otcp_link_delay_seconds{source="t1:1",target="a1:1"}'] == "0.000200000"


def test_operators_ask_on_the_command_line(
    serve: Callable[..., Running], etalon: Callable[..., Any], tmp_path: Path
) -> None:
    running = serve()
    running.publish(tree())
    (tmp_path / "mine.token").write_text(f"{OPERATOR}\n")
    where = ("--url", f"http://127.0.0.1:{running.port}", "--token-file", tmp_path / "mine.token")
    explained = etalon("otcp", "explain", "h1-1", "h2-1", *where)
    assert explained.code == 0 and "t1:1 > a1:1" in explained.out
    assert "RTOmin = RTT, rounded up to 1 ms: 1200.0 us -> 2 ms" in explained.out
    shown = etalon("otcp", "show", *where)
    assert shown.code == 0 and "200 us" in shown.out and "ok: version 1, 4 hosts" in shown.out
    assert etalon("otcp", "measure", *where).code == 0
    unknown = etalon("otcp", "explain", "h1-1", "nobody", *where)
    assert unknown.code == 1 and "there is no host nobody" in unknown.err
    nobody = etalon("otcp", "show", "--url", "http://127.0.0.1:1")
    assert nobody.code == 1 and "no controller answers" in nobody.err


def test_a_revoked_token_ends(serve: Callable[..., Running], tmp_path: Path) -> None:
    running = serve(api='lifetime = "5s"')
    running.publish(tree())
    events = running.listen()
    assert events.next()["event"] == "routes"
    (tmp_path / "tokens.toml").write_text(f'[operators]\nalice = "{OPERATOR}"\n')
    seen = [events.next() for _ in range(2)]
    assert {} in seen
    assert running.ask("/v1/hosts/h1-1/routes", HOST)[0] == 401
    events.close()


@pytest.mark.parametrize(
    ("text", "mode", "sentence"),
    [
        ('[hosts]\nh1 = "short"', 0o600, "16 characters"),
        ("[hosts]\nh1 = 5", 0o600, "a token is text"),
        ('[hosts]\nh1 = "sha256:12"', 0o600, "64 hexadecimal digits"),
        ('[guests]\nh1 = "0123456789abcdef"', 0o600, "tables are"),
        (f'[hosts]\na = "{HOST}"\nb = "{HOST}"', 0o600, "twice"),
        (f'[hosts]\na = "{HOST}"', 0o644, "chmod"),
        ("[hosts", 0o600, "no TOML"),
    ],
)
def test_a_bad_tokens_file_gets_a_sentence(
    tmp_path: Path, text: str, mode: int, sentence: str
) -> None:
    file = tmp_path / "tokens.toml"
    file.write_text(text)
    file.chmod(mode)
    with pytest.raises(PlanError, match=sentence):
        Tokens(file)


def test_the_mode_is_that_of_the_file_that_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another file takes the name just before it is opened."""
    file, other = tmp_path / "tokens.toml", tmp_path / "other.toml"
    for path, mode in ((file, 0o600), (other, 0o644)):
        path.write_text(f'[hosts]\na = "{HOST}"')
        path.chmod(mode)
    opened = Path.open

    def late(self: Path, *arguments: Any) -> Any:
        other.replace(file)
        return opened(self, *arguments)

    monkeypatch.setattr(Path, "open", late)
    with pytest.raises(PlanError, match="chmod"):
        Tokens(file)


def test_a_hashed_token_is_known(tmp_path: Path) -> None:
    token, hashed = make()
    file = tmp_path / "tokens.toml"
    file.write_text(f'[hosts]\nh1 = "{hashed}"')
    file.chmod(0o600)
    found = Tokens(file).who(token)
    assert found is not None and found.name == "h1" and not found.operator


def test_a_rate_gives_back_with_time() -> None:
    now = [0.0]
    rate = Rate(60, 60.0, lambda: now[0])
    assert [rate.wait_s("a") for _ in range(60)] == [0.0] * 60
    assert rate.wait_s("a") == pytest.approx(1.0)
    now[0] = 1.0
    assert rate.wait_s("a") == 0.0


def test_tls_is_mutual_if_wanted(serve: Callable[..., Running], tmp_path: Path) -> None:
    need_module("cryptography", "otcp")
    from etalon_otcp.demo.authority import Authority

    ca = Authority(tmp_path, "ca")
    ca.sign("server", "server", addresses=("127.0.0.1",))
    ca.sign("client", "client")
    running = serve(api='certificate = "server.pem"\nkey = "server.key"\nclient_ca = "ca.pem"')
    running.publish(tree())
    context = ssl.create_default_context(cafile=tmp_path / "ca.pem")

    def ask() -> int:
        connection = http.client.HTTPSConnection(
            "127.0.0.1", running.port, timeout=20, context=context
        )
        connection.request(
            "GET", "/v1/hosts/h1-1/routes", headers={"Authorization": f"Bearer {HOST}"}
        )
        status = connection.getresponse().status
        connection.close()
        return status

    with pytest.raises((ssl.SSLError, ConnectionError)):
        ask()
    context.load_cert_chain(tmp_path / "client.pem", tmp_path / "client.key")
    assert ask() == 200


def test_a_slow_second_request_is_dropped(
    serve: Callable[..., Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A byte now and then keeps no connection, whether it asked something before or not."""
    monkeypatch.setattr(server, "SLOW_S", 0.5)
    running = serve()
    with socket.create_connection(("127.0.0.1", running.port), timeout=20) as slow:
        slow.sendall(b"GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert slow.recv(4096).startswith(b"HTTP/1.1 200")
        began = time.monotonic()
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            for byte in b"GET /v1/health HTTP/1.1\r\n" * 100:
                slow.sendall(bytes([byte]))
                time.sleep(0.05)
                assert time.monotonic() - began < 4, "it is still there"


def test_one_address_cannot_take_all_connections(serve: Callable[..., Running]) -> None:
    running = serve(api="connections_of_one = 20")
    running.publish(tree(racks=2, hosts=1))
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            mute = stack.enter_context(socket.create_connection(("127.0.0.1", running.port)))
            mute.sendall(b"GET /v1/health HTTP/1.1\r\nHost:")
        with socket.create_connection(("127.0.0.1", running.port), timeout=20) as another:
            assert another.recv(4096).startswith(b"HTTP/1.1 429 ")
        elsewhere = ("127.0.0.2", 0)
        with socket.create_connection(
            ("127.0.0.1", running.port), timeout=20, source_address=elsewhere
        ) as agent:
            agent.sendall(b"GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n")
            assert agent.recv(4096).startswith(b"HTTP/1.1 200")
    until(lambda: not len(running.service.connections))


def test_a_slow_disk_holds_nobody_up(serve: Callable[..., Running]) -> None:
    """A hold and a release are on disk before they are answered; others are answered meanwhile."""
    running, begun, go_on = serve(), threading.Event(), threading.Event()

    def release() -> None:
        begun.set()
        go_on.wait(20)

    running.controller.release = release  # type: ignore[method-assign]
    statuses: list[int] = []
    asking = threading.Thread(
        target=lambda: statuses.append(running.ask("/v1/rollout/release", method="POST")[0])
    )
    asking.start()
    assert begun.wait(20)
    assert running.ask("/v1/health", None)[0] == 200 and not statuses
    go_on.set()
    asking.join(20)
    assert statuses == [200]


def test_strangers_who_are_idle_shut_nobody_out(serve: Callable[..., Running]) -> None:
    """From other addresses, who have asked something or not; a stream goes on."""
    running = serve(api="connections = 20")
    running.publish(tree(racks=2, hosts=1))
    stream = running.listen()
    assert stream.next()["event"] == "routes"
    with contextlib.ExitStack() as stack:
        for number in range(19):
            mute = stack.enter_context(
                socket.create_connection(
                    ("127.0.0.1", running.port), 20, (f"127.0.0.{2 + number % 3}", 0)
                )
            )
            if number % 2:
                mute.sendall(b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n")
                assert mute.recv(4096).startswith(b"HTTP/1.1 404")
        until(lambda: len(running.service.connections) == 20)
        until(lambda: running.ask("/v1/hosts/h1-1/routes", HOST)[0] == 200)
        assert all(running.ask("/v1/health", OPERATOR)[0] == 200 for _ in range(5))
        running.publish(tree(racks=2, hosts=1, upper_us=(900, 990)))
        assert stream.next()["event"] == "routes"
    stream.close()
    until(lambda: not len(running.service.connections))
    assert not running.service.connections._idle and not running.service.connections._idle_of


def test_a_body_is_not_read(serve: Callable[..., Running]) -> None:
    running = serve()
    with socket.create_connection(("127.0.0.1", running.port), timeout=20) as talker:
        head = b"POST /v1/measure HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        talker.sendall(head)
        assert talker.recv(4096).startswith(b"HTTP/1.1 413")
        body = b"10000\r\n" + b"[" * 65536 + b"\r\n"
        with pytest.raises(OSError, match=r"Broken pipe|reset"):
            talker.sendall(body * 2000)


def test_the_network_of_another_file_is_the_one_that_is_seen(
    tmp_path: Path, serve: Callable[..., Any], etalon: Callable[..., Any]
) -> None:
    """The same file changes nothing; a bound and a rate do what they do."""
    served = serve()
    network = tree()
    served.publish(network)
    token = tmp_path / "operator"
    token.write_text(OPERATOR)
    where = ("--url", f"http://127.0.0.1:{served.port}", "--token-file", str(token))
    text = f'[network]\nqueue = "90kB"\nrate = "1Gbps"\n{tables_of(network)}'
    file = tmp_path / "other.toml"
    file.write_text(text)
    assert etalon("otcp", "diff", str(file), *where).out == "no host would be told anything else\n"
    file.write_text('[bounds]\nrto_min = ["5ms", "1s"]\n' + text)
    changed = etalon("otcp", "diff", str(file), *where).out
    assert "rto_min_us 1000 -> 5000" in changed and "rto_min_us 2000 -> 5000" in changed
    assert changed.endswith("4 hosts\n")
    assert etalon("otcp", "diff", *where).out == "no host would be told anything else\n"
    refused = etalon("otcp", "hold", *where)
    assert refused.code == 1 and "rollout.canary" in refused.err


@pytest.mark.slow
@pytest.mark.alone
def test_ten_thousand_agents_listen(
    serve: Callable[..., Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From forty addresses of this machine, in a process of their own; all for one host, which may have so many here."""
    monkeypatch.setattr(events, "MOST_STREAMS", 20_000)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    need(hard >= 12_000, "room for 12,000 descriptors", "ulimit -Hn 12000")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    running = serve(api="requests_per_minute = 1000000")
    running.publish(tree(racks=2, hosts=1))
    with subprocess.Popen(
        [sys.executable, "-c", AGENTS, str(running.port), "10000", HOST],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as agents:  # fmt: skip
        assert agents.stdout is not None and agents.stdin is not None
        assert agents.stdout.readline() == "10000 listen\n"
        assert running.service.hub.count() == 10_000
        assert running.ask("/v1/health", OPERATOR)[0] == 200, "operators still get through"
        running.publish(tree(racks=2, hosts=1, upper_us=(900, 990)))
        assert agents.stdout.readline() == "10000 heard\n"
        agents.stdin.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


AGENTS = """
import resource, selectors, socket, sys
port, number, token = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
head = f"GET /v1/hosts/h1-1/events HTTP/1.1\\r\\nHost: x\\r\\nAuthorization: Bearer {token}\\r\\n\\r\\n".encode()
all, begun = selectors.DefaultSelector(), set()
def wait(count, what):
    seen = set()
    while len(seen) < count:
        for key, _ in all.select(60):
            data = key.fileobj.recv(1 << 16)
            assert data and (key.fd in begun or data.startswith(b"HTTP/1.1 200")), data[:200]
            begun.add(key.fd)
            if b"data:" in data:
                seen.add(key.fd)
    print(len(seen), what, flush=True)
for at in range(number):
    agent = socket.create_connection(("127.0.0.1", port), source_address=(f"127.0.1.{at // 250 + 1}", 0))
    agent.sendall(head)
    all.register(agent, selectors.EVENT_READ)
wait(number, "listen")
wait(number, "heard")
sys.stdin.read()
"""
