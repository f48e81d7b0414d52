# SPDX-License-Identifier: MIT OR Apache-2.0
"""Loads that a network cannot carry: plans may offer them, but their flows queue up until the end."""

from __future__ import annotations

import math
from collections.abc import Iterator

from etalon.plan.experiment import Experiment
from etalon.plan.network import Network
from etalon.plan.workloads.base import Setting


def too_much(plan: Experiment) -> Iterator[str]:
    """A sentence if the `[[poisson]]` tables together offer a rack more than can leave it."""
    settings = [plan.setting(f"poisson.{number}") for number, _ in enumerate(plan.poisson)]
    offered = sum(
        flows.load * (setting.packet_rate if flows.of is None else flows.of)
        for flows, setting in zip(plan.poisson, settings, strict=True)
    )
    if settings and offered > (most := _most(plan, settings[0])):
        yield (
            f"[[poisson]] offers {offered / 1e9:.3g} Gb/s in each rack, of which at most {most / 1e9:.3g} Gb/s can leave it: "
            "flows queue up, and take longer and longer until the end"
        )


def _most(plan: Experiment, setting: Setting) -> float:
    """What can leave a rack, in bit/s: never less than it is."""
    network = plan.network
    if not isinstance(network, Network):
        return setting.packet_rate or math.inf  # a dumbbell's links may have no rate
    most = 0.0 if network.circuits_only else float(network.packet.rate)
    week = plan.schedule.resolve(network, plan.seed)
    if week and week["configurations"]:
        days = sum(one["day_ns"] for one in week["configurations"])
        nights = sum(one["night_ns"] for one in week["configurations"])
        changes = plan.schedule.computed or week.get("changes")
        rates = [setting.circuit_rate, *(circuit.rate for circuit in plan.circuits)]
        most += max(rates) * (1.0 if changes else days / (days + nights))
    return min(most, setting.hosts * network.host.rate)
