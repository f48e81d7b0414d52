# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the demonstration shows, step by step, on standard output; and the numbers of it."""

from __future__ import annotations

import http.client
import json
import os
import re
import ssl
import statistics
import subprocess
import threading
import time
from collections.abc import Callable
from ipaddress import ip_address, ip_network
from typing import Any

from etalon.errors import EtalonError
from etalon_otcp import explain
from etalon_otcp.client import Client
from etalon_otcp.delays import Statistic
from etalon_otcp.demo import credentials, network, summary
from etalon_otcp.demo.layout import Host, Layout
from etalon_otcp.demo.outside import PYTHON
from etalon_otcp.demo.parts import Part, prepare, run
from etalon_otcp.demo.stage import FOLDER, Stage

PATIENCE_S = 90.0
PORT = 7000
SERVER = """
import socket, threading
def serve(connection):
    while connection.recv(1 << 16): pass
listening = socket.create_server(("", 7000), backlog=100)
while True:
    threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()
"""
CLIENT = """
import socket, subprocess, sys, time
began = time.monotonic()
while True:
    try:
        connection = socket.create_connection((sys.argv[1], 7000), 30)
        break
    except ConnectionRefusedError:  # the server is still starting
        if time.monotonic() > began + 30: raise
        time.sleep(0.05)
own = f"sport = :{connection.getsockname()[1]}"  # an earlier connection may still be closing
def look():
    print(subprocess.run(["ss", "-tinH", own], capture_output=True, text=True).stdout.replace("\\n", " "))
look()
connection.sendall(bytes(200_000))
time.sleep(0.3)
look()
"""
FIELDS = ("rto", "rtt", "cwnd", "ssthresh", "minrtt", "retrans")


def tell(stage: Stage) -> dict[str, Any]:
    """Shows everything; returns the numbers. Raises EtalonError where something does not come about."""
    layout = stage.layout
    client = _client()
    told: dict[str, Any] = {}
    _say(
        f"1. Network: {len(layout.switches)} switches, {len(layout.hosts)} hosts, {len(layout.cables)} links"
    )
    told["delays"] = _measured(client, layout)
    told["rtts"] = _round_trips(client, stage)
    if stage.settings["delays"]:
        return told
    servers = [_server(stage, host.name) for host in layout.hosts]
    near, far = (host.name for host, _ in list(layout.peers().values())[:2])
    told["without"] = _connections(stage, near, far, "2. Connections of h1 without OTCP")
    _say("3. Agents start")
    stage.start_agents()
    applied = stage.agents.wait(0, PATIENCE_S)
    _need(len(applied) == len(layout.hosts), "not all agents have applied their routes")
    told["served"] = _served(client, layout, near, far)
    told["with"] = _connections(stage, near, far, "4. Connections of h1 with OTCP")
    told["failures"] = [_failure(stage) for _ in range(stage.settings["failures"])]
    told["restart"] = _restart(stage, client)
    for server in servers:
        server.kill()
    told["counters"] = _counters(client)
    told["summary"] = summary.of(told)
    _say("7. In short")
    load = None if stage.settings["emulated"] else os.getloadavg()[0]
    for line in summary.lines(told["summary"], len(layout.hosts), load):
        _say(f"   {line}")
    _say("8. The end: agents put back what they set; all the rest goes with the namespaces")
    return told


def _measured(client: Client, layout: Layout) -> list[dict[str, Any]]:
    """Each link's delay, as configured and as the controller measured it."""
    began = time.monotonic()
    links = 2 * len(layout.cables) - len(layout.hosts)

    def measured() -> bool:
        return not client.get("/v1/measure")["running"] and len(client.get("/v1/links")) == links

    _until(measured, "the controller has not found and measured all links")
    _say(f"   links and hosts found and measured after {time.monotonic() - began:.1f} s")
    configured = _configured(layout)
    names = _port_names(client)
    found = []
    _say(f"   {'link':<16}{'configured':>12}{'measured':>12}{'error':>10}")
    for link in client.get("/v1/links"):
        name = names[link["source"]]
        delay, true = link["delay_us"]["value"], configured[name]
        found.append({"link": name, "configured_us": true, "measured_us": delay})
        _say(f"   {name:<16}{true:>9} us{delay:>z9.0f} us{delay - true:>+z7.0f} us")
    return found


def _configured(layout: Layout) -> dict[str, int]:
    return {device: cable.delay_us for cable in layout.cables for _, device in cable.ends}


def _port_names(client: Client) -> dict[str, str]:
    """Names of ports by `switch:number`."""
    switches = client.get("/v1/topology")["switches"]
    return {f"{s['name']}:{p['number']}": p["name"] for s in switches for p in s["ports"]}


def _round_trips(client: Client, stage: Stage) -> list[dict[str, Any]]:
    """As in figure 4: configured, by ICMP, by OTCP; by both the statistic that the controller takes of as many samples."""
    found = []
    count, statistic = stage.settings["samples"], stage.settings["statistic"]
    _say(f"   {'round trip':<16}{'configured':>12}{'ICMP':>12}{'OTCP':>12}")
    for layer, (host, configured_us) in stage.layout.peers().items():
        row = {
            "to": host.name,
            "layer": layer,
            "configured_us": configured_us,
            "icmp_us": _ping(host, count, statistic),
            "otcp_us": client.get(f"/v1/pairs/h1/{host.name}")["inputs"]["rtt_us"],
        }
        found.append(row)
        values = "".join(f"{row[key]:>9.0f} us" for key in ("configured_us", "icmp_us", "otcp_us"))
        _say(f"   h1 - {host.name:<11}{values}")
    return found


def _ping(host: Host, count: int, statistic: str) -> float:
    """A statistic of so many round trips from h1, in us."""
    ping = ["nsenter", "--net=/run/netns/h1", "ping", "-i", "0.02", host.address]

    def times(count: int) -> list[int]:
        done = subprocess.run(
            [*ping, "-c", str(count)],
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=lambda: prepare(True, None),
        )
        return [round(float(ms) * 1000) for ms in re.findall(r" time=([\d.]+) ms", done.stdout)]

    times(2)  # switches have seen the flow, and hosts each other
    found = times(count)
    _need(len(found) > count // 2, f"{host.name} does not answer ping")
    return Statistic(statistic).of(found)


def _served(client: Client, layout: Layout, near: str, far: str) -> dict[str, Any]:
    """Shows what h1 is told. What it is told of each of the two."""
    document = client.get("/v1/hosts/h1/routes")
    _say(f"   served to h1: version {document['version']}")
    for route in document["routes"]:
        values = ", ".join(f"{name} {value}" for name, value in route.items() if name != "prefix")
        _say(f"   {route['prefix']:<16}{values}")
    _say("   h1's routes:")
    for line in run("ip", "-n", "h1", "route").splitlines():
        if "rto_min" in line:
            _say(f"     {line.strip()}")
    _say(f"   and why h1 gets these values for {far}, as `etalon otcp explain h1 {far}` has it:")
    explained = "\n".join(explain.text(client.get(f"/v1/pairs/h1/{far}")))
    for line in filter(None, explained.splitlines()):
        _say(f"     {line}")
    networks = {ip_network(route["prefix"]): route for route in document["routes"]}
    found = {}
    for host in layout.hosts:
        if host.name in (near, far):
            around = [network for network in networks if ip_address(host.address) in network]
            found[host.name] = networks[max(around, key=lambda network: network.prefixlen)]
    return found


def _server(stage: Stage, host: str) -> Part:
    words = ["nsenter", f"--net=/run/netns/{host}", *PYTHON, "-c", SERVER]
    return Part(f"server on {host}", words, stage.logs / "servers.log", cgroup=stage.cgroup(host))


def _connections(stage: Stage, near: str, far: str, title: str) -> dict[str, list[dict[str, str]]]:
    """What `ss -ti` says of a connection to each, when it opens and after 200 kB."""
    _say(title)
    addresses = {host.name: host.address for host in stage.layout.hosts}
    cgroup, found = stage.cgroup("h1"), {}
    for name in (near, far):
        words = ["nsenter", "--net=/run/netns/h1", *PYTHON, "-c", CLIENT, addresses[name]]
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=lambda: prepare(False, cgroup),
        )
        looks = [_fields(line) for line in done.stdout.splitlines() if line.strip()]
        _need(len(looks) == 2, f"h1 cannot send to {name}: {done.stderr.strip()[-200:]}")
        found[name] = looks
        for moment, look in zip(("open", "200 kB"), looks, strict=True):
            values = " ".join(f"{key}:{value}" for key, value in look.items())
            _say(f"   h1 > {name} {moment:<7}{values}")
    return found


def _fields(line: str) -> dict[str, str]:
    found = dict(re.findall(r"(?<![\w-])([a-z]+):(\S+)", line))
    return {name: found[name] for name in FIELDS if name in found}


def _failure(stage: Stage) -> dict[str, Any]:
    """The link that h1's rack uses goes down and comes back: how long until served, and applied."""
    link, result = "t1-a1", {}
    for up in (False, True):
        listener = Listener()
        began = time.monotonic_ns()
        stage.cabling.plug(link, up)
        served = listener.wait(PATIENCE_S)
        applied = stage.agents.wait(began, 10.0)
        listener.close()
        _need(
            len(applied) == len(stage.layout.hosts),
            f"after {link} changed not all hosts have applied it",
        )
        times = sorted((at - began) / 1e6 for at in applied.values())
        p95 = summary.nearest_rank(times, 95)
        result["up" if up else "down"] = {"served_ms": (served - began) / 1e6, "applied_ms": times}
        _say(
            f"{'   ' if up else '5. '}{link} {'up' if up else 'down'}: served after {(served - began) / 1e6:.1f} ms, "
            f"applied by {len(times)} hosts after {statistics.median(times):.1f} ms (median), {p95:.1f} ms (p95)"
        )
        time.sleep(1.0)
    return result


def _restart(stage: Stage, client: Client) -> dict[str, Any]:
    """The controller is killed and started again: hosts keep what they have, then hear from the new one."""
    before = client.get("/v1/hosts/h1/routes")
    stage.kill_controller()
    kept = run("ip", "-n", "h1", "route").count("rto_min")
    _need(kept > 0, "h1 has lost its routes with the controller")
    _say(f"6. The controller is killed; h1 keeps its {kept} routes")
    began = time.monotonic_ns()
    stage.start_controller()

    def whole() -> bool:
        try:
            documents = [client.get(f"/v1/hosts/{host.name}/routes") for host in stage.layout.hosts]
        except EtalonError:
            return False
        return all(
            document["epoch"] > before["epoch"] and len(document["routes"]) > 0
            for document in documents
        )

    _until(whole, "the new controller does not serve all hosts", every_s=0.02)
    state_s = (time.monotonic_ns() - began) / 1e9
    applied = stage.agents.wait(began, PATIENCE_S)
    _need(len(applied) == len(stage.layout.hosts), "not all hosts have heard the new controller")
    applied_s = (max(applied.values()) - began) / 1e9
    _say(
        f"   started again: all hosts served after {state_s:.2f} s, heard by all after {applied_s:.2f} s"
    )
    same = client.get("/v1/hosts/h1/routes")["routes"] == before["routes"]
    _say(f"   h1's routes are {'the same' if same else 'others'} without a new measurement")
    return {"served_s": state_s, "heard_s": applied_s, "same": same}


def _counters(client: Client) -> dict[str, int]:
    found = re.findall(r'frames_total\{what="(\w+)"\} (\d+)', client.text("/metrics"))
    return {name: int(count) for name, count in found}


class Listener:
    """Hears of h1's next document, as an operator."""

    def __init__(self) -> None:
        context = ssl.create_default_context(cafile=FOLDER / "ca.pem")
        self._connection = http.client.HTTPSConnection(
            network.CONTROL, network.API_PORT, context=context, timeout=PATIENCE_S
        )
        token = (FOLDER / f"{credentials.OPERATOR}.token").read_text()
        self._connection.request(
            "GET", "/v1/hosts/h1/events", headers={"Authorization": f"Bearer {token}"}
        )
        self._answer = self._connection.getresponse()
        self._heard: list[int] = []
        self._news = threading.Event()
        self._version = self._next()
        threading.Thread(target=self._listen, daemon=True).start()

    def wait(self, patience_s: float) -> int:
        """When the next document came (monotonic ns). Raises EtalonError if none comes."""
        _need(self._news.wait(patience_s), "the controller publishes nothing")
        return self._heard[0]

    def close(self) -> None:
        """Stops listening."""
        self._connection.close()

    def _next(self) -> int:
        while line := self._answer.readline():
            if line.startswith(b"data:"):
                return int(json.loads(line[5:])["version"])
        return 0

    def _listen(self) -> None:
        try:
            while (version := self._next()) and version <= self._version:
                continue
        except (OSError, ValueError, AttributeError):
            return
        self._heard.append(time.monotonic_ns())
        self._news.set()


def _client() -> Client:
    url = f"https://{network.CONTROL}:{network.API_PORT}"
    return Client(url, FOLDER / f"{credentials.OPERATOR}.token", FOLDER / "ca.pem")


def _until(condition: Callable[[], bool], complaint: str, every_s: float = 0.3) -> None:
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            if condition():
                return
        except EtalonError:
            pass  # it does not answer yet
        _need(time.monotonic() < end, complaint)
        time.sleep(every_s)


def _need(good: bool, complaint: str) -> None:
    if not good:
        raise EtalonError(complaint)


def _say(line: str) -> None:
    print(line, flush=True)
