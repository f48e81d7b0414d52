# SPDX-License-Identifier: MIT OR Apache-2.0
"""Bad plans: each gets the sentence that says what is wrong and what was expected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import etalon as et
from conftest import SMALL
from etalon.errors import PlanError
from etalon.plan import Plan

FIXED = {"kind": "fixed", "configurations": [{"circuits": []}]}


def week(*circuits: list[int]) -> dict[str, Any]:
    return {"kind": "fixed", "configurations": [{"circuits": list(circuits)}]}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        # Unknown keys
        ({"netwrk": {}}, 'netwrk: unknown key; did you mean "network"?'),
        ({"network.voq.packet": 3}, 'network.voq.packet: unknown key; did you mean "packets"?'),
        ({"network.circuit.rat": 3}, 'network.circuit.rat: unknown key; did you mean "rate"?'),
        ({"bulk.frm": 1}, 'bulk.0.frm: unknown key; did you mean "from"?'),
        (
            {"schedule.zebra": 1},
            "schedule.zebra: unknown key; known are kind, day, night, change, mimic",
        ),
        # Units
        (
            {"network.packet.rate": "10us"},
            'network.packet.rate: "10us" has an unknown unit; a rate is written like "10Gbps" '
            "(units: Tbps, Gbps, Mbps, kbps, bps)",
        ),
        (
            {"duration": 3},
            'duration: 3 has no unit; a time is written like "180us" (units: s, ms, us, ns)',
        ),
        (
            {"duration": "-3s"},
            'duration: "-3s" is negative; a time is written like "180us" (units: s, ms, us, ns)',
        ),
        # Values out of range
        ({"network.voq.packets": -3}, "network.voq.packets: -3 must be at least 1"),
        ({"network.voq": 0}, "network.voq.packets: 0 must be at least 1"),
        ({"network.racks": 1}, "network.racks: 1 must be at least 2"),
        ({"network.racks": 100_000}, "network.racks: 100000 must be at most 1024"),
        ({"network.mtu": 100}, "network.mtu: 100 must be at least 576"),
        ({"duration": "0s"}, 'duration: 0 must be more than zero: a time like "180us"'),
        ({"duration": "90min"}, 'duration: "90min" is too large: a time is at most "60min"'),
        ({"tdf": 0}, "tdf: 0 must be at least 1"),
        (
            {"tcp.receive_buffer": "2GB"},
            'tcp.receive_buffer: "2GB" is too large: a buffer is at most 1GiB (RFC 7323)',
        ),
        (
            {"tcp.max_send_buffer": "1kB"},
            'tcp.max_send_buffer: "1kB" is too small: a send buffer has at least 16KiB (tcp_wmem)',
        ),
        (
            {"network.packet.rate": "900Tbps"},
            'network.packet.rate: "900Tbps" is too large: a rate is at most "100Tbps"',
        ),
        # Values of another type
        ({"seed": 1.5}, "seed: 1.5 must be a whole number"),
        ({"seed": True}, "seed: true must be a whole number"),
        ({"tcp.sack": 1}, "tcp.sack: 1 must be true or false"),
        ({"network": 3}, "network: 3 must be a table with keys"),
        ({"bulk": 3}, "bulk: 3 must be a list"),
        ({"name": 3}, "name: 3 must be text in quotes"),
        ({"name": "a/b"}, 'name: "a/b" must be made of letters, digits and . _ + - only'),
        # One of a few
        (
            {"network.kind": "dumbel"},
            'network.kind: "dumbel" must be one of "rdcn", "dumbbell", "tree", "leaf-spine", "ocs"; did you mean "dumbbell"?',
        ),
        (
            {"schedule.kind": "strob"},
            'schedule.kind: "strob" must be one of "strobe", "tournament", "fixed", "none", "asked", "rotor", "opera", '
            '"shale", "round-robin", "static", "file", "bvn", "eclipse", '
            '"max-weight", "solstice", "solstice-published", "tms", "FILE.py:NAME"; did you mean "strobe"?',
        ),
        # Times that do not fit together
        (
            {"warmup": "30ms"},
            'warmup: "30ms" must be shorter than the duration of 30ms: nothing would be measured',
        ),
        (
            {"schedule.night": "180us"},
            'schedule.night: "180us" must be shorter than the day of 180us: the duty cycle would be 50 %',
        ),
        (
            {"schedule": FIXED, "schedule.night": "540us"},
            'schedule.configurations.0.night: "540us" must be shorter than the day of 180us: '
            "the duty cycle would be 25 %",
        ),
        (
            {"bulk.start": "30ms"},
            'bulk.start: "30ms" is not before the end of the experiment at 30ms',
        ),
        (
            {"bulk.start": "5ms", "bulk.stop": "5ms"},
            'bulk.stop: "5ms" must be later than the start at 5ms',
        ),
        (
            {"network.notify": {"before": "201us"}},
            'network.notify.before: "201us" must not be longer than the shortest configuration of the schedule, '
            "which is 200us with its night",
        ),
        (
            {"network.circuits_only": True, "network.packet": {"rate": "1Gbps"}},
            "network.packet: network.circuits_only removes the packet network; leave this out",
        ),
        (
            {"network.circuits_only": True, "schedule": week([0, 1], [1, 2])},
            "network.circuits_only: racks 0 and 1 need a circuit from 1 to 0, as there is no packet network; "
            "the schedule has none",
        ),
        (
            {"network.circuits_only": True, "schedule": {"kind": "none"}},
            "network.circuits_only: racks 0 and 1 need a circuit from 0 to 1, as there is no packet network; "
            "the schedule has none",
        ),
        (
            {"schedule": {"kind": "fixed", "configurations": [{"rate": "1Gbps"}]}},
            "schedule.configurations.0.rate: a day without circuits has no rate",
        ),
        (
            {
                "schedule": {
                    "kind": "fixed",
                    "configurations": [
                        {"circuits": [[0, 1]], "rate": f"{n + 1}Gbps"} for n in range(16)
                    ],
                }
            },
            "schedule.configurations: circuits differ in rate or delay in 16 ways; at most 15 are possible",
        ),
        (
            {
                "schedule.change": [
                    {"at": "1ms", "configurations": [{"circuits": [[0, 1], [0, 2]]}]}
                ]
            },
            "schedule.change.0.configurations.0.circuits: not a matching: rack 0 is the source of two circuits",
        ),
        (
            {"schedule.change": [{"at": "1ms", "configurations": []}]},
            "schedule.change.0.configurations: must have at least 1 entry",
        ),
        (
            {"schedule": {"kind": "solstice", "change": []}},
            'schedule.change: only a schedule of kind "strobe" or of kind "tournament" or of kind "fixed" '
            "takes this key, not one that is computed from demand",
        ),
        (
            {
                "network.notify": {"before": "100us"},
                "schedule.change": [{"at": "1ms", "configurations": [{"day": "50us"}]}],
            },
            'network.notify.before: "100us" must not be longer than the shortest configuration of the schedule, '
            "which is 70us with its night",
        ),
        (
            {"network.night": "none"},
            'network.night: "none" must be one of "own", "all"; did you mean "own"?',
        ),
        ({"network.notify": {"lost": 1.5}}, "network.notify.lost: 1.5 must be at most 1.0"),
        # Matchings
        (
            {"schedule": week([0, 1], [0, 2])},
            "schedule.configurations.0.circuits: not a matching: rack 0 is the source of two circuits",
        ),
        (
            {"schedule": week([0, 2], [1, 2])},
            "schedule.configurations.0.circuits: not a matching: rack 2 is the destination of two circuits",
        ),
        (
            {"schedule": week([1, 1])},
            "schedule.configurations.0.circuits: [1, 1] is not a circuit: rack 1 would be joined to itself",
        ),
        (
            {"schedule": week([0, 7])},
            "schedule.configurations.0.circuits: [0, 7] names rack 7, which does not exist (racks 0..2)",
        ),
        (
            {"schedule": {"kind": "fixed"}},
            'schedule.configurations: kind = "fixed" needs at least one configuration, '
            "for instance [{ circuits = [[0, 1], [1, 0]] }], or a file, or a demand",
        ),
        (
            {"schedule.mimic": 25, "network.racks": 8},
            "schedule.mimic: only 3 racks can stand for 25, as on NSDI'20's testbed (section 4.5); "
            "this network has 8: leave mimic out to run them all",
        ),
        (
            {"schedule.mimic": 25, "network.racks": 2},
            "schedule.mimic: only 3 racks can stand for 25, as on NSDI'20's testbed (section 4.5); "
            "this network has 2: leave mimic out to run them all",
        ),
        # Absurd lengths
        (
            {"schedule.day": "900ns", "schedule.night": "0ns"},
            'schedule.day: "900ns" must be at least 1us: a packet of 9000 B takes 0.9us at 80 Gb/s',
        ),
        (
            {"schedule.day": "999s", "schedule.night": "0ns"},
            "schedule.day: the week would last 1998 s; it may last at most 1000 s",
        ),
        (
            {"duration": "60min", "tdf": 10_000},
            "duration: 3600s are 36000000 s on the hosts' clocks, tdf times as long; at most 2073600 s, as TCP's "
            "timestamps in ms have 32 bits (RFC 7323)",
        ),
        # Types
        (
            {"network.voq": "16kB"},
            'network.voq.packets: "16kB" must be a number of packets, like 16',
        ),
        (
            {"network.circuit": "80Gbps"},
            'network.circuit: "80Gbps" must be rate and delay, like ["80Gbps", "30us"], or a table with keys',
        ),
        ({"network.ece": 3}, "network.ece: 3 must be a table with keys"),
        ({"bulk": {"from": 0}}, "bulk: write [[bulk]], in double brackets: there may be several"),
        (
            {"network": {"kind": "dumbbell", "path": {"queue": 50}}},
            "network.path: write [[network.path]], in double brackets: there may be several",
        ),
        ({"tdf": 1e9}, "tdf: 1000000000.0 must be a whole number from 1 to 10000"),
        # Hosts and flows
        (
            {"flow": [{"from": "r0h0", "to": "r3h99", "size": "1MB"}]},
            "flow.to: there is no host r3h99 (racks 0..2, hosts 0..1)",
        ),
        (
            {"flow": [{"from": "r0h0", "to": "bob", "size": "1MB"}]},
            'flow.0.to: "bob" is not a host: a host is written like "r0h3" (rack 0, host 3)',
        ),
        (
            {"flow": [{"from": "r0h1", "to": "r0h1", "size": "1MB"}]},
            "flow.to: host r0h1 would send to itself",
        ),
        ({"flow": [{"from": "r0h1", "to": "r1h1"}]}, "flow.0.size: must be given"),
        ({"bulk.to": 0}, "bulk.to: rack 0 would send to itself"),
        ({"bulk.to": 9}, "bulk.to: there is no rack 9 (racks 0..2)"),
        (
            {"bulk.flows": 200_000},
            "bulk: the plan has 200000 flows, and above 100000 they are not listed: "
            "only [[shuffle]], [[poisson]] and [[trace]] can have 200000",
        ),
        # Congestion controls
        (
            {"bulk.cc": "cubik"},
            'bulk.cc: "cubik" is not a congestion control; did you mean "cubic"?',
        ),
        (
            {"bulk.cc": "retcp", "bulk.params": {"alfa": 2}},
            'bulk.params.alfa: retcp has no such parameter; did you mean "alpha"?',
        ),
        (
            {"bulk.params": {"hystart": 0.5}},
            "bulk.params.hystart: 0.5 must be a whole number",
        ),
        # Queues
        (
            {"network.voq.resize.packets": 8},
            "network.voq.resize.packets: 8 must be at least network.voq.packets, which is 16",
        ),
        # Dumbbells
        (
            {"network": {"kind": "dumbbell"}},
            'schedule: a network of kind "dumbbell" has no circuits and so no schedule; leave the table out',
        ),
        # Lists
        ({"bulk.4.cc": "reno"}, "bulk.4.cc: there is no entry 4; the plan has 1"),
    ],
)
def test_the_sentence(small: Plan, changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PlanError) as error:
        small.replace(changes)
    assert str(error.value) == sentence


def test_parameters_stay_within_what_the_congestion_control_allows(small: Plan) -> None:
    from etalon.controls import controls

    alpha = controls()["retcp"].parameters["sim"]["alpha"]
    assert alpha.min is not None
    assert alpha.max is not None
    with pytest.raises(PlanError, match=f"must be at most {alpha.max}"):
        small.replace({"bulk.cc": "retcp", "bulk.params": {"alpha": alpha.max * 2}})
    with pytest.raises(PlanError, match=f"must be at least {alpha.min}"):
        small.replace({"bulk.cc": "retcp", "bulk.params": {"alpha": alpha.min - 1}})


def test_all_errors_are_said_at_once(small: Plan) -> None:
    with pytest.raises(PlanError) as error:
        small.replace({"network.voq.packets": -3, "tdf": 0, "colour": "red"})
    lines = str(error.value).splitlines()
    assert lines[:2] == ["tdf: 0 must be at least 1", "network.voq.packets: -3 must be at least 1"]
    assert lines[2].startswith("colour: unknown key")


def test_what_follows_from_another_error_is_not_said() -> None:
    with pytest.raises(PlanError) as error:
        Plan.from_toml("duration = 10\n[[bulk]]\nfrom = 0\nto = 1\n")
    assert str(error.value).splitlines() == [
        'duration: 10 has no unit; a time is written like "180us" (units: s, ms, us, ns)'
    ]


def test_the_file_comes_first_and_the_parts_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text("[network]\nvoq = { packets = -3 }\n[[bulk]]\nfrom = 0\nto = 1\n")
    with pytest.raises(PlanError) as error:
        Plan.load(path)
    assert str(error.value) == f"{path}: network.voq.packets: -3 must be at least 1"
    assert (error.value.file, error.value.key, error.value.value) == (
        str(path),
        "network.voq.packets",
        -3,
    )


def test_toml_syntax_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text("seed = 1\nduration = oops\n")
    with pytest.raises(PlanError) as error:
        Plan.load(path)
    assert str(error.value) == f"{path}:2: not valid TOML: invalid value"


def test_a_missing_file_a_folder_and_a_binary_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe\x00")
    for name, sentence in (
        ("no.toml", "there is no such file"),
        (".", "is a folder"),
        ("b.toml", "is not text"),
    ):
        with pytest.raises(PlanError, match=sentence):
            Plan.load(tmp_path / name)


def test_python_calls_say_the_key_too() -> None:
    with pytest.raises(PlanError, match=r"^network\.voq\.packets: -3 must be at least 1$"):
        et.network(voq=-3)
    with pytest.raises(PlanError, match=r"^schedule\.night: .* duty cycle would be 25 %$"):
        et.strobe(et.network(), day="10us", night="30us")
    with pytest.raises(PlanError, match=r"^flow\.from: 3 is not a host"):
        et.flow(3, "r1h1", size="1MB")  # type: ignore[arg-type]
    with pytest.raises(PlanError, match=r"give at least one workload, like etalon\.bulk\(0, 1\)"):
        et.run(et.network())
    with pytest.raises(PlanError, match="the plan sends nothing: give at least one workload"):
        et.run(Plan.from_toml('duration = "1ms"'))
    with pytest.raises(PlanError, match="give the plan alone"):
        et.run(et.experiment(et.network(), et.bulk(0, 1)), et.strobe(et.network()))


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(
        ["180us", "10Gbps", "1MB", "r0h1", "r1h0", "cubic", "retcp", "fixed", "dumbbell"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["from", "to", "size", "packets", "kind", "x"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)
keys = st.sampled_from(
    [
        *(
            "name",
            "seed",
            "duration",
            "warmup",
            "tdf",
            "network",
            "schedule",
            "tcp",
            "measure",
            "bulk",
            "flow",
        ),
        *(
            "network.kind",
            "network.racks",
            "network.voq",
            "network.voq.pairs",
            "network.voq.resize",
        ),
        *(
            "network.packet",
            "network.host",
            "network.marking",
            "network.ece",
            "network.path",
            "network.mtu",
        ),
        *(
            "schedule.kind",
            "schedule.mimic",
            "schedule.configurations",
            "schedule.night",
            "schedule.day",
        ),
        *("measure.pair", "bulk.from", "bulk.params", "bulk.flows", "bulk.0", "flow.to", "tcp.hz"),
    ]
)


@given(st.dictionaries(keys, values, max_size=4))
def test_whatever_stands_in_a_plan_the_error_is_a_sentence(changes: dict[str, Any]) -> None:
    said, plan = "", None
    try:
        plan = Plan.from_toml(SMALL).replace(changes)
    except PlanError as error:
        said = str(error)
    if plan is None:
        assert all(": " in line for line in said.split("\n"))
    else:
        assert Plan.from_toml(plan.to_toml()) == plan


@pytest.mark.parametrize(
    ("threshold", "resize", "warned"),
    [
        (15, None, False),
        (16, None, True),
        (16, {"packets": 50}, False),
        (16, {"packets": 31}, True),
    ],
)
def test_a_threshold_that_no_queue_reaches_is_warned_of(
    threshold: int, resize: dict[str, Any] | None, warned: bool
) -> None:
    voq = {"packets": 16, **({"resize": resize} if resize else {})}
    net = et.network(voq=voq, marking={"threshold": threshold})
    plan = et.experiment(net, et.bulk(0, 1, cc="dctcp"))
    sentence = (
        f"network.marking.threshold is {threshold}, but VOQs hold 16 packets: none will be marked"
    )
    assert (sentence in plan.warnings) == warned
