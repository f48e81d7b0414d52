# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a real ovsdb-server says of ports, and counted flows as alpha."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from networks import tree
from openvswitch import database

from etalon_otcp import ovsdb, paths
from etalon_otcp.config import Config
from etalon_otcp.controller import Controller
from etalon_otcp.network import PortId, Source
from etalon_otcp.paths import Policy
from etalon_otcp.routes import Routes
from etalon_otcp.topology import Given, PortDescription, Topology


def test_rates_and_queues_of_a_real_database(tmp_path: Path) -> None:
    with database(tmp_path) as real:
        _rates_and_queues(real.remote, real.write)


def _rates_and_queues(remote: str, vsctl: Callable[..., str]) -> None:
    assert ovsdb.ask(remote) == {}
    vsctl("add-br", "t1", "--", "set", "bridge", "t1", 'datapath_id="00000000000000ab"')
    for port in ("shaped", "netem", "told", "plain"):
        vsctl("add-port", "t1", port)
    shaped = ["--id=@q", "create", "qos", "type=linux-htb", "other-config:max-rate=100000000"]
    queue = ["--id=@0", "create", "queue", "other-config:max-rate=50000000"]
    vsctl("set", "port", "shaped", "qos=@q", "--", *shaped, "queues:0=@0", "--", *queue)
    netem = ["--id=@q", "create", "qos", "type=linux-netem", "other-config:limit=60"]
    vsctl("set", "port", "netem", "qos=@q", "--", *netem)
    vsctl("set", "port", "told", f"external_ids:{ovsdb.QUEUE_KEY}=123456")
    assert ovsdb.ask(remote) == {
        (0xAB, "shaped"): Given(rate_bps=50_000_000),
        (0xAB, "netem"): Given(queue_bytes=90_000),
        (0xAB, "told"): Given(queue_bytes=123_456),
    }


def test_a_database_that_is_not_there_gets_a_sentence(tmp_path: Path) -> None:
    for remote in (f"unix:{tmp_path}/none.sock", "tcp:127.0.0.1:1", "smoke:signals"):
        with pytest.raises(ovsdb.Unreachable, match=remote):
            ovsdb.ask(remote)


def test_the_order_of_sources() -> None:
    """The operator's word for a port; else the slowest of what is told; else the word for all."""
    words = {("t1", "p1"): Given(rate_bps=7)}
    topology = Topology({}, words, Given(rate_bps=10**6, queue_bytes=90_000))
    ports = [PortDescription(n, f"p{n}", True, 10**9 if n < 4 else None) for n in (1, 2, 3, 4)]
    topology.switch_up("t1", ports, 1.0)
    topology.queue_rate(PortId("t1", 2), 5 * 10**8, 2.0)
    topology.ovsdb({("t1", "p3"): Given(rate_bps=10**8, queue_bytes=5)}, 3.0)
    found = topology.network().ports
    rates = {
        place.number: (port.rate_bps.value, port.rate_bps.source)
        for place, port in found.items()
        if port.rate_bps
    }
    assert rates == {
        1: (7, Source.FILE),
        2: (5 * 10**8, Source.QUEUE),
        3: (10**8, Source.OVSDB),
        4: (10**6, Source.FILE),
    }
    queues = {
        place.number: (port.queue_bytes.value, port.queue_bytes.source)
        for place, port in found.items()
        if port.queue_bytes
    }
    assert queues[3] == (5, Source.OVSDB) and queues[1] == (90_000, Source.FILE)


def test_counted_flows_take_alphas_place(tmp_path: Path) -> None:
    file = tmp_path / "controller.toml"
    file.write_text('[tcp]\nalpha = "flows"')
    controller = Controller(Config.load(file))
    port = PortId("t2", 3)
    controller.flows("t2", {port: {"a": 10, "b": 5, "c": 1}})
    controller.flows("t2", {port: {"a": 20, "b": 5, "c": 2}})  # b has sent nothing since
    assert controller.flow_counts() == {port: 2}
    network = tree()
    hosts = network.hosts
    policy = Policy(alpha=1, flows={hosts["h2-1"].port: 51})
    found = paths.between(Routes(network), policy, hosts["h1-1"], hosts["h2-1"])
    assert found.computed.max_cwnd == 102 and found.computed.initial_cwnd == 2
