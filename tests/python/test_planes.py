# SPDX-License-Identifier: MIT OR Apache-2.0
"""Networks of other planes than a packet network and one kind of circuits."""

from __future__ import annotations

import pytest

import etalon as et
from conftest import ROOT, need_kernel

BOTH = [(0, 1), (1, 0)]


@pytest.fixture(params=["sim", "linux"])
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "linux":
        need_kernel()
    return str(request.param)


def three_networks() -> et.Plan:
    plan = et.Plan.load(ROOT / "examples" / "three_networks.toml")
    return plan.replace({"duration": "24ms", "warmup": "0ms"})


def test_three_networks_carry_a_pair_in_turn(engine: str) -> None:
    run = et.run(three_networks(), engine=engine)
    assert run.planes == ("packet", "circuit", "circuit2")
    assert run.circuits == ("circuit", "circuit2")
    row = run.pairs.row(0, named=True)
    assert (row["src"], row["dst"]) == (0, 1)
    week, day = 1200, 180
    share = {"packet": (week - 2 * day - 40) / week, "circuit": day / week, "circuit2": day / week}
    rate = {"packet": 10e9, "circuit": 100e9, "circuit2": 40e9}
    for plane in run.planes:
        capacity = share[plane] * rate[plane] * 0.024 / 8
        assert row[f"{plane}_capacity_bytes"] == pytest.approx(capacity, rel=0.02)
        assert 0.5 < row[f"{plane}_utilization"] <= 1
        assert row[f"{plane}_payload_bytes"] == run.total("flows", f"{plane}_bytes")
    # The quickest packets take little more than their transmission (9014 B) and propagation.
    shortest = {plane: run.latency(0, plane) for plane in run.planes}
    assert 5.7 < shortest["circuit"] < 15
    assert 21.8 < shortest["circuit2"] < 45
    carried = sum(row[f"{plane}_payload_bytes"] for plane in run.circuits)
    could = sum(row[f"{plane}_capacity_bytes"] for plane in run.circuits)
    assert run.circuit_utilization == pytest.approx(carried / could)
    assert run.circuit_utilization_nsdi20 is None


def test_a_network_of_circuits_alone(engine: str) -> None:
    net = et.network(racks=2, hosts=4, packet=None, voq=64)
    week = et.fixed(net, [BOTH, []], day="90us", night="10us")
    plan = et.experiment(net, week, et.bulk(0, 1, flows=4), duration="40ms", warmup="0ms")
    run = et.run(plan, engine=engine)
    assert run.planes == ("circuit",)
    assert run.packet_utilization is None
    assert run.circuit_utilization is not None
    assert 0.5 < run.circuit_utilization <= 1
    assert not [name for name in run.pairs.columns if name.startswith("packet_")]
    assert run.latency(50) == run.latency(50, "circuit")


def test_a_week_changes_at_its_roll_over(engine: str) -> None:
    """Circuits of 80 Gb/s for 10 ms, then of 20 Gb/s, which there were not before."""
    net = et.network(racks=2, hosts=4, voq=64)
    plan = et.experiment(net, et.fixed(net, [BOTH, []]), et.bulk(0, 1, flows=4))
    slower = {"at": "9.9ms", "configurations": [{"circuits": BOTH, "rate": "20Gbps"}, {}, {}]}
    plan = plan.replace({"duration": "22ms", "warmup": "0ms", "schedule.change": [slower]})
    run = et.run(plan, engine=engine)
    assert run.planes == ("packet", "circuit", "circuit2")
    row = run.pairs.row(0, named=True)
    # 25 weeks of 400 us, then 20 of 600 us: a day of 180 us in each.
    assert row["circuit_capacity_bytes"] == pytest.approx(25 * 180e-6 * 80e9 / 8, rel=0.01)
    assert row["circuit2_capacity_bytes"] == pytest.approx(20 * 180e-6 * 20e9 / 8, rel=0.01)
    for plane in run.circuits:
        assert row[f"{plane}_payload_bytes"] > 0
        assert row[f"{plane}_utilization_nsdi20"] == pytest.approx(
            row[f"{plane}_utilization"], rel=0.05
        )


def test_the_packet_network_may_be_dark_in_all_nights(engine: str) -> None:
    def carried(night: str) -> tuple[int, int]:
        net = et.network(racks=2, hosts=2, night=night)
        week = et.fixed(net, [[], BOTH, [], []])
        plan = et.experiment(net, week, et.bulk(0, 1, flows=2), duration="40ms", warmup="0ms")
        row = et.run(plan, engine=engine).pairs.row(0, named=True)
        return row["packet_capacity_bytes"], row["packet_payload_bytes"]

    own, dark = carried("own"), carried("all")
    # Of a week of 800 us, the packet network serves the pair for 600 us, or for three days of 180 us.
    # The network completes a packet that it has begun, 7.2 us at most after each of one or three ends of a day.
    assert 540 / 607.2 <= dark[0] / own[0] <= 561.6 / 600
    assert dark[1] < own[1]
