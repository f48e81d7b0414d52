# SPDX-License-Identifier: MIT OR Apache-2.0
"""Parts of the hybrid that fail and return: what hosts notice, on both engines."""

from __future__ import annotations

from typing import Any

import pytest

import etalon as et
from conftest import need_kernel
from etalon.errors import PlanError


def plan(failure: list[dict[str, Any]], **network: Any) -> et.Plan:
    """Eight flows from rack 0 to rack 1 over 40 ms: 33 weeks of 1.2 ms, in which each pair has a circuit for 180 us."""
    flows = [
        {"from": f"r0h{host}", "to": f"r1h{host}", "size": "1GB", "cc": "cubic"}
        for host in range(8)
    ]
    description = {
        "duration": "40ms",
        "warmup": 0,
        "tdf": 1,
        "network": {"racks": 7, "hosts": 8, "failure": failure, **network},
        "schedule": {"kind": "strobe", "day": "180us", "night": "20us"},
        "measure": {"pair": [0, 1]},
        "flow": flows,
    }
    return et.Plan.from_dict(description)


def carried(run: et.Run) -> dict[str, int]:
    """Bytes from rack 0 to rack 1 by network, and packets lost on links that failed."""
    pair = run.pairs.filter((run.pairs["src"] == 0) & (run.pairs["dst"] == 1)).row(0, named=True)
    names = ("packet_payload_bytes", "circuit_payload_bytes", "dropped_link")
    return {name: pair[name] for name in names}


CIRCUITS = {"switch": 1, "from": "10ms", "to": "30ms"}


@pytest.mark.parametrize("engine", ["sim", "linux"])
def test_flows_outlive_their_circuits(engine: str) -> None:
    if engine == "linux":
        need_kernel()
    whole, without = (carried(et.run(plan(f), engine=engine)) for f in ([], [CIRCUITS]))
    assert whole["dropped_link"] == 0
    # Of 33 days 16 or 17 are left.
    assert 0.4 < without["circuit_payload_bytes"] / whole["circuit_payload_bytes"] < 0.65
    assert without["packet_payload_bytes"] > 0.5 * whole["packet_payload_bytes"]


def test_whoever_knows_uses_the_packet_network_instead() -> None:
    slow, fast = (
        carried(et.run(plan([{"switch": 1, "from": 0}], reroute=reroute)))
        for reroute in ("1s", "100us")
    )
    assert slow["circuit_payload_bytes"] == fast["circuit_payload_bytes"] == 0
    # A pair's day and the night before it are a sixth of the week, and whoever is not cut off then loses fewer packets.
    assert fast["packet_payload_bytes"] > 1.2 * slow["packet_payload_bytes"]
    assert fast["dropped_link"] == 0


def test_circuits_that_lock_late_have_shorter_days() -> None:
    late = {"sender": [0, 1], "from": 0, "locks_after": "90us"}
    whole, short = (carried(et.run(plan(f))) for f in ([], [late]))
    assert short["dropped_link"] == 0
    assert 0.3 < short["circuit_payload_bytes"] / whole["circuit_payload_bytes"] < 0.75


@pytest.mark.parametrize(
    ("failure", "network", "sentence"),
    [
        ({}, {}, "network.failure.0: must name exactly one part that fails"),
        ({"rack": 7}, {}, "network.failure.0.rack: there is no rack 7 (racks 0..6)"),
        ({"switch": 1, "to": "1ms"}, {}, 'network.failure.0.to: "1ms" must be later than its start at 1ms'),
        ({"link": [0, 0]}, {"circuits_only": True}, "network.failure.0.link: network.circuits_only removes the packet network"),
        ({"switch": 0, "locks_after": "1us"}, {}, "network.failure.0.locks_after: uplink and switch 0"),
        ({"sender": [0, 2]}, {}, "network.failure.0.sender: there is no uplink or switch 2"),
    ],
)  # fmt: skip
def test_what_cannot_fail_gets_a_sentence(
    failure: dict[str, Any], network: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(PlanError) as caught:
        et.run(plan([{"from": "1ms", **failure}], **network))
    assert sentence in str(caught.value)
