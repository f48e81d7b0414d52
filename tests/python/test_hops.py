# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tables `hops` and `links`, and what is trimmed and returned, against counts that share nothing with them."""

from __future__ import annotations

from collections import Counter, deque
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import etalon as et
from etalon.errors import PlanError
from etalon.results import hops

NDP = {"kind": "ndp", "payload": "1436B", "header": "64B", "window": 20}
BULK = {"kind": "rotorlb", "payload": "1436B", "header": "64B"}
SIZE = 100_000
PACKETS = -(-SIZE // 1436)
BYTES = SIZE + 64 * PACKETS
"""Of a flow: packets, and their bytes on the wire."""


def circuits(racks: int, hosts: int, switches: int, **more: Any) -> dict[str, Any]:
    return {
        "duration": "40ms",
        "tdf": 1,
        "warmup": 0,
        "network": {
            "kind": "ocs",
            "racks": racks,
            "hosts": hosts,
            "circuits": {"rate": "10Gbps", "delay": "500ns", "switches": switches},
            "queue": {"unlimited": True},
        },
        "measure": {"ports": True, "links": "1ms"},
        **more,
    }


def flow(src: int, dst: int, transport: dict[str, Any], start: int = 0) -> dict[str, Any]:
    return {
        "from": f"r{src}h0",
        "to": f"r{dst}h0",
        "size": f"{SIZE}B",
        "start": f"{start}us",
        "transport": transport,
    }


def between_racks(run: et.Run) -> pl.DataFrame:
    """The ports from ToRs to circuits."""
    return run.ports.filter(
        pl.col("from").str.contains(r"^r\d+$") & ~pl.col("to").str.contains("h")
    )


def far(graph: list[set[int]], src: int, dst: int) -> int:
    """Hops, breadth first."""
    seen, queue = {src: 0}, deque([src])
    while dst not in seen:
        at = queue.popleft()
        for other in graph[at]:
            if other not in seen:
                seen[other] = seen[at] + 1
                queue.append(other)
    return seen[dst]


def test_hops_of_a_graph_are_its_distances() -> None:
    racks = 24
    schedule = {"kind": "static", "graph": "regular"}
    pairs = [(src, (5 * src + 7) % racks) for src in range(racks)]
    pairs = [(src, dst) for src, dst in pairs if src != dst]
    plan = et.Plan.from_dict(
        circuits(
            racks,
            1,
            3,
            schedule=schedule,
            routing={"kind": "ksp", "paths": 1},
            flow=[flow(src, dst, NDP, 200 * n) for n, (src, dst) in enumerate(pairs)],
        )
    )
    net = plan.slices
    assert net is not None
    graph = [{int(peer) for peer in net.peers[0, rack] if peer >= 0} for rack in range(racks)]
    expected = Counter(far(graph, src, dst) for src, dst in pairs)
    run = et.run(plan)
    rows = {row["hops"]: row for row in run.hops.iter_rows(named=True)}
    assert {count: row["packets"] for count, row in rows.items()} == {
        count: PACKETS * flows for count, flows in expected.items()
    }
    assert all(row["bytes"] == BYTES * expected[count] for count, row in rows.items())
    mean = sum(count * flows for count, flows in expected.items()) / len(pairs)
    assert run.bandwidth_tax == pytest.approx(mean - 1)
    (of_class,) = run.hops_by_class().iter_rows(named=True)
    assert (of_class["hops"], of_class["most"]) == (pytest.approx(mean), max(expected))


@pytest.mark.parametrize("most", [1, 2])
def test_rotorlb_takes_one_hop_or_two_and_each_is_counted(most: int) -> None:
    """One pair has something to send, and a packet crosses a port for each hop: RotorLB has no others."""
    plan = et.Plan.from_dict(
        circuits(
            4,
            1,
            2,
            schedule={"kind": "rotor", "slice": "100us", "night": "10us"},
            routing={"kind": "rotorlb", "hops": most},
            flow=[flow(0, 1, BULK)],
        )
    )
    run = et.run(plan)
    assert run.flows["end_ns"][0] > 0
    crossed = int(between_racks(run)["packets"].sum())
    (row,) = run.hops_by_class().iter_rows(named=True)
    assert (row["packets"], row["bytes"]) == (PACKETS, BYTES)
    assert row["hops"] == pytest.approx(crossed / PACKETS)
    relayed = crossed - PACKETS
    assert (relayed > 0) == (most == 2)
    rows = dict(run.hops.select("hops", "packets").rows())
    assert (rows.get(1, 0), rows.get(2, 0)) == (PACKETS - relayed, relayed)
    if most == 1:
        assert run.bandwidth_tax == 0


def test_links_over_time_add_up_to_ports_and_hops() -> None:
    """And VLB takes one hop or two."""
    plan = et.Plan.from_dict(
        circuits(
            8,
            2,
            2,
            warmup="3ms",
            schedule={"kind": "rotor", "slice": "100us", "night": "10us"},
            routing={"kind": "vlb"},
            bulk=[{"from": 0, "to": 3}, {"from": 2, "to": 5}],
        )
    )
    run = et.run(plan)
    assert set(run.hops["hops"]) == {1, 2}
    links = run.links
    uplinks, to_hosts = (links.filter(pl.col("links") == name) for name in ("uplinks", "to hosts"))
    assert uplinks["t_ns"].to_list() == [1_000_000 * at for at in range(3, 40)]
    # Ports count what has been transmitted, links what has begun.
    passed = int(between_racks(run)["bytes"].sum())
    assert abs(int(uplinks["bytes"].sum()) - passed) <= 16 * 1514
    assert to_hosts["bytes"].sum() == run.hops["bytes"].sum()
    used = 8 * uplinks["bytes"].to_numpy() / (8 * 2 * 10e9 * 1e-3)
    assert np.allclose(used, uplinks["utilization"].to_numpy())
    received = 8 * to_hosts["bytes"].to_numpy() / (8 * 2 * 10e9 * 1e-3)
    assert np.allclose(received, to_hosts["utilization"].to_numpy())
    # Of each data packet that arrived its sender sent one, and each acknowledgement leaves a host, too.
    from_hosts = links.filter(pl.col("links") == "from hosts")
    sent = 8 * from_hosts["bytes"].to_numpy() / (8 * 2 * 10e9 * 1e-3)
    assert np.allclose(sent, from_hosts["utilization"].to_numpy())
    arrived = int(to_hosts["bytes"].sum())
    assert arrived < from_hosts["bytes"].sum() < 1.1 * arrived
    assert used.max() < 0.9 + 16 * 1514 * 8 / (8 * 2 * 10e9 * 1e-3)


def test_the_packet_network_is_no_uplink() -> None:
    keys = circuits(4, 1, 2, schedule={"kind": "rotor", "slice": "100us", "night": "10us"})
    keys["network"]["packet"] = {"rate": "10Gbps", "delay": "1us"}
    run = et.run(
        et.Plan.from_dict(keys | {"routing": {"kind": "packet"}, "bulk": [{"from": 0, "to": 1}]})
    )
    sums = dict(run.links.group_by("links").agg(pl.col("bytes").sum()).rows())
    assert sums["to hosts"] > 1e6 and not sums["uplinks"]


@pytest.mark.parametrize("full", [{"trim": "64B"}, {"returns": True}])
def test_what_is_trimmed_or_returned_is_what_senders_repeat(full: dict[str, Any]) -> None:
    """Eleven send to one of their rack, over one queue: each packet that lost its payload, or its place, is sent once more."""
    flows = [{**flow(0, 0, NDP), "from": f"r0h{host}"} for host in range(1, 12)]
    plan = et.Plan.from_dict(
        circuits(
            2,
            12,
            1,
            schedule={"kind": "static", "graph": "regular"},
            routing={"kind": "ksp", "paths": 1},
            flow=flows,
        )
    ).replace({"network.queue": {"packets": 8, **full}})
    run = et.run(plan)
    assert (run.flows["end_ns"] > 0).all()
    trimmed, returned = (int(run.pairs[name].sum()) for name in ("trimmed", "returned"))
    assert trimmed + returned == run.flows["retransmits"].sum() > 0
    assert (returned > 0) == ("returns" in full)


def test_hops_and_tax_of_two_classes_by_hand() -> None:
    """Ten packets of 1,500 B, three of them by a relay; two of 100 B over three hops; five that stayed in their rack."""
    table = pl.DataFrame(
        {
            "class": ["low", "low", "bulk", "bulk"],
            "hops": [0, 3, 1, 2],
            "packets": [5, 2, 7, 3],
            "bytes": [500, 200, 10_500, 4500],
        }
    )
    low, bulk = hops.by_class(table).iter_rows(named=True)
    assert (low["packets"], low["hops"], low["most"], low["tax"]) == (2, 3, 3, 2)
    assert (bulk["packets"], bulk["bytes"], bulk["hops"]) == (10, 15_000, 1.3)
    assert bulk["tax"] == pytest.approx(0.3)
    assert hops.tax(table) == pytest.approx((10_500 + 2 * 4500 + 600) / 15_200 - 1)
    assert hops.tax(table.filter(pl.col("hops") == 0)) is None


def test_tables_come_back_from_a_folder(tmp_path: Path) -> None:
    plan = et.Plan.from_dict(
        circuits(
            4,
            1,
            2,
            schedule={"kind": "rotor", "slice": "100us", "night": "10us"},
            routing={"kind": "rotorlb"},
            flow=[flow(0, 1, BULK)],
        )
    )
    run = et.run(plan)
    run.save(tmp_path / "run")
    back = et.Run.load(tmp_path / "run")
    assert back.hops.equals(run.hops) and back.links.equals(run.links)
    assert back.bandwidth_tax == run.bandwidth_tax


def test_only_circuits_have_links_over_time() -> None:
    with pytest.raises(PlanError, match="links can be followed"):
        et.run(et.Plan.from_dict({"measure": {"links": "1ms"}, "bulk": [{"from": 0, "to": 1}]}))
