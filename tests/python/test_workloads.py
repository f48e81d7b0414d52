# SPDX-License-Identifier: MIT OR Apache-2.0
"""Workloads: the flows that they resolve to, by hand, and what is said of bad ones."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import etalon as et
from etalon.errors import PlanError
from etalon.plan import Plan, streaming
from etalon.plan.workloads import processes
from etalon.plan.workloads.flow_sizes import FLOW_SIZES

S = 1_000_000_000


def plan(
    racks: int = 8, hosts: int = 16, duration: str = "4s", seed: int = 1, **tables: Any
) -> Plan:
    """A plan with these workloads: a table each."""
    network = {"racks": racks, "hosts": hosts}
    values = {"network": network, "duration": duration, "warmup": "0ms", "seed": seed}
    return Plan.from_dict(values | {name: [table] for name, table in tables.items()})


def pairs(plan: Plan) -> Counter[tuple[int, int]]:
    return Counter((flow["src_rack"], flow["dst_rack"]) for flow in plan.flows)


def test_rings_are_those_of_the_paper() -> None:
    flows = plan(rings={"period": "2s"}).flows
    big = [flow for flow in flows if flow["class"] == "big"]
    small = [flow for flow in flows if flow["class"] == "small"]
    # "~10,000 small flows and ~1,000 big flows" (Etalon'18, section 5.3).
    assert len(small) == pytest.approx(10_100, rel=0.05)
    assert len(big) == pytest.approx(1_080, rel=0.05)
    assert all(flow["dst_rack"] == (flow["src_rack"] + 1) % 8 for flow in big)
    assert all(9_000_000 <= flow["bytes"] <= 90_000_000 for flow in big)
    assert all(90_000 <= flow["bytes"] <= 900_000 for flow in small)
    assert all((flow["dst_rack"] - flow["src_rack"]) % 8 > 1 for flow in small)
    assert all(flow["stop_ns"] == flow["start_ns"] + 2 * S for flow in flows)
    # A third of a circuit's 80 Gb/s for two seconds from each rack, but for the end of the last flow.
    sent = sum(flow["bytes"] for flow in big if flow["src_rack"] == 0)
    assert 2 * 80e9 / 3 / 8 <= sent <= 2 * 80e9 / 3 / 8 + 90e6


def test_a_flow_of_a_ring_begins_when_the_one_before_would_have_ended() -> None:
    flows = plan(rings={"period": "2s"}).flows
    first, second = [flow for flow in flows if (flow["src_rack"], flow["dst_rack"]) == (3, 4)][:2]
    assert first["start_ns"] == 0
    assert second["start_ns"] == first["bytes"] * 8 * S // (80_000_000_000 // 3)


def test_two_rings_share_the_rate() -> None:
    chosen = plan(rings={"rings": 2, "period": "2s"})
    big = Counter(
        (flow["dst_rack"] - flow["src_rack"]) % 8 for flow in chosen.flows if flow["class"] == "big"
    )
    assert set(big) == {1, 2}
    assert sum(big.values()) == pytest.approx(1_080, rel=0.05)
    alone = plan(rings={"period": "2s"})
    assert len(alone.flows) == pytest.approx(alone.rings[0].expected(alone.setting()), rel=0.05)


def test_a_workload_draws_the_same_whatever_stands_beside_it() -> None:
    rings = {"period": "100ms"}
    alone = plan(rings=rings).flows
    assert alone == plan(rings=rings).flows
    incast = {"to": "r0h0", "size": "1kB"}
    assert plan(rings=rings, incast=incast).flows[: len(alone)] == alone
    other = plan(rings=rings).replace({"seed": 2}).flows
    assert [flow["bytes"] for flow in other] != [flow["bytes"] for flow in alone]


def test_connections_are_made_one_after_the_other_before_the_start() -> None:
    table = {"size": "1MB", "hosts": 2, "start": "3ms"}
    late = plan(racks=3, hosts=4, shuffle=table).flows
    early = plan(racks=3, hosts=4, shuffle={**table, "connect": "600us"}).flows
    # 24 flows within 2.4 ms.
    assert [flow.pop("connect_ns") for flow in early] == [600_000 + 100_000 * n for n in range(24)]
    assert early == late


@given(st.integers(2, 9), st.integers(1, 9), st.integers(0, 1000))
def test_a_permutation_leaves_every_rack_and_reaches_every_host(
    racks: int, hosts: int, seed: int
) -> None:
    flows = plan(racks=racks, hosts=hosts, seed=seed, permutation={"size": "1MB"}).flows
    everyone = [(rack, host) for rack in range(racks) for host in range(hosts)]
    assert sorted((flow["src_rack"], flow["src_host"]) for flow in flows) == everyone
    assert sorted((flow["dst_rack"], flow["dst_host"]) for flow in flows) == everyone
    assert all(flow["src_rack"] != flow["dst_rack"] for flow in flows)


def test_a_permutation_is_drawn_by_the_seed() -> None:
    drawn = {
        seed: [(flow["dst_rack"], flow["dst_host"]) for flow in flows]
        for seed in (1, 1, 2)
        for flows in [plan(racks=5, hosts=4, seed=seed, permutation={"size": "1MB"}).flows]
    }
    assert drawn[1] != drawn[2]
    again = plan(racks=5, hosts=4, seed=1, permutation={"size": "1MB"}).flows
    assert drawn[1] == [(flow["dst_rack"], flow["dst_host"]) for flow in again]


def test_a_shuffle_is_from_all_to_all_other_racks() -> None:
    flows = plan(racks=3, hosts=4, shuffle={"size": "1MB", "hosts": 2, "class": "all"})
    assert pairs(flows) == {(a, b): 4 for a in range(3) for b in range(3) if a != b}
    assert {flow["class"] for flow in flows.flows} == {"all"}
    assert {flow["src_host"] for flow in flows.flows} == {0, 1}


def test_a_shuffle_begins_within_its_spread() -> None:
    table = {"size": "1kB", "start": "2ms", "spread": "1ms"}
    flows = plan(racks=3, hosts=4, shuffle=table).flows
    starts = [flow["start_ns"] for flow in flows]
    assert starts == sorted(starts) and len(set(starts)) == len(starts) == 96
    assert starts[0] >= 2_000_000 and 2_900_000 < starts[-1] < 3_000_000
    by_sender = [flow["src_rack"] for flow in flows]
    assert by_sender != sorted(by_sender)
    again, other = (plan(racks=3, hosts=4, seed=seed, shuffle=table).flows for seed in (1, 2))
    assert again == flows != other


def test_an_incast_takes_hosts_of_all_racks_in_turn() -> None:
    table = {
        "to": "r1h2",
        "size": "5kB",
        "senders": 3,
        "rounds": 2,
        "interval": "1ms",
        "start": "2ms",
    }
    flows = plan(racks=3, hosts=4, incast=table).flows
    senders = [(flow["src_rack"], flow["src_host"], flow["start_ns"]) for flow in flows]
    assert senders[:3] == [(0, 0, 2_000_000), (2, 0, 2_000_000), (0, 1, 2_000_000)]
    assert [start for *_, start in senders[3:]] == [3_000_000] * 3
    assert {(flow["dst_rack"], flow["dst_host"]) for flow in flows} == {(1, 2)}


def test_an_incast_of_several_flows_a_sender_begins_within_its_spread() -> None:
    table = {"to": "r0h0", "size": "5kB", "senders": 3, "flows": 4, "rounds": 2, "spread": "1ms"}
    one = plan(racks=3, hosts=4, incast=table)
    starts = [flow["start_ns"] for flow in one.flows]
    assert len(starts) == 24 == one.workloads[0].expected(one.setting())
    first, second = starts[:12], starts[12:]
    assert all(0 <= start < 1_000_000 for start in first)
    assert all(10_000_000 <= start < 11_000_000 for start in second)
    assert len(set(starts)) == 24 and first != [start - 10_000_000 for start in second]
    assert starts == [flow["start_ns"] for flow in plan(racks=3, hosts=4, incast=table).flows]


def test_an_incast_may_come_from_the_receivers_own_rack() -> None:
    def senders(**table: Any) -> list[tuple[int, int]]:
        one = plan(racks=3, hosts=3, incast={"to": "r1h1", "size": "5kB", **table})
        return [(flow["src_rack"], flow["src_host"]) for flow in one.flows]

    assert senders(**{"from": "own"}) == [(1, 0), (1, 2)]
    every = [(rack, host) for host in range(3) for rack in range(3) if (rack, host) != (1, 1)]
    assert senders(**{"from": "all"}) == every
    assert senders(**{"from": "all", "senders": 5}) == every[:5]


def test_flows_within_a_rack_are_not_what_is_measured() -> None:
    one = plan(flow={"from": "r2h0", "to": "r2h1", "size": "1MB"}, shuffle={"size": "1kB"})
    assert one.flows[0]["dst_rack"] == 2
    assert one.measured_pair == (0, 1)
    assert plan(incast={"to": "r2h0", "size": "1kB", "from": "own"}).measured_pair == (0, 1)


@pytest.mark.parametrize("name", FLOW_SIZES)
def test_published_sizes_are_distributions(name: str) -> None:
    sizes = FLOW_SIZES[name]
    assert sizes.points[0] == (0, 0.0)
    assert sizes.points[-1][1] == 1.0
    assert list(sizes.points) == sorted(sizes.points)
    draws = [sizes.at((index + 0.5) / 100_000) for index in range(100_000)]
    assert sum(draws) / len(draws) == pytest.approx(sizes.mean, rel=0.002)
    assert sizes.at(0.0) == (sizes.points[1][0] if sizes.steps else 1)
    assert sizes.at(1.0) == sizes.points[-1][0]


def test_sizes_lie_between_the_points() -> None:
    sizes = FLOW_SIZES["websearch"]
    assert sizes.at(0.15) == 10_000
    assert sizes.at(0.175) == 15_000
    # By hand: the trapezoids under the points' inverse.
    assert sizes.mean == pytest.approx(1_711_250)


def test_poisson_arrivals_offer_the_load() -> None:
    table = {"sizes": "websearch", "load": 0.5, "of": "10Gbps"}
    chosen = plan(poisson=table, duration="2s")
    flows = chosen.flows
    # 8 racks, 5 Gb/s each for two seconds.
    assert sum(flow["bytes"] for flow in flows) == pytest.approx(8 * 5e9 * 2 / 8, rel=0.1)
    assert len(flows) == pytest.approx(chosen.poisson[0].expected(chosen.setting()), rel=0.05)
    starts = sorted(flow["start_ns"] for flow in flows if flow["src_rack"] == 0)
    gaps = [b - a for a, b in pairwise(starts)]
    mean = sum(gaps) / len(gaps)
    variance = sum((gap - mean) ** 2 for gap in gaps) / len(gaps)
    assert variance**0.5 == pytest.approx(mean, rel=0.15)  # as of an exponential distribution
    assert set(pairs(chosen)) == {(a, b) for a in range(8) for b in range(8) if a != b}


def test_small_flows_are_a_class() -> None:
    table = {"load": 0.5, "small": "100kB"}
    flows = plan(poisson=table, duration="100ms").flows
    assert all((flow["class"] == "small") == (flow["bytes"] <= 100_000) for flow in flows)


def write(folder: Path, text: str) -> dict[str, str]:
    (folder / "flows.txt").write_text(text)
    return {"file": str(folder / "flows.txt")}


def test_a_trace_is_read_line_by_line(tmp_path: Path) -> None:
    text = "# a comment\n\nr0h0 r1h3 1000 5\n1 4 2000 7 small\n"
    flows = plan(racks=2, hosts=4, trace=write(tmp_path, text) | {"start": "1us"}).flows
    assert [(f["src_rack"], f["src_host"], f["dst_rack"], f["dst_host"]) for f in flows] == [
        (0, 0, 1, 3),
        (0, 1, 1, 0),
    ]
    assert [(f["bytes"], f["start_ns"], f.get("class")) for f in flows] == [
        (1000, 1005, None),
        (2000, 1007, "small"),
    ]


def test_the_path_of_a_trace_starts_at_its_plan(tmp_path: Path) -> None:
    write(tmp_path, "r0h0 r1h0 1000 0\n")
    text = '[network]\nracks = 2\n[[trace]]\nfile = "flows.txt"\n'
    (tmp_path / "plan.toml").write_text(text)
    loaded = Plan.load(tmp_path / "plan.toml")
    assert len(loaded.flows) == 1
    assert Plan.from_toml(loaded.to_toml()).digest == loaded.digest


def test_results_of_a_trace_need_no_other_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither those of a run nor those of a sweep, wherever they are moved and whatever becomes of the trace."""
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    text = "# a comment\nr0h0 r1h0 1000 1000000\n\n0 1 2000 1000007 small\n"
    trace = write(here, text) | {"start": "1us"}
    kept = plan(racks=2, hosts=1, trace=trace).replace(duration="2ms", warmup="0s")
    run = et.run(kept)
    (here / "flows.txt").write_text("r0h0 r1h0 5 5\n")  # what was run counts, not what is there now
    run.save(here / "run")
    (here / "flows.txt").write_text(text)
    swept = et.sweep(kept, {"network.voq": [4, 8]}, folder=here / "sweep")
    (here / "flows.txt").unlink()
    here.rename(there)
    monkeypatch.chdir(there / "run")

    again = Plan.load("plan.toml")
    assert again.digest == kept.digest
    assert et.run(again).meta["digest"] == run.meta["digest"]
    assert et.Run.load(there / "run").flows.equals(run.flows)
    loaded = et.Sweep.load(there / "sweep")
    assert [one.meta for one in loaded.runs] == [one.meta for one in swept.runs]
    assert str(here) not in "".join(path.read_text() for path in there.rglob("*.toml"))
    assert et.sweep(loaded.plan, {"network.voq": [4, 8, 16]}, folder=there / "sweep").runs
    with pytest.raises(PlanError, match="holds another sweep"):
        et.sweep(
            kept.replace({"trace.file": _other(tmp_path)}),
            {"network.voq": [4, 8]},
            folder=there / "sweep",
        )


def _other(folder: Path) -> str:
    return write(folder, "r0h0 r1h0 7 7\n")["file"]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("r0h0 r1h0 1000", "a line has 4 words"),
        ("r0h0 r1h0 1e3 0", 'bytes must be a whole number, not "1e3"'),
        ("r0h0 r1h0 0 0", "bytes must be more than zero"),
        ("r0h0 r1h0 10 -3", 'start_ns must be a whole number, not "-3"'),
        ("r0h0 r0h0 10 0", "host r0h0 would send to itself"),
        ("r0h0 r2h0 10 0", "there is no host r2h0 (racks 0..1, hosts 0..3, numbers 0..7)"),
        ("0 8 10 0", "there is no host 8"),
        ("x r1h0 10 0", '"x" is not a host'),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, sentence: str) -> None:
    with pytest.raises(PlanError) as error:
        plan(racks=2, hosts=4, trace=write(tmp_path, f"r0h0 r1h0 1 0\n{line}\n"))
    assert sentence in str(error.value)
    assert f"{tmp_path}/flows.txt:2" in str(error.value)


def test_a_bad_line_is_named_by_its_own_file_not_by_the_plan_that_reads_it(tmp_path: Path) -> None:
    write(tmp_path, "r0h0 r1h0 1000 0\nr0h0 r0h0 1000 0\n")
    (tmp_path / "plan.toml").write_text('[network]\nracks = 2\n[[trace]]\nfile = "flows.txt"\n')
    with pytest.raises(PlanError, match=r"flows.txt:2: host r0h0 would send to itself"):
        Plan.load(tmp_path / "plan.toml")


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        ({"trace": {"file": "/nonexistent"}}, "/nonexistent: there is no such file"),
        ({"rings": {"rings": 8}}, "8 rings need at least 9 racks; this network has 8"),
        ({"rings": {"big": ["2MB", "1MB"]}}, "the largest size 1MB is below the smallest 2MB"),
        ({"rings": {"class": "x"}}, 'its flows are of the classes "big" and "small"'),
        ({"shuffle": {"size": "1MB", "hosts": 17}}, "there are only 16 hosts a rack"),
        ({"shuffle": {}}, "shuffle.0.size: must be given"),
        ({"incast": {"to": "r8h0", "size": "1kB"}}, "there is no host r8h0"),
        (
            {"incast": {"to": "r0h0", "size": "1kB", "senders": 200}},
            'only 112 hosts can send to it (incast.from is "others")',
        ),
        (
            {"incast": {"to": "r0h0", "size": "1kB", "from": "own", "senders": 16}},
            'only 15 hosts can send to it (incast.from is "own")',
        ),
        ({"poisson": {"load": 0.0}}, "poisson.0.load: 0.0 must be at least 1e-06"),
        ({"poisson": {"load": "much"}}, '"much" must be a number'),
        ({"poisson": {"load": 0.5, "sizes": "web"}}, 'must be one of "websearch", "datamining"'),
        ({"poisson": {"load": 9.0, "of": "10Tbps"}}, "flows; at most 100000000 are run"),
        ({"poisson": {"load": 0.1, "period": "5s"}}, "flows would begin up to 5s, after the end"),
        (
            {"poisson": {"load": 0.5, "connect": "0s"}},
            'poisson.connect: "0ns" must be earlier than',
        ),
        ({"dfsio": {"start": "1s", "connect": "0s"}}, "a job opens new connections for each block"),
        ({"dfsio": {"rotate": "1s"}}, 'only the placement "rehdfs" rotates'),
        ({"dfsio": {"placement": "near"}}, 'dfsio.0.placement: "near" must be one of'),
    ],
)
def test_a_bad_workload_is_refused(tables: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PlanError) as error:
        plan(**tables)
    assert sentence in str(error.value)


def test_a_class_and_an_early_end_leave_other_plans_alone(small: Plan) -> None:
    resolved = small.resolve()
    assert "end_when_done" not in resolved
    assert "dfsio" not in resolved
    assert all("class" not in flow for flow in resolved["flows"])


def test_an_unknown_workload_is_refused() -> None:
    with pytest.raises(PlanError, match='there is no workload "incst"; did you mean "incast"'):
        et.workload("incst")
    with pytest.raises(PlanError, match='there is no workload "x"; there are "bulk", "flow"'):
        et.workload("x")


def test_linux_has_no_model_of_hdfs() -> None:
    from etalon import engine

    said = [str(error) for error in engine.named("linux").problems(plan(dfsio={}))]
    assert any("on Linux run Hadoop itself" in sentence for sentence in said)


def test_flows_at_random_come_by_blocks_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """And where a rack's draws begin is noted once, however many blocks it has: that takes long."""
    noted = []

    class Noted(np.random.RandomState):
        def set_state(self, state: Any) -> None:
            noted.append(state)
            super().set_state(state)

    table = {"load": 0.9, "sizes": [["100B", 0.0], ["3kB", 1.0]], "of": "1Gbps"}
    network = {"kind": "leaf-spine", "racks": 5, "hosts": 3}
    values = {"network": network, "duration": "20ms", "warmup": "0s", "tdf": 1}
    chosen = Plan.from_dict({**values, "poisson": [table]})
    monkeypatch.setattr(processes, "BATCH", 8)
    monkeypatch.setattr(processes.np.random, "RandomState", Noted)
    found = [
        (int(start), int(src), int(dst), int(size))
        for batch in streaming.batches(chosen)
        for start, src, dst, size in zip(*batch[:4], strict=True)
    ]
    listed = sorted(chosen.flows, key=lambda flow: int(flow["start_ns"]))
    assert len(listed) > 5 * 20 * 8
    assert found == [
        (
            flow["start_ns"],
            flow["src_rack"] * 3 + flow["src_host"],
            flow["dst_rack"] * 3 + flow["dst_host"],
            flow["bytes"],
        )
        for flow in listed
    ]
    assert len(noted) <= 1 + 2 * 5
