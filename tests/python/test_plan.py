# SPDX-License-Identifier: MIT OR Apache-2.0
"""The plan: one schema behind TOML and Python, written back without loss."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import etalon as et
from conftest import ROOT, SMALL
from etalon.errors import PlanError
from etalon.plan import Plan

spans = st.integers(1, 10**9).map(lambda ns: f"{ns}ns")
counts = st.integers(1, 500)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Valid plans of every shape."""
    racks, hosts = draw(st.integers(2, 6)), draw(st.integers(1, 20))
    duration = draw(st.integers(2, 10**9))
    pair = st.permutations(range(racks)).map(lambda order: (order[0], order[1]))
    host = st.integers(0, hosts - 1)
    values: dict[str, Any] = {
        "name": draw(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,20}", fullmatch=True)),
        "description": draw(st.text(max_size=30)),
        "seed": draw(st.integers(0, 2**63 - 1)),
        "duration": f"{duration}ns",
        "warmup": f"{draw(st.integers(0, duration - 1))}ns",
        "tdf": draw(st.integers(1, 100)),
        "network": {
            "racks": racks,
            "hosts": hosts,
            "packet": {"rate": f"{draw(counts)}Mbps", "delay": draw(spans)},
            "voq": draw(counts),
        },
        "schedule": {"kind": draw(st.sampled_from(["strobe", "none"]))},
        "tcp": {"hz": draw(st.integers(10, 1000)), "sack": draw(st.booleans())},
    }
    if draw(st.booleans()):
        small = draw(counts)
        resize = {"packets": small + draw(counts), "before": draw(spans)}
        values["network"]["voq"] = {"packets": small, "resize": resize}
        values["network"]["marking"] = {"threshold": draw(counts)}
        values["network"]["ece"] = {"before": draw(spans)}
    src, dst = draw(pair)
    values["bulk"] = [{"from": src, "to": dst, "cc": "retcp", "params": {"alpha": 3}}]
    src, dst = draw(pair)
    flow = {
        "from": f"r{src}h{draw(host)}",
        "to": f"r{dst}h{draw(host)}",
        "size": f"{draw(counts)}kB",
    }
    values["flow"] = [flow] * draw(st.integers(0, 2))
    if draw(st.booleans()):
        values["schedule"] = {
            "kind": "fixed",
            "configurations": [{"circuits": [[src, dst]], "day": "3us", "night": "1us"}, {}],
        }
    return Plan.from_dict(values)


@given(plans())
def test_toml_is_read_back_as_the_same_plan(plan: Plan) -> None:
    again = Plan.from_toml(plan.to_toml())
    assert again == plan
    assert again.digest == plan.digest


def test_a_dumbbell_is_read_back_as_the_same_plan() -> None:
    plan = et.experiment(
        et.dumbbell("1Gbps", "5ms", queue=30), et.bulk(0, 1, cc="reno"), duration="1s"
    )
    assert Plan.from_toml(plan.to_toml()) == plan


def test_a_plan_that_says_next_to_nothing_is_the_network_of_nsdi20() -> None:
    resolved = Plan.from_toml("[[bulk]]\nfrom = 0\nto = 1\n").resolve()
    assert resolved["hosts"] == {
        "racks": 3,
        "per_rack": 16,
        "mtu": 9000,
        "rate_bps": 40_000_000_000,
        "delay_ns": 2_000,
        "jitter_ns": 1_000,
        "downlink_packets": None,
    }
    assert resolved["network"]["rdcn"] == {
        "packet": {
            "rate_bps": 10_000_000_000,
            "up_delay_ns": 5_000,
            "down_delay_ns": 5_000,
            "internal_queue": 3,
            "hold_queue": 5,
        },
        "night": "own",
        "circuits": [{"rate_bps": 80_000_000_000, "delay_ns": 30_000}],
        "voq": {"packets": 16, "resize": None, "pairs": []},
        "marking": None,
        "ece_in_advance_ns": None,
        "ack_bypass_ns": None,
        "notify": None,
    }
    assert resolved["tdf"] == 20
    assert resolved["warmup_ns"] * 20 == resolved["duration_ns"]
    assert [flow["src_host"] for flow in resolved["flows"]] == list(range(16))
    assert json.loads(json.dumps(resolved)) == resolved


def test_python_and_toml_describe_the_same_experiment() -> None:
    net = et.network(
        voq={"packets": 16, "resize": {"packets": 50, "before": "150us"}}, ece={"before": "150us"}
    )
    plan = et.experiment(
        net,
        et.strobe(net, mimic=25),
        et.bulk(0, 1, cc="retcp", alpha=2.0, beta=0.5),
        duration="960ms",
    )
    assert plan.digest == Plan.load(ROOT / "examples" / "retcp.toml").digest


def test_the_week_of_the_paper_has_4800_us(small: Plan) -> None:
    assert small.replace({"schedule.mimic": 25}).week_ns == 4_800_000


def test_fixed_circuits_become_sources_by_destination() -> None:
    net = et.network(racks=3)
    week = et.fixed(net, [[(0, 1), (1, 2)], {"circuits": [(2, 0)], "day": "90us", "night": 0}])
    assert week.expand(net) == [
        {"sources": [-1, 0, 1], "day_ns": 180_000, "night_ns": 20_000, "plane": 1},
        {"sources": [2, -1, -1], "day_ns": 90_000, "night_ns": 0, "plane": 1},
    ]


def test_circuits_of_another_rate_or_delay_are_of_another_plane() -> None:
    net = et.network(racks=3)
    both = [(0, 1), (1, 0)]
    week = et.fixed(
        net,
        [
            {"repeat": 2},
            {"circuits": both, "rate": "40Gbps", "repeat": 3},
            {"circuits": both},
            {"circuits": both, "rate": "40Gbps", "delay": "5us"},
            {"circuits": both, "delay": "30us", "rate": "80Gbps"},  # as those of the network
        ],
    )
    assert [c["plane"] for c in week.expand(net)] == [1, 1, 1, 1, 1, 2, 3, 2]
    plan = et.experiment(net, week, et.bulk(0, 1))
    assert plan.resolve()["network"]["rdcn"]["circuits"] == [
        {"rate_bps": 40_000_000_000, "delay_ns": 30_000},
        {"rate_bps": 80_000_000_000, "delay_ns": 30_000},
        {"rate_bps": 40_000_000_000, "delay_ns": 5_000},
    ]


def test_a_week_may_change_and_its_circuits_may_be_of_new_kinds() -> None:
    both = [[0, 1], [1, 0]]
    values = {
        "network": {"racks": 2},
        "schedule": {
            "day": "90us",
            "change": [
                {"at": "20ms", "configurations": [{"circuits": both, "rate": "1Gbps"}]},
                {
                    "at": "10ms",
                    "configurations": [{"circuits": both, "delay": "1us", "day": "50us"}, {}],
                },
            ],
        },
        "bulk": [{"from": 0, "to": 1}],
    }
    resolved = Plan.from_dict(values).resolve()
    assert [c["delay_ns"] for c in resolved["network"]["rdcn"]["circuits"]] == [
        30_000,
        1000,
        30_000,
    ]
    first, second = resolved["schedule"]["changes"]
    assert (first["at_ns"], second["at_ns"]) == (10_000_000, 20_000_000)
    assert first["configurations"] == [
        {"sources": [1, 0], "day_ns": 50_000, "night_ns": 20_000, "plane": 2},
        {"sources": [-1, -1], "day_ns": 90_000, "night_ns": 20_000, "plane": 1},
    ]
    assert [c["plane"] for c in second["configurations"]] == [3]


def test_without_circuits_the_kind_of_the_network_is_there() -> None:
    net = et.network(racks=3)
    plan = et.experiment(net, et.fixed(net, [{}]), et.bulk(0, 1))
    assert len(plan.resolve()["network"]["rdcn"]["circuits"]) == 1


def test_a_network_may_have_circuits_only() -> None:
    net = et.network(racks=2, packet=None)
    plan = et.experiment(net, et.bulk(0, 1))
    assert plan.resolve()["network"]["rdcn"]["packet"] is None


def test_without_circuits_there_is_no_week() -> None:
    net = et.network(racks=3)
    plan = et.experiment(net, et.packet_only(net), et.bulk(0, 1))
    assert plan.resolve()["schedule"] is None
    assert et.run(plan.replace({"duration": "20ms"})).circuit_utilization is None


def test_more_bulk_flows_than_hosts_begin_again_at_the_first_host() -> None:
    plan = et.experiment(et.network(hosts=2), et.bulk(0, 1, flows=5))
    assert [flow["dst_host"] for flow in plan.resolve()["flows"]] == [0, 1, 0, 1, 0]


def test_a_dumbbell_returns_over_one_delay_as_long_as_its_path() -> None:
    stages = [{"rate": "10Gbps", "delay": "30us"}, {"rate": "1Gbps", "delay": "20us"}]
    resolved = et.experiment(et.dumbbell(path=stages), et.bulk(0, 1)).resolve()
    assert resolved["schedule"] is None
    assert resolved["network"]["dumbbell"]["return_stages"] == [
        {"rate_bps": None, "queue_packets": None, "delay_ns": 50_000}
    ]


def test_replace_sets_one_key_and_keeps_the_rest(small: Plan) -> None:
    changed = small.replace({"network.voq.resize.before": "1ms", "bulk.cc": "reno", "seed": 7})
    assert changed.network.voq.resize.before == 1_000_000  # type: ignore[union-attr]
    assert changed.network.voq.packets == 16  # type: ignore[union-attr]
    assert changed.bulk[0].cc == "reno"
    assert changed.seed == 7
    assert changed.network.hosts == 2
    assert small.seed == 1


def test_replace_leaves_what_it_was_given(small: Plan) -> None:
    changes = {"bulk": [{"from": 0, "to": 1}], "bulk.cc": "reno"}
    assert small.replace(changes).resolve()["flows"][0]["cc"] == "reno"
    assert changes == {"bulk": [{"from": 0, "to": 1}], "bulk.cc": "reno"}


def test_replace_reaches_one_or_all_entries_of_a_list(small: Plan) -> None:
    two = small.replace({"bulk": [{"from": 0, "to": 1}, {"from": 1, "to": 2}]})
    assert [bulk.cc for bulk in two.replace({"bulk.1.cc": "reno"}).bulk] == ["cubic", "reno"]
    assert [bulk.cc for bulk in two.replace({"bulk.cc": "reno"}).bulk] == ["reno", "reno"]


def test_replace_gives_all_classes_what_a_file_may_give_once() -> None:
    plan = et.load(ROOT / "examples" / "rotornet.toml")
    one = plan.replace(
        {"routing.hops": 1, "network.queue.unlimited": None, "network.queue.packets": 50}
    )
    values = one.to_dict(defaults=False)
    assert values["routing"] == {"low": {"kind": "rotorlb", "hops": 1}}
    assert values["network"]["queue"] == {"low": {"packets": 50}, "bulk": {"packets": 50}}
    both = plan.replace(
        {"shuffle.transport": "tcp", "routing": {"low": {"kind": "vlb"}, "bulk": {"kind": "vlb"}}}
    )
    both = both.replace({"routing.kind": "direct", "routing.cutoff": "1MB"})
    direct = {"kind": "direct"}
    assert both.to_dict(defaults=False)["routing"] == {
        "low": direct,
        "bulk": direct,
        "cutoff": "1MB",
    }


def test_replace_takes_out_what_is_none(small: Plan) -> None:
    """Its default holds, as if the file had no such key."""
    two = small.replace({"bulk": [{"from": 0, "to": 1, "cc": "reno"}, {"from": 1, "to": 2}]})
    assert [bulk.cc for bulk in two.replace({"bulk.cc": None}).bulk] == ["cubic", "cubic"]
    assert [bulk.dst for bulk in two.replace({"bulk.0": None}).bulk] == [2]
    assert two.replace({"bulk": None, "permutation": [{"size": "1MB"}]}).bulk == ()
    assert small.replace({"network.hosts": None}).network.hosts == Plan().network.hosts
    assert small.replace({"poisson.load": None, "tcp.otcp.alpha": None}) == small
    with pytest.raises(PlanError, match=r"network.vqo: unknown key; did you mean"):
        small.replace({"network.vqo": None})
    with pytest.raises(PlanError, match=r"bulk.7: there is no entry 7"):
        small.replace({"bulk.7": None})


def test_the_warm_up_follows_a_changed_duration(small: Plan) -> None:
    plan = Plan.from_toml("[[bulk]]\nfrom = 0\nto = 1\n").replace({"duration": "100ms"})
    assert plan.warmup == 5_000_000
    assert small.replace({"duration": "100ms"}).warmup == 10_000_000


def test_the_digest_is_that_of_the_experiment_not_of_its_name(small: Plan) -> None:
    assert small.digest == Plan.from_toml(SMALL).digest
    assert small.digest == small.replace({"name": "other"}).digest
    assert small.digest != small.replace({"seed": 2}).digest
    assert small.digest != small.replace({"network.voq": 17}).digest


@pytest.mark.parametrize(
    ("changes", "warning"),
    [
        ({"duration": "4ms", "schedule.mimic": 25, "warmup": 0}, "less than one week of 4.8 ms"),
        ({"bulk.cc": "dctcp"}, "network.marking is not set"),
        ({"bulk.cc": "retcp"}, "network.ece is not set"),
        ({"network.voq": {"resize": {"before": "2ms"}}}, "the VOQ will always be large"),
        (
            {"schedule": {"kind": "fixed", "configurations": [{"circuits": [[1, 0]]}]}},
            "rack 0 sends to rack 1, but the schedule never joins them",
        ),
    ],
)
def test_plans_that_mislead_are_warned_about(
    small: Plan, changes: dict[str, Any], warning: str
) -> None:
    assert small.warnings == []
    found = small.replace(changes).warnings
    assert len(found) == 1
    assert warning in found[0]
    with pytest.warns(et.PlanWarning, match=r".*"):
        et.run(small.replace(changes))


def test_otcp_computes_what_the_paper_computes() -> None:
    """By CNSM'16's equations, of the configured delays: its Table I has measured ones, 229 to 371 us longer."""
    plan = et.Plan.from_dict(
        {
            "tdf": 1,
            "network": {"kind": "tree"},
            "tcp": {"otcp": True, "path": [{"layer": "pod", "max_cwnd": 7}]},
            "flow": [{"from": "r0h0", "to": "r0h1", "size": "1MB"}],
        }
    )
    rack, pod, core = plan.resolve()["tcp"]["by_distance"]
    ms = 1_000_000
    # RTTs of 0.4, 1.2 and 5.2 ms; RTOinit twice the RTT and the queues of 2, 6 and 10 ports of 720 us.
    assert rack == {
        "min_rto_ns": 1 * ms,
        "initial_rto_ns": 2 * (400_000 + 2 * 720_000),
        "initial_cwnd": 1,
        "max_cwnd": 34,
    }
    assert (pod["min_rto_ns"], pod["initial_rto_ns"]) == (2 * ms, 2 * (1_200_000 + 6 * 720_000))
    assert (pod["max_cwnd"], pod["initial_cwnd"]) == (7, 2)
    assert (core["min_rto_ns"], core["max_cwnd"], core["initial_cwnd"]) == (6 * ms, 445, 5)
    assert core["initial_rto_ns"] == 2 * (5_200_000 + 10 * 720_000)


def test_otcp_publishes_no_window_that_its_protocol_has_not() -> None:
    fast = {"rate": "400Gbps", "delay": "100ms"}
    plan = et.Plan.from_dict(
        {
            "network": {"kind": "tree", "rack": fast, "pod": fast, "core": fast},
            "tcp": {"otcp": True},
            "flow": [{"from": "r0h0", "to": "r0h1", "size": "1MB"}],
        }
    )
    assert plan.resolve()["tcp"]["by_distance"][2]["max_cwnd"] == 65_535
