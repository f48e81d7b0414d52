# SPDX-License-Identifier: MIT OR Apache-2.0
"""Leaf-spine networks, end to end in the simulator."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import etalon as et
from etalon.errors import PlanError
from etalon.plan.network.switched import Upper


def plan(*flows: dict[str, Any], network: dict[str, Any] | None = None, **more: Any) -> et.Plan:
    leaf_spine = {
        "kind": "leaf-spine",
        "racks": 3,
        "hosts": 8,
        "rack": ["1Gbps", "100us", 60],
        "spine": {"rate": "1Gbps", "delay": "200us", "queue": 60, "switches": 2},
        "host": {"jitter": "0ns"},
        **(network or {}),
    }
    base = {"tdf": 1, "duration": "500ms", "warmup": "0ms", "end_when_done": True}
    return et.Plan.from_dict({**base, "network": leaf_spine, "flow": list(flows), **more})


def flow(src: str, dst: str, size: str = "1kB") -> dict[str, Any]:
    return {"from": src, "to": dst, "size": size, "cc": "reno"}


@pytest.mark.parametrize(("dst", "one_way_us", "hops"), [("r0h1", 200, 2), ("r1h0", 600, 4)])
def test_a_small_flow_takes_one_and_a_half_round_trips(
    dst: str, one_way_us: int, hops: int
) -> None:
    run = et.run(plan(flow("r0h0", dst)))
    expected = 3 * one_way_us + hops * (74 + 74 + 1066) * 8 / 1000 + 66 * 8 / 1000
    assert run.fct()["fct_us"][0] == pytest.approx(expected, abs=0.1)


def test_spines_share_what_leaves_send() -> None:
    """Sixteen flows over four spines: each carries some, and all of it together."""
    flows = [flow(f"r0h{host}", f"r{rack}h{host}", "200kB") for host in range(8) for rack in (1, 2)]
    network = {"spine": {"rate": "1Gbps", "delay": "200us", "queue": 60, "switches": 4}}
    run = et.run(plan(*flows, network=network, measure={"ports": True}))
    up = run.ports.filter((pl.col("from") == "r0") & pl.col("to").str.starts_with("s"))
    assert up.height == 4
    assert (up["packets"].to_numpy() > 0).all()
    payload = run.total("pairs", "packet_payload_bytes")
    assert payload <= int(up["bytes"].sum()) < 1.2 * payload


def test_a_failed_link_is_gone_around() -> None:
    flows = [flow(f"r0h{host}", f"r1h{host}", "500kB") for host in range(8)]
    failure = [{"link": ["r0", "s0"], "from": "5ms"}]
    run = et.run(plan(*flows, network={"failure": failure, "reroute": "3ms"}, duration="30s"))
    assert run.total("pairs", "dropped_link") > 0
    assert run.fct()["fct_us"].null_count() == 0


def test_tcp_differs_by_layer() -> None:
    path = [{"layer": "spine", "max_cwnd": 4, "initial_cwnd": 2}]
    flows = [flow("r0h0", "r0h1", "300kB"), flow("r0h2", "r2h0", "300kB")]
    within, across = et.run(plan(*flows, tcp={"path": path})).flows["cwnd"].to_list()
    assert across == 4
    assert within > 10
    otcp = plan(*flows, tcp={"otcp": True}).resolve()["tcp"]["by_distance"]
    assert otcp[1] == otcp[2] != otcp[0]


@pytest.mark.parametrize(
    ("network", "tcp", "sentence"),
    [
        (
            {"failure": [{"link": ["r0", "s2"], "from": "1ms"}]},
            {},
            'network.failure.0.link: there is no link from "r0" up to "s2"; one is ["r0", "s0"]',
        ),
        (
            {},
            {"path": [{"layer": "core"}]},
            'tcp.path.0.layer: "core" is not a layer of this network, which has "rack" and "spine"',
        ),
        (
            {"pods": 2},
            {},
            'network.pods: only a network of kind "tree" takes this key, not one of kind "leaf-spine"',
        ),
    ],
)
def test_what_is_wrong_is_said(network: dict[str, Any], tcp: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PlanError) as error:
        plan(flow("r0h0", "r1h0"), network=network, tcp=tcp)
    assert sentence in str(error.value)


def test_what_a_layer_does_not_say_is_as_without_it() -> None:
    """Each kind of network has its own defaults for each layer, which a plan that says one key of a layer keeps."""
    links = et.Plan.from_dict({"network": {"kind": "leaf-spine"}}).network
    changed = et.Plan.from_dict(
        {"network": {"kind": "leaf-spine", "spine": {"switches": 4}, "rack": ["25Gbps"]}}
    ).network
    assert (changed.spine.rate, changed.spine.delay) == (links.spine.rate, links.spine.delay)
    assert (changed.spine.switches, changed.rack.rate) == (4, 25 * 10**9)
    assert changed.rack.delay == links.rack.delay == 1000
    read = et.Plan.from_dict({"network": {"kind": "leaf-spine", "spine": Upper(switches=4)}})
    assert read.network.spine == read.replace({}).network.spine == changed.spine
    tree = et.Plan.from_dict({"network": {"kind": "tree", "core": {"queue": 10}}}).network
    assert (tree.core.delay, tree.core.queue) == (1_000_000, 10)
    with pytest.raises(PlanError, match=r"network\.spine"):
        et.Plan.from_dict({"network": {"kind": "leaf-spine", "spine": [1, 2, 3, 4, 5, 6]}})


def test_a_digest_tells_which_spines_a_flow_and_its_acks_take() -> None:
    four = {"racks": 2, "hosts": 1, "spine": {"switches": 4}}
    one = plan(flow("r0h0", "r1h0", "100kB"), network=four, measure={"ports": True})
    digests: dict[tuple[str, str], set[str]] = {}
    for seed in range(1, 7):
        run = et.run(one.replace({"seed": seed}))
        up = run.ports.filter(pl.col("to").str.starts_with("s") & (pl.col("packets") > 0))
        forth, back = up.sort("from")["to"]
        digests.setdefault((forth, back), set()).add(run.meta["digest"])
    assert len(digests) > 1
    assert all(len(found) == 1 for found in digests.values()), "the same way, the same digest"
    assert len(set.union(*digests.values())) == len(digests)
