# SPDX-License-Identifier: MIT OR Apache-2.0
"""Jobs on networks of circuits: messages over several circuits, several uplinks a rack, circuits that jobs ask for there."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import etalon as et
from conftest import drawn_today
from etalon import _core
from etalon import engine as engines
from oracle import jobs, packets, recompute

HEADERS = 9014 / 8948
"""Bytes of the wire over bytes of payload, at an MTU of 9000 with time stamps."""

NETWORK: dict[str, Any] = {
    "kind": "ocs",
    "racks": 8,
    "hosts": 1,
    "mtu": 9000,
    "hops": 64,
    "ack_bypass": "500ns",
    "host": {"rate": "100Gbps", "delay": "500ns"},
    "circuits": {"rate": "100Gbps", "delay": "500ns", "switches": 1},
    "queue": 1000,
}
BASE: dict[str, Any] = {
    "duration": "1s",
    "warmup": "0s",
    "tdf": 1,
    "end_when_done": True,
    "routing": "shortest",
    "network": NETWORK,
    "tcp": {"initial_cwnd": 200, "max_cwnd": 200, "receive_buffer": "3145.728kB"},
    "schedule": {"kind": "asked", "reconfiguration": "10us", "request": "0us", "hold": "0us"},
    "job": [{"iterations": 2, "do": [{"all_reduce": "4MiB", "algorithm": "cyclic"}]}],
}


def plan(**changes: Any) -> et.Plan:
    """The plan with other values, by key with `__` for dots."""
    return et.Plan.from_dict(BASE).replace(
        {key.replace("__", "."): value for key, value in changes.items()}
    )


def took(run: et.Run) -> float:
    """The second iteration, in ns: its connections exist."""
    row = run.iterations.row(1, named=True)
    return float(row["end_ns"] - row["start_ns"])


def closed_form(
    steps: list[tuple[int, float]], *, uplinks: int = 1, changes: int = 0, dark: float = 10_000
) -> float:
    """Steps of (load of a circuit in messages and hops, bytes), in ns. The NIC, and the link to the host, store and forward a
    packet each."""
    byte = 8e9 / 100e9
    time = changes * dark
    for hops, size in steps:
        time += 500 + hops * 500 + hops * size * HEADERS * byte / uplinks + 2 * 9014 * byte
    return time


def halves(distances: list[int], size: int = 4 << 20) -> list[tuple[int, float]]:
    """Steps of halving and doubling."""
    sizes = [size / 2 ** (step + 1) for step in range(len(distances))]
    there = list(zip(distances, sizes, strict=True))
    return there + there[::-1]


def test_messages_over_several_circuits_of_a_ring() -> None:
    # Each circuit carries as many messages as a message has hops (Harvest's 1/theta).
    run = et.run(plan())
    assert took(run) == pytest.approx(closed_form(halves([1, 2, 4])), rel=0.01)
    assert (run.iterations["changes"].sum(), run.drops) == (0, 0)


def test_a_ring_both_ways_halves_the_distance() -> None:
    # Swing among 8: ranks 1, 1 and 3 apart, every other one each way; 3 apart, the busiest circuit carries two messages.
    run = et.run(
        plan(
            network__circuits__switches=2,
            network__host__rate="200Gbps",
            job__do__algorithm="swing",
        )
    )
    assert took(run) == pytest.approx(closed_form(halves([1, 1, 2])), rel=0.02)


def test_circuits_of_each_step_share_its_messages_over_all_uplinks() -> None:
    one = et.run(plan(job__circuits="each"))
    steps = halves([1, 1, 1])
    # The circuits of step 3 are those of step 2; an iteration ends with those that the next begins with.
    assert one.iterations["changes"][1] == 4
    assert took(one) == pytest.approx(closed_form(steps, changes=4), rel=0.01)
    two = et.run(
        plan(job__circuits="each", network__circuits__switches=2, network__host__rate="200Gbps")
    )
    assert two.iterations["changes"][1] == 4
    assert took(two) == pytest.approx(closed_form(steps, uplinks=2, changes=4), rel=0.015)
    assert set(two.cross_connects["plane"]) == {1, 2}


def test_planes_take_turns() -> None:
    # SWOT: while one plane carries a step, the other changes to the circuits of the next.
    ring = [[[rank, (rank + far) % 8] for rank in range(8)] for far in (1, 2, 4, 4, 2, 1)]
    after = [*ring[1:], ring[0]]
    stages = [
        {"step": step, "circuits": one if one == other else one + other}
        for step, (one, other) in enumerate(zip(ring, after, strict=True))
    ]
    changed = plan(
        job__circuits=stages, network__circuits__switches=2, schedule__reconfiguration="20us"
    )
    apart = plan(job__circuits="each", schedule__reconfiguration="20us")
    together, alone = et.run(changed), et.run(apart)
    # Only the first of all changes is waited for: the others pass while messages do.
    assert took(alone) == pytest.approx(
        closed_form(halves([1, 1, 1]), changes=4, dark=20_000), rel=0.01
    )
    assert took(together) == pytest.approx(closed_form(halves([1, 1, 1])), rel=0.01)
    # From 1 to 4 ranks apart, and back: those that are 2 apart stay all the time.
    assert together.iterations["dark_ns"][1] == 40_000


@pytest.mark.parametrize(
    ("reconfiguration", "changes", "hops"), [("200us", 2, [1, 2, 1, 2]), ("1us", 4, [1, 1, 1, 1])]
)
def test_rings_of_a_step_carry_later_ones(
    reconfiguration: str, changes: int, hops: list[int]
) -> None:
    # Bridge: the circuits of a step of Bruck's algorithm form rings on which all later peers lie. Among 16, peers are 1, 2, 4
    # and 8 apart: one ring carries the first two steps, and the circuits from each rank to the fourth after it the other two.
    deed = {"all_to_all": "4MiB", "algorithm": "bruck"}
    chosen = plan(
        network__racks=16,
        job__do=[deed],
        job__circuits="plan",
        schedule__reconfiguration=reconfiguration,
    )
    run = et.run(chosen)
    assert run.iterations["changes"][1] == changes
    if changes == 2:
        stages = chosen.resolve()["jobs"][0]["circuits"]["list"]
        assert [stage["step"] for stage in stages] == [0, 2]
        assert stages[1]["circuits"] == [[rank, (rank + 4) % 16] for rank in range(16)]
    dark = 1000 * int(reconfiguration.removesuffix("us"))
    expected = closed_form([(far, 2 << 20) for far in hops], changes=changes, dark=dark)
    assert took(run) == pytest.approx(expected, rel=0.01)


def test_balanced_ternary_uses_two_ports() -> None:
    # ReTri among 9: two steps of a third of all blocks each way, over the ring and over circuits to r +- 3. Bruck's algorithm
    # of radix 3 sends the same thirds one after the other over one port.
    size = 9 << 20
    # A window of 20 packets fills a circuit; a long one of one message would keep the NIC from the other.
    two: dict[str, Any] = {"tcp__initial_cwnd": 20, "tcp__max_cwnd": 20, "network__racks": 9}
    two |= {"network__host__rate": "400Gbps", "network__circuits__switches": 2}
    deed = {"all_to_all": f"{size}B", "algorithm": "ternary"}
    both = et.run(plan(**two, job__circuits="each", job__do=[deed]))
    assert both.iterations["changes"][1] == 2
    expected = closed_form([(1, size / 3)] * 2, changes=2)
    assert took(both) == pytest.approx(expected, rel=0.02)
    bruck = {"all_to_all": f"{size}B", "algorithm": "bruck", "radix": 3}
    one = et.run(plan(network__racks=9, job__circuits="each", job__do=[bruck]))
    assert took(one) == pytest.approx(closed_form([(1, size / 3)] * 4, changes=4), rel=0.01)


def test_two_hops_by_hand() -> None:
    # One packet of 1,000 bytes from rank 0 to 2: over a ring it passes the NIC, two circuits and the link to the host: 1,066
    # bytes with headers, 8 ns each at 1 Gb/s; the delay is 500 ns from the host, and 500 ns a circuit.
    send = {"send": "1000B", "from": 0, "to": 2}
    run = et.run(
        plan(
            network__racks=4,
            network__host__rate="1Gbps",
            network__circuits__rate="1Gbps",
            job__do=[{"compute": "1ms", "ranks": [0]}, send],
        )
    )
    steps = run.steps
    row = steps.filter((steps["iteration"] == 1) & (steps["bytes"] == 1000)).row(0, named=True)
    assert row["received_ns"] - row["ready_ns"] == 500 + 2 * 500 + 4 * 1066 * 8


def test_harvests_plan_changes_circuits_where_it_pays() -> None:
    # 8 ranks, 100 us a change: the ring for distance 1, u + 2 for 2 and 4 (two hops), the ring again.
    chosen = plan(job__circuits="plan", schedule__reconfiguration="100us")
    stages = chosen.resolve()["jobs"][0]["circuits"]["list"]
    assert [stage["step"] for stage in stages] == [0, 1, 5]
    assert stages[1]["circuits"] == [[rank, (rank + 2) % 8] for rank in (0, 1, 2, 3, 4, 5, 6, 7)]
    cost = et.collective_cost(
        "all-reduce",
        "cyclic",
        ranks=8,
        size="4MiB",
        rate="100Gbps",
        alpha="500ns",
        delta="500ns",
        reconfiguration="100us",
    )
    assert cost.reconfigurations == 2
    run = et.run(chosen)
    assert run.iterations["changes"].to_list() == [2, 2]
    steps = [(1, 2.0), (1, 1.0), (2, 0.5), (2, 0.5), (1, 1.0), (1, 2.0)]
    expected = closed_form([(load, part * 2**20) for load, part in steps], changes=2, dark=100_000)
    assert took(run) == pytest.approx(expected, rel=0.01)
    # Each circuit of each change has its row: 8 at the start, 8 four times.
    assert len(run.cross_connects) == 8 + 8 * 4


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"routing__low__kind": "direct"},
            'from rack 0 to rack 2, and there is no packet network; routing = "shortest"',
        ),
        ({"network__hops": 1}, "rank 0 sends to rank 2 without a circuit"),
        ({"routing__low__kind": "ksp"}, 'use "shortest" or "direct" or "packet"'),
        ({"routing__low__kind": "packet"}, "the plan has no packet network"),
        ({"network__circuits__switches": 16}, "at most 15 uplinks"),
        ({"network__guard": "1us"}, "no days whose ends need guarding"),
        ({"schedule__initial": [[0, 1], [0, 2]]}, "rack 0 is the source of two circuits"),
        (
            {"job__circuits": "plan", "network__circuits__switches": 3},
            "plans one or two circuits of a rack, not 3",
        ),
        (
            {
                "network__circuits__switches": 2,
                "schedule__initial": [[0, 1], [0, 2], [0, 3]],
            },
            "rack 0 is the source of 3 circuits, and has 2 uplinks",
        ),
    ],
)
def test_what_cannot_be_is_said(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(et.PlanError) as error:
        plan(**changes)
    assert why in str(error.value)


def test_acknowledgements_need_a_way_back() -> None:
    one_way = [{"step": 0, "circuits": [[0, 1]]}]
    send = {"send": "1kB", "from": 0, "to": 1}
    plan(job__circuits=one_way, job__do=[send])
    network = {key: value for key, value in NETWORK.items() if key != "ack_bypass"}
    with pytest.raises(et.PlanError, match=r"acknowledgements need network\.ack_bypass"):
        et.Plan.from_dict(BASE | {"network": network, "job": [{"circuits": one_way, "do": [send]}]})


KINDS = {
    "all_reduce": ("ring", "cyclic", "swing", "recursive-doubling"),
    "all_to_all": ("direct", "ternary", "bruck", "pairwise"),
    "all_gather": ("ring", "bruck"),
}


def drawn(seed: int) -> et.Plan | None:
    """A plan with one or two jobs that ask, if the one drawn can be."""
    some = random.Random(seed)
    racks, hosts = some.choice([3, 4, 8, 9]), some.choice([1, 2])
    network = NETWORK | {"racks": racks, "hosts": hosts, "queue": some.choice([20, 1000])}
    network["circuits"] = {"rate": "100Gbps", "switches": some.choice([1, 2, 3])}
    if some.random() < 0.3:
        network.pop("ack_bypass")
    places = [f"r{rack}h{host}" for rack in range(racks) for host in range(hosts)]
    jobs = []
    for _ in range(some.choice([1, 2])):
        work: list[dict[str, Any]] = [{"compute": f"{some.randint(1, 30)}us", "jitter": "5us"}]
        for _ in range(some.randint(1, 3)):
            kind = some.choice(list(KINDS))
            size = f"{some.choice([1, 50, 400])}kB"
            work.append({kind: size, "algorithm": some.choice(KINDS[kind])})
        ranks = some.sample(places, some.randint(2, len(places)))
        circuits = some.choice(["each", "each", "plan"])
        jobs.append({"iterations": 2, "do": work, "ranks": ranks, "circuits": circuits})
    schedule = {
        "kind": "asked",
        "reconfiguration": some.choice(["0us", "10us"]),
        "request": some.choice(["0us", "2us"]),
        "hold": some.choice(["0us", "20us"]),
        "ask": some.choice(["all", "first"]),
        "ahead": some.random() < 0.3,
        "share": some.choice(["fair", "fifo"]),
        "initial": some.choice(["ring", "none"]),
    }
    routing = some.choice(["shortest", "shortest", "direct"])
    values = {"network": network, "schedule": schedule, "job": jobs, "routing": routing}
    try:
        return et.Plan.from_dict(BASE | values)
    except et.PlanError:
        return None  # such as two messages of a rank, and one uplink


@pytest.mark.parametrize("seed", drawn_today(range(400), 40))
def test_whoever_asks_gets_its_circuits_in_the_end(seed: int) -> None:
    made = drawn(seed)
    if made is None:
        return
    run = et.run(made)
    assert len(run.iterations) == 2 * len(made.job)
    assert (run.iterations["end_ns"] >= 0).all()
    assert (run.cross_connects["granted_ns"] >= 0).all()
    again = et.run(made)
    assert again.iterations.equals(run.iterations) and again.meta["digest"] == run.meta["digest"]
    # An uplink has one circuit at a time: the next is granted when the one before it has gone.
    for end in ("src", "dst"):
        for _, of in run.cross_connects.group_by("plane", end):
            rows = of.sort("granted_ns", "up_ns").select("granted_ns", "down_ns").rows()
            assert all(0 <= down <= granted for (_, down), (granted, _) in pairwise(rows))


@pytest.mark.parametrize("seed", drawn_today(range(400, 800), 16))
def test_packets_go_where_circuits_are_up(seed: int, tmp_path: Path) -> None:
    """From a trace alone: no packet leaves before circuits that were up can have brought it there, and none leaves its only
    queue for a circuit that is dark; circuits stay for `hold`; bytes arrive once."""
    made = drawn(seed)
    if made is None:
        return
    capture = tmp_path / "trace.pcapng"
    answer = engines.named("sim").trace(made, _core.Control(), 0, made.duration, capture)
    events, seen = recompute.events(answer["events"]), packets.read(capture)
    circuits = jobs.uplinks(events)
    spans = [span for pair in circuits.values() for span in pair]
    network = made.resolve()["network"]["ocs"]
    hold = network["asked"]["hold_ns"]
    assert all(down - up >= hold for up, down in spans if up > 0)
    byte, delay = 8 / 100, network["uplinks"][0]["delay_ns"]
    for entered, left in jobs.passages(seen):
        wire = entered.size * byte
        there = jobs.arrives(circuits, entered.pair, entered.time, wire, delay)
        assert entered.pair[0] == entered.pair[1] or there <= left.time, (entered, left)
    if network["classes"][0]["routing"] == "direct":
        for event in events:
            if event.kind == "dequeue" and event.pair[0] != event.pair[1]:
                last = event.time + event.size * byte
                ups = circuits[event.pair]
                assert any(up <= event.time and last <= down + 1 for up, down in ups), event
    run = et.run(made)
    expected: Counter[Any] = Counter()
    for row in run.steps.filter(run.steps["peer"] >= 0).iter_rows(named=True):
        places = [tuple(place) for place in made.job[row["job"]].ranks]
        expected[places[row["rank"]], places[row["peer"]]] += row["bytes"]
    assert jobs.delivered(seen) == {pair: size for pair, size in expected.items() if size}


def test_a_job_that_does_not_ask_is_warned_of_those_that_do() -> None:
    deed = {"all_reduce": "1MB", "algorithm": "ring"}
    both = plan(job=[{"do": [deed]}, {"do": [deed], "circuits": "each"}])
    assert any("job 0 asks for no circuits" in warning for warning in both.warnings)
    assert not plan().warnings


def test_hosts_that_cannot_fill_a_circuit_are_warned_of() -> None:
    job = {"do": [{"all_reduce": "1MB", "algorithm": "ring"}], "circuits": "each"}
    made = plan(job=[job])
    assert not made.warnings
    rate = made.network.rates[1] / 1e9
    (warning,) = made.replace({"network.host.rate": f"{rate / 2}Gbps"}).warnings
    assert f"network.host.rate is {rate / 2:g}Gbps and a circuit's rate {rate:g}Gbps" in warning
    # Two ranks in a rack fill it.
    shared = {"network.host.rate": f"{rate / 2}Gbps", "network.hosts": 2}
    assert not made.replace(shared).warnings


def test_packets_of_parallel_circuits_may_arrive_together() -> None:
    """Circuits that are one link keep packets in order, so that two of one port can be due at once, where runs stood still."""
    network = NETWORK | {
        "racks": 64,
        "host": {"rate": "1600Gbps", "delay": "500ns"},
        "circuits": {"rate": "800Gbps", "delay": "500ns", "switches": 2},
        "queue": {"low": {"unlimited": True}},
    }
    deed = {"all_reduce": "256KiB", "algorithm": "swing"}
    job = {"iterations": 1, "circuits": "none", "do": [deed]}
    run = et.run(plan(network=network, job=[job]))
    assert run.iterations["end_ns"].to_list()[0] > 0
