# SPDX-License-Identifier: MIT OR Apache-2.0
"""Routing that users write in Python: functions that return time-flow tables, in scripts, files, sweeps and folders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import etalon as et
from conftest import Answer, need_kernel
from etalon import timeflow
from etalon.circuits import Circuits
from etalon.errors import EtalonError, PlanError, PlanWarning
from etalon.plan.ways import Ways

FILE = '''
"""Routing functions."""
from etalon import timeflow


def earliest(network):
    return timeflow.of_earliest(network)


def direct(network):
    """Packets wait for the circuit to their destination."""
    entries = []
    for arrival in range(network.slices):
        for here in range(network.racks):
            left = set(range(network.racks)) - {here}
            for later in range(network.slices):
                departure = (arrival + later) % network.slices
                for uplink, peer in enumerate(network.peers[departure, here]):
                    if peer in left:
                        left.remove(peer)
                        entries.append((here, arrival, peer, peer, uplink, departure))
    return entries
'''
PLAN = """
duration = "4ms"
[network]
kind = "ocs"
racks = 8
hosts = 1
circuits = { switches = 2 }
[schedule]
kind = "rotor"
[[bulk]]
from = 0
to = 1
"""


pytestmark = pytest.mark.usefixtures("nothing_stays_allowed")


def earliest(network: Circuits) -> Any:
    return np.array(timeflow.of_earliest(network))


def plan(routing: Any, **more: Any) -> et.Plan:
    return et.Plan.from_dict(
        {
            "duration": "4ms",
            "network": {"kind": "ocs", "racks": 8, "hosts": 1, "circuits": {"switches": 2}},
            "schedule": {"kind": "rotor"},
            "routing": routing,
            "bulk": [{"from": 0, "to": 1}],
            **more,
        }
    )


def as_table(made: et.Plan) -> Any:
    assert made.slices is not None
    return {"kind": "table", "entries": [list(one) for one in timeflow.of_earliest(made.slices)]}


def test_a_function_is_the_table_that_it_returns() -> None:
    made = plan(earliest)
    given = plan(as_table(made))
    ours, theirs = et.run(made), et.run(given)
    assert ours.meta["digest"] == theirs.meta["digest"], "the same events"
    assert made.digest != given.digest, "but code is another plan than a table"
    assert ours.flows.equals(theirs.flows)
    assert (ours.flows["bytes_delivered"] > 0).all()
    assert Ways(made).of(0, 5, slice=1) == Ways(given).of(0, 5, slice=1)
    by_class = plan({"low": earliest, "bulk": {"kind": "vlb"}, "cutoff": "1MB"})
    assert et.run(by_class).flows["bytes_delivered"].sum() > 0


def test_it_runs_from_a_file_and_stays_with_the_run(
    tmp_path: Path, etalon: Callable[..., Answer]
) -> None:
    (tmp_path / "my.py").write_text(FILE)
    file = tmp_path / "plan.toml"
    file.write_text(PLAN + '[routing]\nlow = "my.py:earliest"\n')
    refused = etalon("run", file, "--out", tmp_path / "run", "--no-figures")
    assert refused.code == 2
    assert "my.py; read it, then allow it with --code" in refused.err
    made = etalon("run", file, "--code", "--out", tmp_path / "run", "--no-figures")
    assert made.code == 0, made.err
    assert (tmp_path / "run" / "my.py").read_text() == FILE
    run = et.Run.load(tmp_path / "run")
    assert run.plan.routing.low is not None and run.plan.routing.low.kind == "my.py:earliest"
    assert run.plan.digest == et.Plan.load(file).digest
    before = run.plan.digest
    (tmp_path / "my.py").write_text(FILE.replace("Packets wait", "They wait"))
    assert et.Plan.load(file).digest != before, "another line, another experiment"
    swept = etalon(
        "sweep", file, "--code", "--set", "routing.low=my.py:earliest,my.py:direct,vlb", "--out", tmp_path / "sweep"
    )  # fmt: skip
    assert swept.code == 0, swept.err
    table = et.Sweep.load(tmp_path / "sweep").table
    assert table["routing.low"].to_list() == ["my.py:earliest", "my.py:direct", "vlb"]
    unknown = etalon("run", file, "--code", "--set", "routing.low=my.py:latest")
    assert 'my.py defines no "latest"; it defines direct, earliest' in unknown.err


def test_sweeps_over_processes_take_functions(tmp_path: Path) -> None:
    made = et.sweep(
        plan("direct"), {"routing.low": [earliest, "direct"]}, seeds=2, jobs=2, folder=tmp_path / "s"
    )  # fmt: skip
    assert made.table["routing.low"].to_list() == ["earliest.py:earliest"] * 2 + ["direct"] * 2
    loaded: Any = et.load(tmp_path / "s")
    assert loaded.runs[0].plan.sources.keys() == {"earliest.py"}


def nothing(network: Any) -> Any:
    return None


def empty(network: Any) -> Any:
    return []


def short(network: Any) -> Any:
    return [(0, 0, 1, 1, 0)]


def flat(network: Any) -> Any:
    return np.zeros(12)


def fractions(network: Any) -> Any:
    return np.zeros((3, 6))


def not_there(network: Any) -> Any:
    return [*timeflow.of_earliest(network), (0, 0, 1, 1, 99, 0)]


def raises(network: Any) -> Any:
    return 1 // 0


def half(network: Any) -> Any:
    return timeflow.of_earliest(network)[:20]


def loops(network: Any) -> Any:
    """Rack 0 and its first peer send packets for another rack to each other."""
    peer = int(network.peers[0, 0, 0])
    to = next(rack for rack in range(network.racks) if rack not in (0, peer))
    table = {entry[:3]: entry for entry in timeflow.of_earliest(network)}
    for slot in range(network.slices):
        table[0, slot, to] = (0, slot, to, peer, 0, 0)
        table[peer, slot, to] = (peer, slot, to, 0, 0, 0)
    return list(table.values())


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (nothing, r"nothing answers no table: it must be a list of entries, \[\(here, arrival, "),
        (empty, "empty answers no table: it has 0 entries, and must have 1 to 4000000"),
        (short, r"short answers no table: entry 0 is \(0, 0, 1, 1, 0\), and must be six whole numbers: here, "),
        (flat, r"an array must have whole numbers and the shape \(entries, 6\), not float64 and \(12,\)"),
        (fractions, "fractions answers no table: an array must have whole numbers"),
        (not_there, r"entry \d+, \(0, 0, 1, 1, 99, 0\): in slice 0 uplink 99 of rack 0 does not lead to rack 1"),
        (raises, "raises raised ZeroDivisionError: .*; it was given 8 racks with 2 uplinks each, and 4 slices"),
        (loops, r"loops answers no table: entry \d+, .*: its path is a loop, through racks 0 "),
    ],
)  # fmt: skip
def test_a_wrong_answer_gets_a_sentence(function: Any, said: str) -> None:
    with pytest.raises(EtalonError, match=said) as raised:
        et.run(plan(function))
    assert "test_python_routing.py:" in str(raised.value)


def test_packets_without_an_entry_are_lost() -> None:
    with pytest.warns(PlanWarning, match="nothing was delivered"):
        made = et.run(plan(half, bulk=[{"from": 0, "to": 5}], warmup="0s"))
    assert made.pairs["dropped_link"].sum() == 1, "the SYN"


def test_functions_need_circuits() -> None:
    with pytest.raises(PlanError, match='only a network of kind "ocs" has routing'):
        plan(earliest, network={"racks": 3}, schedule={"kind": "strobe"})
    with pytest.raises(PlanError, match="follows a schedule of circuits"):
        plan(earliest, schedule={"kind": "asked"}, bulk=[])


def test_it_runs_on_linux() -> None:
    need_kernel()
    made = plan(earliest, duration="2ms")
    ours, theirs = (
        et.run(one, engine="linux") for one in (made, made.replace({"routing": as_table(made)}))
    )
    assert ours.flows.equals(theirs.flows)
    assert ours.flows["bytes_delivered"].sum() > 0
