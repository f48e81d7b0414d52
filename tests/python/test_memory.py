# SPDX-License-Identifier: MIT OR Apache-2.0
"""Memory does not grow with the length of a run."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import etalon as et
from etalon.plan import Plan

CHILD = """
import sys
from etalon import _core
_core.run(_core.Scenario(sys.stdin.read()))
status = open("/proc/self/status").read()
print(*(status.split(name)[1].split()[0] for name in ("VmHWM:", "VmRSS:")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc for the peak")
def test_twenty_times_the_length_takes_the_same_memory(small: Plan) -> None:
    short, long = (_peak_kb(small.replace({"duration": d})) for d in ("500ms", "10s"))
    assert long < short + 3000


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc for the peak")
def test_what_a_flow_with_four_tdns_takes() -> None:
    """Its sender parks three paths of 0.3 kB. All else, packets in flight included, plain TCP has, too."""
    net = et.network(racks=2, hosts=16, voq=30_000, host={"rate": "100Gbps"})
    kinds = [{"circuits": [[0, 1], [1, 0]], "rate": f"{rate}Gbps"} for rate in (40, 80, 100)]
    week = et.fixed(net, [{"circuits": []}, *kinds])

    def memory(flows: int, transport: str) -> tuple[int, int]:
        bulk = et.bulk(0, 1, flows=flows, transport=transport)
        return _memory_kb(et.experiment(net, week, bulk, duration="120ms", warmup="0s", tdf=20))

    (few, _), (tcp, _), (tdtcp, left) = (
        memory(16, "tdtcp"),
        memory(10_000, "tcp"),
        memory(10_000, "tdtcp"),
    )
    # Two peaks: each varies by 0.2 kB a flow on a busy machine.
    assert (tdtcp - tcp) * 1024 / 10_000 < 1_200
    assert (tdtcp - few) * 1024 / 10_000 < 4_000
    assert (tcp - few) * 1024 / 10_000 < 2_900
    # Only the plan and the tables are left: a run gives back what it took.
    assert (left - few) * 1024 / 10_000 < 1_000


def _peak_kb(plan: Plan) -> int:
    return _memory_kb(plan)[0]


def _memory_kb(plan: Plan) -> tuple[int, int]:
    """The peak of a process that runs a plan, and what it has at the end."""
    resolved = json.dumps(plan.resolve())
    command = [sys.executable, "-c", CHILD]
    child = subprocess.run(command, input=resolved, capture_output=True, text=True, check=True)
    peak, end = map(int, child.stdout.split())
    return peak, end
