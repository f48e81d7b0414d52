# SPDX-License-Identifier: MIT OR Apache-2.0
"""The user's code of a plan, ready for one run: each run executes it anew."""

from __future__ import annotations

from typing import Any

from etalon.custom.control import written
from etalon.custom.scheduler import Scheduling
from etalon.custom.source import is_reference
from etalon.custom.workload import Running
from etalon.plan import Plan
from etalon.plan.network import Network
from etalon.plan.schedules.computed import Written
from etalon.plan.workloads.generator import Generator


def plugins(plan: Plan) -> dict[str, Any] | None:
    """What the core calls, by what it is for; None for a plan without code. Raises `EtalonError` for code that fails or may
    not run."""
    found: dict[str, Any] = {}
    week, network = plan.schedule, plan.network
    if isinstance(week, Written) and isinstance(network, Network):
        facts = {
            "window_ns": week.window,
            "day_ns": week.day,
            "night_ns": week.night,
            "circuit_bps": network.circuit.rate,
            "packet_bps": 0 if network.circuits_only else network.packet.rate,
        }
        found["scheduler"] = Scheduling(week.kind, week.source, plan.seed, facts)
    if plan.generator:
        found["generators"] = [
            _running(plan, one, key)
            for key, one in plan.keyed_workloads()
            if isinstance(one, Generator)
        ]
    texts: dict[str, dict[str, str]] = {}
    for one in plan.workloads:
        texts |= {name: one.source for name in one.controls if is_reference(name)}
    if texts:
        found["controls"] = lambda name, params: written(name, texts[name], params)
    return found or None


def whose(plan: Plan, error: Exception) -> str:
    """Which functions of the user's answered the time-flow tables, if the core refuses one; nothing for another error."""
    if not plan.answered or "time-flow" not in str(error):
        return ""
    return "; " + ", ".join(
        f"{one.place}: {one.name} routes class {name}" for name, one in plan.answered.items()
    )


def _running(plan: Plan, one: Generator, key: str) -> Running:
    setting = plan.setting(key)
    hosts = {
        "racks": setting.racks,
        "hosts": setting.hosts,
        "duration_ns": setting.duration,
        "packet_bps": setting.packet_rate,
        "circuit_bps": setting.circuit_rate,
    }
    return Running(one.function, one.source, one.arguments, plan.seed, hosts, key)
