# SPDX-License-Identifier: MIT OR Apache-2.0
"""Trees, end to end on both engines."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import etalon as et
from conftest import need_kernel
from etalon.errors import PlanError


@pytest.fixture(params=["sim", "linux"])
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "linux":
        need_kernel()
    return str(request.param)


def plan(*flows: dict[str, Any], network: dict[str, Any] | None = None, **more: Any) -> et.Plan:
    tree = {"kind": "tree", "host": {"jitter": "0ns"}, **(network or {})}
    base = {"tdf": 1, "duration": "500ms", "warmup": "0ms", "end_when_done": True}
    return et.Plan.from_dict({**base, "network": tree, "flow": list(flows), **more})


def flow(src: str, dst: str, size: str = "1kB", **more: Any) -> dict[str, Any]:
    return {"from": src, "to": dst, "size": size, "cc": "reno", **more}


@pytest.mark.parametrize(
    ("dst", "one_way_us", "hops"), [("r0h1", 200, 2), ("r1h0", 600, 4), ("r2h0", 2600, 6)]
)
def test_a_small_flow_takes_one_and_a_half_round_trips(
    dst: str, one_way_us: int, hops: int, engine: str
) -> None:
    """SYN, SYN-ACK and data are stored and forwarded at every hop, 74, 74 and 1066 bytes at 1 Gb/s; the ACK of 66
    bytes goes before the data."""
    run = et.run(plan(flow("r0h0", dst)), engine=engine)
    expected = 3 * one_way_us + hops * (74 + 74 + 1066) * 8 / 1000 + 66 * 8 / 1000
    assert run.fct()["fct_us"][0] == pytest.approx(expected, abs=0.1)


def test_a_port_is_shared_and_full(engine: str) -> None:
    """Nine senders to one host: its port carries 1 Gb/s, and drops what does not fit."""
    flows = [flow(f"r0h{host}", "r0h0", "1MB") for host in range(1, 10)]
    run = et.run(plan(*flows), engine=engine)
    assert run.drops > 0
    done = run.flows["end_ns"].max()
    assert isinstance(done, int)
    assert 9e6 * 8 / done <= 1.0


def test_flows_are_spread_over_the_switches_above(engine: str) -> None:
    """Ten pairs of hosts over one uplink and over four: faster, and the same with the same seed."""
    flows = [flow(f"r0h{host}", f"r1h{host}", "500kB") for host in range(10)]
    one = et.run(plan(*flows), engine=engine)
    four = plan(*flows, network={"pod": {"delay": "200us", "switches": 4}})
    several = et.run(four, engine=engine)
    assert several.fct_percentile(50) < one.fct_percentile(50)  # type: ignore[operator]
    assert et.run(four, engine=engine).meta["digest"] == several.meta["digest"]
    assert et.run(four.replace({"seed": 2}), engine=engine).meta["digest"] != several.meta["digest"]


def test_a_threshold_marks(engine: str) -> None:
    layer = {"ecn_threshold": 20}
    flows = [flow(f"r0h{host}", "r0h0", "1MB") | {"cc": "dctcp"} for host in range(1, 10)]
    run = et.run(plan(*flows, network={"rack": layer}), engine=engine)
    assert run.total("pairs", "marked") > 0
    assert plan(*flows).warnings[-1].startswith("flows use dctcp, but no layer")


def test_links_that_delay_in_queues_are_full_sooner(engine: str) -> None:
    """As Mininet's: 60 packets in 1 ms of delay are 0.72 Gb/s at most."""
    long = flow("r0h0", "r2h0", "4MB")
    wire, queue = (
        et.run(plan(long, network={"delay_in_queue": value}), engine=engine).fct_percentile(50) or 0
        for value in (False, True)
    )
    assert queue > wire
    assert 4e6 * 8 / (queue * 1000) < 0.72


def test_tcp_differs_by_layer(engine: str) -> None:
    path = [{"layer": "core", "max_cwnd": 4, "initial_cwnd": 2}]
    flows = [flow("r0h0", "r0h1", "300kB"), flow("r0h2", "r2h0", "300kB")]
    run = et.run(plan(*flows, tcp={"path": path}), engine=engine)
    rack, core = run.flows["cwnd"].to_list()
    assert core == 4
    assert rack > 10
    # At most four segments of 1448 bytes a round trip of 5.2 ms.
    rate = run.fct().select(pl.col("bytes") * 8e6 / pl.col("fct_us"))["bytes"][1]
    assert rate < 4 * 1448 * 8 / 5.2e-3


def test_otcp_helps_an_incast(engine: str) -> None:
    """CNSM'16: nine workers of ten flows each; the mean is dominated by timeouts, which OTCP makes short."""
    incast = {
        "to": "r0h0",
        "from": "own",
        "senders": 9,
        "flows": 10,
        "spread": "1ms",
        "size": "29kB",
    }
    base = {"tdf": 1, "duration": "10s", "warmup": "0s", "end_when_done": True}
    values = {**base, "network": {"kind": "tree"}, "incast": [incast]}
    means = []
    for otcp in (False, True):
        run = et.run(et.Plan.from_dict({**values, "tcp": {"otcp": otcp}}), engine=engine)
        assert run.fct()["fct_us"].null_count() == 0
        means.append(run.fct()["fct_us"].to_numpy().mean())
    assert means[0] > 5 * means[1]


def test_a_failed_link_is_gone_around(engine: str) -> None:
    """One of two uplinks fails for good: after switches know, flows go over the other; before, what they send is lost."""
    flows = [flow(f"r0h{host}", f"r1h{host}", "500kB") for host in range(10)]
    failure = [{"link": ["r0", "p0a0"], "from": "5ms"}]
    network = {"pod": {"delay": "200us", "switches": 2}, "failure": failure, "reroute": "3ms"}
    run = et.run(plan(*flows, network=network, duration="30s"), engine=engine)
    assert run.total("pairs", "dropped_link") > 0
    assert run.fct()["fct_us"].null_count() == 0
    cut = plan(*flows, network={"failure": [{"link": ["r0", "p0a0"], "from": "5ms"}]})
    assert et.run(cut, engine=engine).fct()["fct_us"].null_count() == 10


@pytest.mark.parametrize(
    ("network", "tcp", "sentence"),
    [
        ({"racks": 5}, {}, "network.racks: 5 racks cannot be divided among 2 pods"),
        (
            {"rack": {"queue": 0}},
            {},
            "network.rack.queue: 0 must be at least 1",
        ),
        (
            {},
            {"path": [{"layer": "rack"}, {"layer": "rack"}]},
            'tcp.path.1.layer: the layer "rack" is given twice',
        ),
        (
            {"failure": [{"link": ["r0", "p1a0"], "from": "1ms"}]},
            {},
            'network.failure.0.link: there is no link from "r0" up to "p1a0"; one is ["r0", "p0a0"]',
        ),
        (
            {"failure": [{"link": ["r0", "p0a0"], "from": "2ms", "to": "1ms"}]},
            {},
            'network.failure.0.to: "1ms" must be later than its start at 2ms',
        ),
        (
            {"packet": ["1Gbps", "1us"]},
            {},
            'network.packet: only a network of kind "rdcn" or of kind "ocs" takes this key, not one of kind "tree"',
        ),
    ],
)
def test_what_cannot_be_is_refused(
    network: dict[str, Any], tcp: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(PlanError) as refused:
        plan(flow("r0h0", "r0h1"), network=network, tcp=tcp)
    assert str(refused.value) == sentence


def test_only_switches_have_layers() -> None:
    with pytest.raises(
        PlanError, match=r'^tcp.otcp: only networks of kind "tree" and "leaf-spine" have layers$'
    ):
        et.Plan.from_dict({"bulk": [{"from": 0, "to": 1}], "tcp": {"otcp": True}})
