# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs: the same bytes whatever the number of workers, progress, Ctrl-C, failures."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

import etalon as et
from etalon import _core
from etalon.engine import sim
from etalon.errors import EtalonError, Interrupted, PlanError
from etalon.plan import Plan


def test_the_digest_does_not_depend_on_the_number_of_workers(small: Plan) -> None:
    carried = ("tcp", "tdtcp")
    plans = [
        small.replace({"seed": seed, "bulk.transport": carried[seed % 2]}) for seed in range(6)
    ]
    alone = [run.meta["digest"] for run in et.run_many(plans, jobs=1)]
    together = [run.meta["digest"] for run in et.run_many(plans, jobs=4)]
    assert alone == together
    assert len(set(alone)) == len(alone), "every seed gives its own run"


def test_runs_come_back_in_the_order_of_the_plans(small: Plan) -> None:
    plans = [small.replace({"duration": f"{100 - 20 * n}ms", "seed": n}) for n in range(4)]
    assert [run.plan.seed for run in et.run_many(plans, jobs=4)] == [0, 1, 2, 3]


def test_progress_rises_to_one(small: Plan) -> None:
    shares: list[float] = []
    et.run(small, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_each_run_is_told_as_soon_as_it_is_done(small: Plan) -> None:
    told: dict[int, et.Run] = {}
    runs = et.run_many([small, small.replace({"seed": 2})], done=told.__setitem__)
    assert [told[0], told[1]] == runs


def test_ctrl_c_keeps_what_was_measured(small: Plan) -> None:
    before = signal.getsignal(signal.SIGINT)
    endless = small.replace({"duration": "60min", "warmup": 0})
    threading.Thread(target=_interrupt_when_running, daemon=True).start()
    with pytest.raises(Interrupted) as stop:
        et.run_many([small, endless], jobs=2)
    whole, partial = stop.value.runs
    assert not whole.partial
    assert whole.plan == small
    assert partial.partial
    assert partial.meta["simulated_ns"] < endless.duration
    assert signal.getsignal(signal.SIGINT) is before


def _interrupt_when_running() -> None:
    while not any(thread.name.startswith("etalon") for thread in threading.enumerate()):
        time.sleep(0.01)
    time.sleep(1)
    os.kill(os.getpid(), signal.SIGINT)


def test_one_failure_stops_all(small: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    real = _core.Scenario

    def refuse_seed_2(plan_json: str) -> _core.Scenario:
        if '"seed": 2' in plan_json:
            raise ValueError("no such thing")
        return real(plan_json)

    monkeypatch.setattr(sim._core, "Scenario", refuse_seed_2)
    endless = small.replace({"duration": "60min", "warmup": 0})
    began = time.monotonic()
    with pytest.raises(EtalonError, match="small: the simulator refused the plan: no such thing"):
        et.run_many([endless, small.replace({"seed": 2})], jobs=2)
    assert time.monotonic() - began < 20


def test_an_unknown_engine_is_refused(small: Plan) -> None:
    with pytest.raises(PlanError, match='there is no engine "sym"'):
        et.run(small, engine="sym")
