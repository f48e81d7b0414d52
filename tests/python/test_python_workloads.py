# SPDX-License-Identifier: MIT OR Apache-2.0
"""Workloads that users write in Python: generators of flows that wait for what has happened."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import etalon as et
from conftest import Answer
from etalon import Flow, after, after_any, wait
from etalon.custom.workload import Hosts
from etalon.errors import EtalonError, PlanError
from etalon.results import Run

LINE = et.dumbbell(rate="10Gbps", delay="10us", queue=None, hosts=4)


pytestmark = pytest.mark.usefixtures("nothing_stays_allowed")


def run(work: Any, *others: Any, **more: Any) -> Run:
    return et.run(LINE, work, *others, **{"duration": "20ms", "warmup": "0s", "tdf": 1, **more})


def rows(made: Run) -> list[dict[str, Any]]:
    return list(made.flows.sort("flow").to_dicts())


def one_by_one(network: Hosts, count: int = 3, size: str = "100kB") -> Any:
    """Each flow begins when the one before is complete."""
    for _ in range(count):
        yield after((yield Flow("r0h0", "r1h0", size)))


def test_a_flow_begins_when_the_one_before_is_complete() -> None:
    found = rows(run(et.workload(one_by_one, count=4)))
    assert len(found) == 4
    assert found[0]["start_ns"] == 0
    for before, next_ in pairwise(found):
        assert next_["start_ns"] == before["end_ns"]


def test_flows_are_those_of_a_plan_that_lists_them() -> None:
    """The outside check: the same flows, listed with the times that the generator found, give the same completion times."""
    found = rows(run(et.workload(one_by_one)))
    listed = [et.flow("r0h0", "r1h0", "100kB", start=f"{row['start_ns']}ns") for row in found]
    theirs = rows(run(*listed))
    assert [row["end_ns"] for row in found] == [row["end_ns"] for row in theirs]


def coflows(network: Hosts) -> Any:
    """Two stages of a shuffle with a barrier between them."""
    for stage in ("map", "reduce"):
        flows = []
        for src in range(2):
            for dst in range(2):
                flows.append((yield Flow(f"r0h{src}", f"r1h{dst}", "50kB", stage)))
        done = yield after(flows)
        assert [one.is_done for one in done] == [True] * 4


def test_a_barrier_holds_a_stage_until_the_whole_of_the_one_before_is_done() -> None:
    made = run(et.workload(coflows))
    found = rows(made)
    stages = {name: [row for row in found if row["class"] == name] for name in ("map", "reduce")}
    assert [len(stage) for stage in stages.values()] == [4, 4]
    barrier = max(row["end_ns"] for row in stages["map"])
    assert {row["start_ns"] for row in stages["reduce"]} == {barrier}


def closed_loop(network: Hosts, clients: int = 3, think: str = "100us") -> Any:
    """Clients that each ask, wait for the answer, and think."""

    def client(number: int) -> Any:
        for _ in range(5):
            request = yield Flow(f"r0h{number}", f"r1h{number}", "1kB")
            yield after(request)
            answer = yield Flow(f"r1h{number}", f"r0h{number}", "20kB")
            yield after(answer)
            yield wait(think)

    running = []
    for number in range(clients):
        running.append((yield client(number)))
    yield after(running)
    yield Flow("r0h0", "r1h0", "1kB", "last")


def test_clients_run_beside_each_other_and_think() -> None:
    found = rows(run(et.workload(closed_loop)))
    assert len(found) == 3 * 5 * 2 + 1
    mine = [row for row in found if row["src_host"] == 1 and row["class"] != "last"]
    asked = [row for row in found if row["bytes"] == 1000 and row["class"] != "last"]
    asked = [row for row in asked if row["src_host"] == 1]
    answered = [row for row in mine if row["bytes"] == 20_000]
    assert len(asked) == len(answered) == 5
    for answer, request in zip(answered, asked[1:], strict=False):
        assert request["start_ns"] == answer["end_ns"] + 100_000
    (last,) = [row for row in found if row["class"] == "last"]
    assert last["start_ns"] == max(row["end_ns"] for row in found if row is not last) + 100_000


def race(network: Hosts) -> Any:
    """The first of two replicas counts."""
    small = yield Flow("r0h0", "r1h0", "10kB")
    large = yield Flow("r0h1", "r1h1", "1MB")
    first = yield after_any(small, large)
    assert first is small
    assert first.duration_ns == network.now_ns - small.start_ns
    assert not large.is_done
    yield wait(int(network.rng.integers(1, 50_000)))
    yield Flow("r0h2", "r1h2", "10kB")


def test_the_first_of_several_can_be_waited_for() -> None:
    made = run(et.workload(race))
    assert len(made.flows) == 3
    again = run(et.workload(race))
    assert again.meta["digest"] == made.meta["digest"]
    other = run(et.workload(race), seed=2)
    assert rows(other)[2]["start_ns"] != rows(made)[2]["start_ns"]


def test_a_run_can_end_when_all_is_done() -> None:
    made = run(et.workload(closed_loop), end_when_done=True)
    assert len(made.flows) == 31
    assert made.meta["simulated_ns"] == max(row["end_ns"] for row in rows(made))
    waits = run(et.workload(wakes_late), end_when_done=True)
    assert rows(waits)[1]["start_ns"] == 5_000_000


def wakes_late(network: Hosts) -> Any:
    """Nothing is open while it waits."""
    yield after((yield Flow("r0h0", "r1h0", "10kB")))
    yield wait(5_000_000 - network.now_ns)
    yield Flow("r0h0", "r1h0", "10kB")


def test_it_stands_beside_other_workloads_and_has_their_keys() -> None:
    work = et.workload(one_by_one, cc="dctcp", start="1ms", flow_class="mine")
    made = run(work, et.flow("r0h1", "r1h1", "10kB"), et.workload(race))
    found = rows(made)
    assert len(found) == 1 + 3 + 3
    mine = [row for row in found if row["class"] == "mine"]
    assert [row["cc"] for row in mine] == ["dctcp"] * 3
    assert mine[0]["start_ns"] == 1_000_000


def plan_with(folder: Path, code: str) -> Path:
    (folder / "my.py").write_text(code)
    plan = folder / "plan.toml"
    plan.write_text(
        'duration = "5ms"\ntdf = 1\n[network]\nkind = "dumbbell"\nhosts = 2\n'
        '[[generator]]\nfunction = "my.py:f"\narguments = { size = "20kB" }\n'
    )
    return plan


GOOD = """from etalon import Flow, after

def f(network, size):
    while True:
        yield after((yield Flow("r0h0", "r1h1", size)))
"""


def test_plan_files_run_it_with_code(tmp_path: Path, etalon: Callable[..., Answer]) -> None:
    plan = plan_with(tmp_path, GOOD)
    refused = etalon("run", plan, "--out", tmp_path / "run", "--no-figures")
    assert (refused.code, "my.py; read it, then allow it with --code" in refused.err) == (2, True)
    made = etalon("run", plan, "--out", tmp_path / "run", "--no-figures", "--code")
    assert made.code == 0, made.err
    assert (tmp_path / "run" / "my.py").read_text() == GOOD
    assert len(Run.load(tmp_path / "run").flows) > 20


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("yield Flow('r0h0', 'r9h0', 1)", r'my\.py:4: f: there is no host "r9h0" \(r0h0\.\.r1h1\)'),
        ("yield Flow('r0h0', 'r0h0', 1)", "r0h0 would send to itself"),
        ("yield Flow('r0h0', 'r1h0', 0)", 'a flow has a size such as "1MB", or bytes, not 0'),
        ("yield 7", r"my\.py:4: f: yields 7; it may yield Flow"),
        ("yield after()", r"after\(\) waits for flows and processes that were yielded, not for nothing"),
        ("yield wait(-1)", 'wait takes a time such as "10us"'),
        ("x = yield Flow('r0h0', 'r1h0', 9)\n    yield x", "has started already: create another one"),
        ("while True: yield wait(0)", "has taken 100000 steps at .* without waiting"),
        ("yield wait('1us')\n    1 / 0", r"my\.py:5: f raised ZeroDivisionError: .*it was 1 ?us, with 0 flows"),
        ("return 5", "is not a generator of flows"),
    ],
)  # fmt: skip
def test_what_goes_wrong_ends_the_run_with_its_place(tmp_path: Path, body: str, said: str) -> None:
    code = f"from etalon import Flow, after, wait\n\ndef f(network, size):\n    {body}\n"
    with pytest.raises(EtalonError, match=said) as raised:
        et.run(str(plan_with(tmp_path, code)), code=True)
    assert "\n" not in str(raised.value)


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EtalonError, match=r"one_by_one raised TypeError: .*unexpected keyword"):
        run(et.workload(one_by_one, number=3))
    with pytest.raises(PlanError, match=r"generator\.cc"):
        et.workload(one_by_one, cc=3)


def test_beside_jobs_it_is_refused() -> None:
    with pytest.raises(EtalonError, match="generators"):
        et.run(
            et.network(racks=3, hosts=4), et.workload(one_by_one), et.workload("dfsio", writers=1), duration="5ms"
        )  # fmt: skip
