# SPDX-License-Identifier: MIT OR Apache-2.0
"""Networks that take turns (time-division networks, TDNs): how many there are, and whether hosts hear of them."""

from __future__ import annotations

from collections.abc import Iterator

from etalon.custom.source import mentions
from etalon.errors import PlanError
from etalon.plan.experiment import Experiment
from etalon.plan.network import Network, Ocs
from etalon.plan.network.ocs import CircuitNotify
from etalon.plan.network.rdcn import Notify
from etalon.plan.schedules import Rotation
from etalon.plan.transport import Mptcp, Ndp, PlainTcp, RotorLb, Tdtcp
from etalon.plan.workloads.base import Workload
from etalon.units import TIME, shown

MOST_TDNS = 255
"""TCP's option has a byte for their number."""


def notified(plan: Experiment) -> Notify | None:
    """How hosts hear which network leads to a rack: as the plan says, or by the defaults. None if nobody listens: neither a
    transport, nor a program of a plan that says how."""
    network = plan.network
    if not isinstance(network, Network | Ocs):
        return None
    if any(_listens(workload, isinstance(network, Ocs)) for workload in plan.workloads):
        return network.notify or (CircuitNotify() if isinstance(network, Ocs) else Notify())
    return network.notify if plan.program else None


def _listens(workload: Workload, on_circuits: bool) -> bool:
    transport = workload.transport
    if mentions(workload.source, "on_tdn"):
        return True
    if not on_circuits:
        return not isinstance(transport, PlainTcp)
    return isinstance(transport, Tdtcp) or (isinstance(transport, Mptcp) and transport.needs_tdns)


def count(plan: Experiment) -> int:
    """How many TDNs hosts tell apart; 1 where nothing takes turns. Raises `PlanError` if the schedule is wrong."""
    network = plan.network
    if not isinstance(network, Ocs):
        return 1 + len(plan.circuits)
    notify = notified(plan)
    if not isinstance(notify, CircuitNotify) or notify.tdns == "one":
        return 1
    return notify.longest + 1 if notify.tdns == "length" else _slices(plan)


def _slices(plan: Experiment) -> int:
    """Slices of a cycle; one begins where a circuit switch changes its matching."""
    net = plan.slices
    if net is None:
        return 1
    before = [net.peers[slice - 1] for slice in range(net.slices)]
    changes = sum(bool((now != then).any()) for now, then in zip(net.peers, before, strict=True))
    return max(changes, 1)


def problems(plan: Experiment, is_sound: bool) -> Iterator[PlanError]:
    """What carries flows needs networks that take turns, as many as it counts on. A network of circuits is looked at if its
    schedule `is_sound`."""
    if not isinstance(plan.network, Ocs):
        yield from _transports(plan, count(plan))
    elif is_sound:
        yield from _wrong(plan, plan.network)
        yield from _transports(plan, count(plan))


def _transports(plan: Experiment, tdns: int) -> Iterator[PlanError]:
    for key, workload in plan.named_workloads():
        transport, controls = workload.transport, workload.cc
        if isinstance(transport, PlainTcp | Ndp | RotorLb):
            continue
        if isinstance(transport, Mptcp) and not transport.needs_tdns:
            continue
        if tdns == 1 and not isinstance(plan.network, Ocs):
            yield PlanError(
                f'{shown(transport.kind)} needs networks that take turns, and this plan has one network: use "tcp"',
                key=f"{key}.transport",
                value=transport.kind,
            )
        elif isinstance(transport, Mptcp) and transport.subflows > tdns:
            yield PlanError(
                f"{transport.subflows} subflows need as many networks, but the plan has {tdns}",
                key=f"{key}.transport.subflows",
                value=transport.subflows,
            )
        elif isinstance(transport, Tdtcp) and isinstance(controls, tuple) and len(controls) != tdns:
            yield PlanError(
                f"{shown(list(controls))} must name a congestion control for each network; there are {tdns}",
                key=f"{key}.cc",
                value=controls,
            )


def _wrong(plan: Experiment, network: Ocs) -> Iterator[PlanError]:
    """What is wrong with what a network of circuits tells hosts: reTCP's signal, TDNs."""
    if network.ece is not None:
        yield from _wrong_ece(plan, network.ece.before)
    notify, schedule = notified(plan) or network.notify, plan.schedule
    if not isinstance(notify, CircuitNotify):
        return
    if notify.tdns == "slice" and not isinstance(schedule, Rotation):
        yield PlanError(
            'circuits that are asked for have no slices; use tdns = "length"',
            key="network.notify.tdns",
            value=notify.tdns,
        )
    elif notify.tdns == "slice" and (slices := _slices(plan)) > MOST_TDNS:
        yield PlanError(
            f'a cycle has {slices} slices, and there are {MOST_TDNS} TDNs at most; use tdns = "length"',
            key="network.notify.tdns",
            value=notify.tdns,
        )
    if isinstance(schedule, Rotation) and _slices(plan) > 1 and notify.before > schedule.slice:
        yield PlanError(
            f"{shown(TIME.format(notify.before))} must not be longer than a slice of the schedule, which is "
            f"{TIME.format(schedule.slice)} with its night",
            key="network.notify.before",
            value=TIME.format(notify.before),
        )


def _wrong_ece(plan: Experiment, before: int) -> Iterator[PlanError]:
    schedule = plan.schedule
    if not isinstance(schedule, Rotation):
        yield PlanError(
            "announces circuits of a schedule, which circuits on request do not have; leave it out",
            key="network.ece",
        )
    elif plan.slices is not None and before > (cycle := plan.slices.slices * schedule.slice):
        yield PlanError(
            f"{shown(TIME.format(before))} must not be longer than a cycle of the schedule, which is {TIME.format(cycle)}",
            key="network.ece.before",
            value=TIME.format(before),
        )
