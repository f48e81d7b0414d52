# SPDX-License-Identifier: MIT OR Apache-2.0
"""Mistakes in plans of networks of circuits: each gets a sentence with its key."""

from __future__ import annotations

from typing import Any

import pytest

import etalon as et
from etalon.errors import PlanError

FOUR = [[1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]]
"""Four racks with one uplink, by slice."""


def plan(**changes: Any) -> et.Plan:
    """Four racks; keys of the network are joined to those that are there."""
    network = {"kind": "ocs", "racks": 4, "hosts": 1, "circuits": {"switches": 2}}
    values: dict[str, Any] = {
        "duration": "2ms",
        "warmup": 0,
        "schedule": {"kind": "rotor", "slice": "100us", "night": "10us"},
        "routing": "direct",
        "flow": [{"from": "r0h0", "to": "r1h0", "size": "1kB"}],
        **changes,
        "network": {**network, **changes.get("network", {})},
    }
    return et.Plan.from_dict(values)


def listed(slices: list[list[int]], routing: Any = "direct") -> et.Plan:
    """A network with these slices of one switch."""
    schedule = {"kind": "file", "slices": slices}
    return plan(network={"circuits": {"switches": 1}}, schedule=schedule, routing=routing)


def ndp(**keys: Any) -> dict[str, Any]:
    """A flow of NDP with these keys."""
    transport = {"kind": "ndp", **keys}
    return {"flow": [{"from": "r0h0", "to": "r1h0", "size": "1kB", "transport": transport}]}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"network": {"failure": [{"link": [3, 4], "from": "1ms"}]}},
            "network.failure.0.link: there is no uplink 4 (uplinks 0..1)",
        ),
        (
            {"network": {"failure": [{"rack": 1, "from": 0}, {"switch": 9, "from": 0}]}},
            "network.failure.1.switch: there is no circuit switch 9 (switches 0..1)",
        ),
        (
            {"network": {"failure": [{"rack": 1, "from": "1ms"}, {"switch": 1, "from": 0}, {"rack": 1, "from": 0}]}},
            "network.failure.2.rack: has failed already then, by network.failure.0",
        ),
        ({"network": {"hold": True}, "schedule": {"kind": "rotor", "night": 0}}, "network.hold: hosts cannot hold in nights"),
        ({"network": {"queue": {"low": {"coin": True}}}}, "network.queue.low.coin: is for queues that trim packets"),
        (ndp(payload="1451B"), "flow.transport.payload: packets of 1451 bytes with headers of 64 are longer than"),
        (ndp(header="1500B"), "flow.transport.header: headers of 1500 bytes leave no room"),
        (ndp(header="2kB", payload="1B"), "flow.transport.header: headers of 2000 bytes leave no room"),
        (ndp(timeout=0), "must be more than zero"),
    ],
)  # fmt: skip
def test_what_cannot_be_gets_a_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PlanError) as caught:
        plan(**changes)
    assert sentence in str(caught.value)


def test_a_frame_may_be_full() -> None:
    assert et.run(plan(**ndp(payload="1450B"))).fct()["fct_us"].null_count() == 0


RING = [[(rack + 1) % 8, (rack - 1) % 8] for rack in range(8)]


@pytest.mark.parametrize(
    ("schedule", "routing", "sentence"),
    [
        ({"neighbours": RING}, "earliest", "low.hops_per_slice: rack 0 is 4 circuits away from rack 4, too far for 1 hops"),
        ({"neighbours": RING}, {"kind": "ucmp", "hops": 3}, "low.hops: rack 0 is 4 circuits away from rack 4, and paths"),
        ({"neighbours": RING}, {"kind": "ucmp", "hops_per_slice": 2}, None),
        ({"kind": "file", "slices": [[1, -1, 0, -1, 3, -1, 2, -1]]}, "earliest", "routing.low: rack 0 never reaches rack 2"),
    ],
)  # fmt: skip
def test_all_racks_are_within_reach(
    schedule: dict[str, Any], routing: Any, sentence: str | None
) -> None:
    racks = len(schedule.get("neighbours", FOUR[0]))
    changes = {
        "network": {"racks": racks},
        "schedule": {"kind": "static", **schedule},
        "routing": routing,
    }
    if sentence is None:
        plan(**changes)
        return
    with pytest.raises(PlanError) as caught:
        plan(**changes)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("slices", "sentence"),
    [
        ([[1, 0, 1, 0]], "slice 0: switch 0 joins rack 2 to rack 1, but leads rack 1 to rack 0"),
        ([FOUR[0], [-1, 0, 3, 2]], "slice 1: switch 0 joins rack 1 to rack 0, but leads rack 0 nowhere"),
    ],
)  # fmt: skip
def test_a_circuit_leads_back(slices: list[list[int]], sentence: str) -> None:
    with pytest.raises(PlanError) as caught:
        listed(slices)
    assert sentence in str(caught.value)


ENTRIES = [(0, 0, 1, 1, 0, 0), (2, 0, 3, 3, 0, 0), (3, 0, 2, 2, 0, 0)]


@pytest.mark.parametrize(
    ("first", "wrong", "sentence"),
    [
        ([(0, 0, 1, 1, 0, 1)], 0, "in slice 1 uplink 0 of rack 0 does not lead to rack 1"),
        ([(0, 0, 3, 1, 0, 0), (1, 0, 3, 0, 0, 0)], 0, "its path is a loop, through racks 0 1 0"),
        ([(0, 0, 3, 1, 0, 0)], 0, "its path leads to rack 1 in slice 0, which has no entry for rack 3"),
        ([(0, 0, 1, 1, 0, 0), (0, 0, 1, 1, 0, 0)], 1, "another entry has the same rack, arrival and destination"),
        ([(2, 0, 2, 3, 0, 0)], 0, "it leads from a rack to itself"),
    ],
)  # fmt: skip
def test_a_time_flow_table_leads_to_its_destinations(
    first: list[tuple[int, ...]], wrong: int, sentence: str
) -> None:
    entries = [*first, *ENTRIES[1:]]
    with pytest.raises(PlanError) as caught:
        listed(FOUR, {"kind": "table", "entries": entries})
    told = " ".join(map(str, entries[wrong]))
    assert f"routing.low.entries.{wrong}: {told}: {sentence}" in str(caught.value)


def test_an_entry_takes_the_first_circuit() -> None:
    entries = [(0, 2, 1, 1, 0, 0), (0, 0, 1, 1, 0, 0)]
    listed(FOUR, {"kind": "table", "entries": entries})
    slices = [*FOUR, FOUR[0]]
    with pytest.raises(PlanError, match=r"0 3 1 1 0 0: rack 0 meets rack 1 in slice 3, before it"):
        listed(slices, {"kind": "table", "entries": [(0, 3, 1, 1, 0, 0)]})


def test_a_queue_of_a_class_without_routing_is_warned_of() -> None:
    told = "network.queue.bulk has no effect: the plan routes only class low"
    assert told in plan(network={"queue": {"bulk": {"packets": 8}}}).warnings
    assert told not in plan(network={"queue": {"packets": 8}}).warnings
    both = {"low": "direct", "bulk": "vlb"}
    assert not plan(network={"queue": {"bulk": {"packets": 8}}}, routing=both).warnings


@pytest.mark.parametrize(
    ("late", "guard", "least", "most"),
    [("20us", 0, 15, 17), ("20us", "10us", 7, 9), ("20us", "20us", 0, 0), ("40us", 0, 32, 34)],
)
def test_what_is_sent_before_a_circuit_locks_is_lost(
    late: str, guard: Any, least: int, most: int
) -> None:
    """At 10 Gb/s, 20 us take 16 packets; guard bands as long as the lateness save them all."""
    failures = [{"switch": one, "from": 0, "locks_after": late} for one in (0, 1)]
    transport = {"kind": "ndp", "window": 40, "timeout": "never"}
    flow = {"from": "r0h0", "to": "r1h0", "size": "57440B", "start": "1ms", "transport": transport}
    network = {"queue": {"unlimited": True}, "guard": guard, "failure": failures}
    run = et.run(plan(network=network, flow=[flow]))
    assert least <= int(run.pairs["dropped_dark"].sum()) <= most
