# SPDX-License-Identifier: MIT OR Apache-2.0
"""Networks of circuits against an oracle that follows each packet through the events of a trace: random topologies, routings,
failures."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

import etalon as et
from conftest import drawn_today
from etalon import _core
from etalon import engine as engines

pytestmark = pytest.mark.filterwarnings("ignore::etalon.errors.PlanWarning")  # random plans are odd

SCHEDULES: tuple[Mapping[str, Any], ...] = (
    {"kind": "rotor", "slice": "20us", "night": "2us"},
    {"kind": "opera", "slice": "20us", "night": "2us"},
    {"kind": "shale", "slice": "5us", "night": "100ns"},
    {"kind": "round-robin", "slice": "20us", "night": "0us"},
    {"kind": "static"},
)
WAYS: tuple[Any, ...] = (
    "direct",
    "vlb",
    {"kind": "expander", "paths": 3, "spread": "packet"},
    {"kind": "ksp", "paths": 2},
    {"kind": "earliest", "hops_per_slice": 2},
    {"kind": "ucmp"},
)
NDP = {"kind": "ndp", "timeout": "never", "window": 1}
HEADER = 64
"""Bytes of a packet without payload: of ACKs and pulls."""


class Hop(NamedTuple):
    """A packet leaves its queue for an uplink."""

    time: int
    rack: int
    size: int


def drawn(seed: int) -> et.Plan:
    """Flows of one packet each, whose lengths differ, so that a length names a packet."""
    some = random.Random(seed)
    while True:
        racks, hosts = some.choice([8, 9, 12, 16]), some.choice([1, 2])
        flows = []
        for number in range(60):
            src, dst = some.sample(range(racks), 2)
            flow = {
                "from": f"r{src}h0",
                "to": f"r{dst}h{hosts - 1}",
                "size": f"{100 + 20 * number + some.randrange(20)}B",
            }
            flows.append({**flow, "start": f"{some.randrange(400_000)}ns", "transport": NDP})
        failures = [
            {
                part: some.randrange(2),
                "from": f"{some.randrange(200)}us",
                "to": "300us",
                **some.choice([{}, {"locks_after": "3us"}]),
            }
            for part in some.choice([[], ["rack"], ["switch"], ["switch", "rack"]])
        ]
        network = {
            "kind": "ocs",
            "racks": racks,
            "hosts": hosts,
            "circuits": {"rate": "10Gbps", "delay": "100ns", "switches": some.choice([1, 2, 3, 4])},
            "guard": some.choice(["0ns", "500ns"]),
            "skew": some.choice(["0ns", "100ns"]),
            "late": some.choice(["lost", "completes"]),
            "reroute": some.choice(["0us", "10us"]),
            "failure": failures,
        }
        try:
            return et.Plan.from_dict(
                {
                    "seed": 1 + seed,
                    "duration": "2ms",
                    "warmup": 0,
                    "tdf": 1,
                    "network": network,
                    "schedule": some.choice(SCHEDULES),
                    "routing": {
                        "low": some.choice(WAYS),
                        "bulk": some.choice(WAYS),
                        "cutoff": "700B",
                    },
                    "flow": flows,
                }
            )
        except et.PlanError:
            continue  # no such network, or no way through it


def followed(plan: et.Plan, folder: Path) -> dict[tuple[int, int, int], list[Hop]]:
    """The hops of each packet with payload, by source, destination and length on the wire, from a trace alone."""
    columns = engines.named("sim").trace(plan, _core.Control(), 0, plan.duration, folder / "t")[
        "events"
    ]
    names = ("kind", "t_ns", "at", "queue", "src", "dst", "bytes")
    hops = defaultdict(list)
    for kind, time, at, queue, src, dst, size in zip(
        *(columns[name] for name in names), strict=True
    ):
        if kind == "dequeue" and size > HEADER and queue >= plan.network.hosts:
            hops[int(src), int(dst), int(size)].append(Hop(int(time), int(at), int(size)))
    return hops


@pytest.mark.parametrize("seed", drawn_today(range(200), 20))
def test_the_table_of_hops_is_that_of_a_trace(seed: int, tmp_path: Path) -> None:
    plan = drawn(seed)
    hops, run = followed(plan, tmp_path), et.run(plan)
    expected: Counter[tuple[str, int]] = Counter()
    for row in run.flows.iter_rows(named=True):
        path = hops[row["src_rack"], row["dst_rack"], row["bytes"] + HEADER]
        name = "low" if row["bytes"] < 700 else "bulk"
        if row["end_ns"] >= 0:
            expected[name, len(path)] += 1
            way = getattr(plan.routing, name).kind
            assert len(path) <= {"direct": 1, "vlb": 2}.get(way, 32)
            assert row["start_ns"] <= path[0].time and path[-1].time < row["end_ns"]
        assert [hop.rack for hop in path][:1] in ([], [row["src_rack"]]), "it begins at its rack"
    found = {(row["class"], row["hops"]): row["packets"] for row in run.hops.iter_rows(named=True)}
    assert found == expected


@pytest.mark.parametrize("seed", drawn_today(range(400, 600), 20))
def test_ports_are_as_long_as_their_packets(seed: int, tmp_path: Path) -> None:
    """Each hop is one transmission of a port; no queue is longer than all flows together."""
    plan = drawn(seed).replace({"measure.ports": True})
    run = et.run(plan)
    sent = Counter(hop.rack for path in followed(plan, tmp_path).values() for hop in path)
    uplinks = run.ports.filter(
        pl.col("from").str.contains(r"^r\d+$") & ~pl.col("to").str.contains("h")
    )
    for rack in range(plan.network.racks):
        packets = uplinks.filter(pl.col("from") == f"r{rack}")["packets"].sum()
        assert packets >= sent[rack], "ACKs count, too"
    for row in run.ports.iter_rows(named=True):
        assert 0 <= row["queue_p50"] <= row["queue_p99"] <= row["longest"] <= 2 * len(plan.flow)
        assert 0 <= row["queue_mean"] <= row["longest"]


@pytest.mark.parametrize("seed", drawn_today(range(200, 400), 20))
def test_no_packet_leaves_for_a_circuit_that_is_not_there(seed: int, tmp_path: Path) -> None:
    """Each hop leads to the rack of the next one, over a circuit of the slice in which it begins. Guard bands are kept, and a
    circuit carries one packet at a time."""
    plan = drawn(seed)
    net = plan.slices
    assert net is not None
    ocs = plan.resolve()["network"]["ocs"]
    length, skew, guard = plan.schedule.slice, ocs["skew_ns"], ocs["guard_ns"]  # type: ignore[attr-defined]
    taken: dict[tuple[int, int, int], list[Hop]] = defaultdict(list)
    for (_, dst, _), path in followed(plan, tmp_path).items():
        for hop, after in zip(path, [*(one.rack for one in path[1:]), dst], strict=True):
            # A rack whose clock is wrong may be in the slice before, or after.
            slots = {(hop.time + off) // length for off in (-skew, 0, skew)}
            met = {slot for slot in slots if after in net.peers[slot % net.slices, hop.rack]}
            assert met or hop is path[-1], (
                hop
            )  # a packet that was lost may have been on its way to any rack
            if len(met) == len(slots) == 1:
                (slot,) = met
                uplinks = (net.peers[slot % net.slices, hop.rack] == after).sum()
                if uplinks == 1 and hop is not path[-1]:
                    taken[hop.rack, after, slot].append(hop)
            if guard and hop.time >= length and net.slices > 1 and None in net.ending:
                assert hop.time % length >= guard - skew, hop
    for hops in taken.values():
        hops.sort()
        for one, other in pairwise(hops):
            assert other.time - one.time >= 0.8 * one.size - 1, (one, other)
