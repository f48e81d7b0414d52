# SPDX-License-Identifier: MIT OR Apache-2.0
"""How what is new reaches hosts, what is written down of it, and what would change."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fabric import FILE, running, until
from hypothesis import given
from hypothesis import strategies as st

from conftest import ROOT
from etalon.errors import PlanError
from etalon_otcp import audit, differences, rollout
from etalon_otcp.config import Config
from etalon_otcp.publication import Route
from etalon_otcp.rollout import LINUX, VALUES, Kept, Manner, Rollout, share
from etalon_otcp.state import State

HERE = Path(__file__).parent

FAST, SLOW = (Route("10.0.0.0/24", 1000 * n, 4000 * n, 50 * n, n, 10 * n) for n in (1, 2))
HOSTS = [f"h{n}" for n in range(10)]


def everybody(route: Route) -> dict[str, tuple[Route, ...]]:
    return dict.fromkeys(HOSTS, (route,))


def test_without_a_word_all_are_told_at_once() -> None:
    told, due = Rollout().next(everybody(FAST), 0)
    assert told == everybody(FAST) and due is None


def test_what_is_told_is_not_changed_by_what_is_told_later() -> None:
    """Whoever publishes it reads it after the controller's lock is free again."""
    plan = Rollout(Manner(step=2))
    first, _ = plan.next(everybody(FAST), 0)
    before = dict(first)
    plan.next(everybody(SLOW), 100)
    assert first == before != plan.told


def test_the_first_are_told_first_and_others_once_they_have_had_it_for_a_while() -> None:
    plan = Rollout(Manner(frozenset({"h3"}), wait_s=60))
    told, due = plan.next(everybody(FAST), 100)
    assert told == {"h3": (FAST,)} and due == 160
    assert sorted(plan.pending) == [host for host in HOSTS if host != "h3"]
    assert plan.next(everybody(FAST), 159) == ({"h3": (FAST,)}, 160)
    told, due = plan.next(everybody(SLOW), 159.5)
    assert told == {"h3": (SLOW,)} and due == 219.5, "what is newer begins anew"
    told, due = plan.next(everybody(SLOW), 219.5)
    assert told == everybody(SLOW) and due is None and not plan.pending


def test_an_operator_holds_and_releases() -> None:
    plan = Rollout(Manner(frozenset({"h3"}), wait_s=60))
    plan.held = True
    plan.next(everybody(FAST), 0)
    assert plan.next(everybody(FAST), 1000) == ({"h3": (FAST,)}, None)
    plan.release()
    assert plan.next(everybody(FAST), 1001) == (everybody(FAST), None)
    told, due = plan.next(everybody(SLOW), 1002)
    assert set(told.values()) == {(FAST,), (SLOW,)} and due == 1062, "the next waits again"


def test_steps_begin_at_linux_own_values_and_end_at_what_is_wanted() -> None:
    plan, now, seen = Rollout(Manner(step=2, every_s=10)), 0.0, []
    due: float | None = 0.0
    while due is not None:
        told, due = plan.next({"h1": (FAST,)}, now)
        seen.append(told["h1"][0])
        assert due in (None, now + 10)
        now += 10
    assert [route.rto_min_us for route in seen[:3]] == [100_000, 50_000, 25_000]
    assert [route.rto_init_us for route in seen[:3]] == [500_000, 250_000, 125_000]
    assert [route.initial_cwnd for route in seen] == [5, 3, 2, 1, 1, 1, 1, 1]
    assert {route.max_cwnd for route in seen} == {50} and seen[-1] == FAST


def test_a_narrower_prefix_begins_where_its_hosts_were() -> None:
    one = Route("10.0.0.7/32", 8000, 32_000, 400, 8, 80)
    (stepped,) = rollout.step((FAST,), (one,), 2)
    assert (stepped.rto_min_us, stepped.max_cwnd, stepped.initial_cwnd) == (2000, 100, 2)


def test_another_goes_on_where_one_was_killed() -> None:
    """Its waits and steps go on by the wall clock, from whatever its monotonic clock starts."""
    manner = Manner(frozenset({"h3"}), wait_s=60, step=2, every_s=10)
    plan = Rollout(manner)
    plan.next(everybody(FAST), 100)
    kept, later = plan.kept(120, 5020), Rollout(manner)
    assert kept.waiting["h1"] == ((FAST,), 5000) and kept.stepped == {"h3": 5000}
    later.restore(kept, 7, 5025)
    told, due = later.next(everybody(FAST), 7)
    assert set(told) == {"h3"} and told["h3"] != (FAST,) and due == 17, "a step each ten seconds"
    told, due = later.next(everybody(FAST), 41)
    assert set(told) == {"h3"} and due == 42, "others wait for as long as they would have"
    assert set(later.next(everybody(FAST), 42)[0]) == set(HOSTS)


def test_a_clock_that_was_set_back_lets_nobody_wait_twice() -> None:
    manner = Manner(frozenset({"h3"}), wait_s=60)
    plan, later = Rollout(manner), Rollout(manner)
    plan.next(everybody(FAST), 100)
    later.restore(plan.kept(110, 5000), 500, 1000)
    assert later.next(everybody(FAST), 560)[0] == everybody(FAST)


routes = st.builds(
    lambda low, more, window, initial, offered: Route(
        "10.0.0.0/24", low, low + more, window, min(initial, window), offered
    ),
    st.integers(1000, 1_000_000), st.integers(0, 2_000_000), st.integers(1, 65_535),
    st.integers(1, 65_535), st.integers(10, 65_535),
)  # fmt: skip


@given(st.one_of(st.just(LINUX), routes), routes, st.floats(1.01, 100))
def test_a_step_is_valid_no_larger_than_allowed_and_nearer(
    before: Route, wanted: Route, most: float
) -> None:
    (found,) = rollout.step((before,) if before is not LINUX else (), (wanted,), most)
    assert 1000 <= found.rto_min_us <= found.rto_init_us <= 3_000_000
    assert 1 <= found.initial_cwnd <= found.max_cwnd and found.initial_rwnd >= 10
    for name in VALUES:
        old, new, to = (getattr(one, name) for one in (before, found, wanted))
        if before is LINUX and name in ("max_cwnd", "initial_cwnd"):
            continue
        assert min(old, to) <= new <= max(old, to)
        assert new == to or new != old
        assert new == to or old / most - 1 <= new <= old * most + 1


def test_a_share_of_hosts_is_always_the_same() -> None:
    assert len(share(HOSTS, 0.01)) == 1 and len(share(HOSTS, 0.25)) == 3
    assert share(HOSTS, 0.2) <= share(reversed(HOSTS), 0.5)


CANARY = '[rollout]\ncanary = ["h1"]\nwait = "3600s"\n'


def test_a_controller_tells_the_first_and_a_restart_forgets_nothing(tmp_path: Path) -> None:
    text = f'audit = "audit.jsonl"\n{FILE}{CANARY}'
    with running(tmp_path, text) as (controller, fabric):
        fabric.connect("t1", "t2", "a1", "a2")
        until(lambda: controller.view.documents.get("h1"))
        assert "h2" not in controller.view.documents
        assert list(controller.rollout.pending) == ["h2"]
        controller.release()
        until(lambda: controller.view.documents.get("h2"))
        before = {h: d.routes for h, d in controller.view.documents.items()}
        fabric.set_port("t1", 1, up=False)  # other windows for both
        until(lambda: controller.view.documents["h1"].routes != before["h1"])
        assert controller.view.documents["h2"].routes == before["h2"]
    with running(tmp_path, text) as (controller, fabric):
        fabric.connect("t1", "t2", "a2")
        fabric.connect("a1")
        until(lambda: controller.view.documents.get("h2"))
        assert controller.view.documents["h2"].routes == before["h2"]
    log = tmp_path / "audit.jsonl"
    told = [json.loads(line) for line in log.read_text().splitlines()]
    assert [one["hosts"] for one in told[:2]] == [["h1"], ["h2"]]
    assert told[0]["routes"] == [route.fields() for route in before["h1"]]
    assert {one["what"] for one in told} == {"told"} and told[0]["at"].endswith("+00:00")
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


HOLDING = """
import sys, time
from pathlib import Path
from fabric import running, until
from test_rollout import BRIEF

with running(Path(sys.argv[1]), BRIEF) as (controller, fabric):
    fabric.connect("t1", "t2", "a1", "a2")
    until(lambda: controller.view.documents.get("h2"))
    controller.hold()
    before = controller.view.documents["h1"].routes
    fabric.set_port("t1", 1, up=False)
    until(lambda: controller.view.documents["h1"].routes != before)
    print("held", flush=True)
    time.sleep(600)
"""
BRIEF = FILE + '[rollout]\ncanary = ["h1"]\nwait = "100ms"\n'


def test_a_hold_outlives_a_controller_that_is_killed(tmp_path: Path) -> None:
    words = [sys.executable, "-c", HOLDING, tmp_path]
    path = ":".join(map(str, (HERE, HERE.parent, ROOT / "otcp", ROOT / "python")))
    environment = os.environ | {"PYTHONPATH": path}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as killed:
        assert killed.stdout and killed.stdout.readline() == "held\n"
        killed.kill()
    kept = json.loads((tmp_path / "state.json").read_text())
    told = {host: listed for hosts, listed in kept["told"] for host in hosts}
    with running(tmp_path, BRIEF) as (controller, fabric):
        fabric.connect("t1", "t2", "a2")
        until(lambda: "h2" in controller.rollout.pending)
        time.sleep(0.5)  # five times what hosts wait for
        for host in ("h1", "h2"):
            served = [[*one.fields().values()] for one in controller.view.documents[host].routes]
            assert served == told[host]
        assert controller.rollout.held
        before = controller.view.documents["h2"].routes
        controller.release()
        until(lambda: controller.view.documents["h2"].routes != before)
    with running(tmp_path, BRIEF) as (controller, _):
        assert not controller.rollout.held


def test_a_state_of_before_is_read_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    known = {"epoch": 7, "links": [], "hosts": [], "told": [[["h1"], []]]}
    file.write_text(json.dumps(known))
    state = State.load(file)
    assert state.rollout == Kept({"h1": ()}) and state.epoch == 7
    for wrong in (
        {"waiting": [[["h1"], [], "soon"]]},
        {"stepped": 7},
        {"waiting": 1},
        {"epoch": 2**53},  # no agent would take a document of it, nor of any later one
        {"epoch": -1},
    ):
        file.write_text(json.dumps(known | wrong))
        with pytest.raises(PlanError, match="is not a controller's state"):
            State.load(file)
    file.write_text("[" * 100_000)
    with pytest.raises(PlanError, match="is not a controller's state"):
        State.load(file)


def test_the_log_is_its_owners_after_a_rotation_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "LARGEST", 100)
    log = audit.Audit(tmp_path / "audit.jsonl")
    for number in range(3):
        log.asked("host h1", "192.0.2.1", "GET", f"/v1/{number}", 200)
    log.close()
    modes = [stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()]
    assert len(modes) > 2 and set(modes) == {0o600}


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ('canary = ["h9"]', "there is no host"),
        ('canary = "101%"', "canary"),
        ('canary = "0%"', "names no host"),
        ("step = 1.0", "more than 1"),
    ],
)
def test_a_bad_rollout_gets_a_sentence(tmp_path: Path, table: str, sentence: str) -> None:
    file = tmp_path / "controller.toml"
    file.write_text(f"{FILE}[rollout]\n{table}\n")
    with pytest.raises(PlanError, match=sentence):
        Config.load(file)


def test_what_would_be_told_otherwise() -> None:
    values = differences.values
    fast, slow = values([FAST.fields()]), values([SLOW.fields()])
    found = differences.differences({"h1": fast, "h2": fast, "h3": slow}, {"h1": slow, "h2": slow})
    assert [group["hosts"] for group in found] == [["h1", "h2"], ["h3"]]
    lines = list(differences.text(found))
    assert lines[0] == "h1, h2:"
    assert lines[1].split(maxsplit=1) == [
        "10.0.0.0/24",
        "rto_min_us 1000 -> 2000, rto_init_us 4000 -> 8000, max_cwnd 50 -> 100, "
        "initial_cwnd 1 -> 2, initial_rwnd 10 -> 20",
    ]
    assert lines[3].endswith("no longer told") and lines[-1] == "3 hosts"
    assert list(differences.text([])) == ["no host would be told anything else"]


def test_an_audit_log_on_a_full_disk_is_a_problem_and_fills_no_other_log(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    log = audit.Audit(Path("/dev/full"))
    for _ in range(100):
        log.asked("host h1", "10.0.0.1", "GET", "/v1/hosts/h1/routes", 200)
    assert "/dev/full: the audit log cannot be written: [Errno 28]" in log.failure
    log.close()
    assert len(caplog.records) == 1 and "Traceback" not in capsys.readouterr().err
