# SPDX-License-Identifier: MIT OR Apache-2.0
"""From the user's plan to the resolved plan that engines run: integers with the unit in the key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from etalon.plan import circuit_plans, streaming
from etalon.plan.experiment import Experiment
from etalon.plan.network import Network, Ocs, Switched
from etalon.plan.network.ocs import CircuitNotify
from etalon.plan.otcp.equations import LARGEST_WINDOW, compute
from etalon.plan.routing.given import time_flow
from etalon.plan.schedules import Rotation
from etalon.plan.schedules.asked import Asked
from etalon.plan.tcp import MAX_SEND_BUFFER, Tcp, TcpPath
from etalon.plan.tdns import notified

IP_AND_TCP = 40
"""Bytes of both headers: what CNSM'16 takes off the MTU."""


def resolve(plan: Experiment) -> dict[str, Any]:
    """All that an engine needs to know; see `Plan.resolve`."""
    network = plan.network
    resolved: dict[str, Any] = {
        "seed": plan.seed,
        "tdf": plan.tdf,
        "duration_ns": plan.duration,
        "warmup_ns": plan.warmup,
        "hosts": network.resolve_hosts(),
        "network": {network.kind: _between(plan)},
        "schedule": _week(plan),
        "tcp": _tcp(plan),
        "flows": streaming.kinds(plan) if plan.streamed else plan.flows,
        "measure": {"pair": list(plan.measured_pair), "weeks_per_run": plan.measure.weeks_per_run},
    }
    if plan.streamed:
        resolved["streamed"] = streaming.said(plan)
    if plan.circuits:
        resolved["network"][network.kind]["circuits"] = [kind.resolve() for kind in plan.circuits]
    if plan.measure.flows:
        resolved["measure"]["flows"] = plan.followed_flows
    if plan.measure.reordering:
        resolved["measure"]["reordering"] = True
    if plan.measure.ports:
        resolved["measure"]["ports"] = True
    if plan.measure.links is not None:
        resolved["measure"]["links_ns"] = plan.measure.links
    if plan.end_when_done:
        resolved["end_when_done"] = True
    if plan.dfsio:
        resolved["dfsio"] = [job.job() for job in plan.dfsio]
    if plan.generator:
        resolved["generators"] = [one.generator() for one in plan.generator]
    if plan.job:
        resolved["jobs"] = [circuit_plans.resolved(plan, job) for job in plan.job]
    if plan.program:  # which the simulator does not know
        resolved["programs"] = [program.resolve() for program in plan.programs]
    return resolved


def for_engines(plan: Experiment) -> dict[str, Any]:
    """The same, with the tables that the user's routing functions return: it calls them."""
    resolved = resolve(plan)
    for one in resolved["network"].get("ocs", {}).get("classes", ()):
        if one["name"] in plan.answered:
            one["routing"] = time_flow(plan.answered[one["name"]].entries)
    return resolved


def _week(plan: Experiment) -> dict[str, Any] | None:
    if not isinstance(plan.network, Network):
        return None  # which has no circuits
    return plan.schedule.resolve(plan.network, plan.seed)


def week_ns(plan: Experiment) -> int:
    """Length of the schedule's week in ns; 0 without circuits."""
    week = _week(plan)
    return sum(c["day_ns"] + c["night_ns"] for c in week["configurations"]) if week else 0


def given_configurations(weeks: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Those of the first week, and of weeks that follow it."""
    for week in (weeks, *weeks.get("changes", ())):
        yield from week["configurations"]


def shortest_configuration(plan: Experiment) -> int:
    """Length in ns of the schedule's shortest configuration, its night included; 0 without circuits."""
    week = _week(plan)
    if week is None:
        return 0
    lengths = [c["day_ns"] + c["night_ns"] for c in given_configurations(week)]
    if control := week.get("control"):
        lengths.append(control["min_day_ns"] + control["night_ns"])
    return int(min(lengths))


def _between(plan: Experiment) -> dict[str, Any]:
    """What lies between racks."""
    between = plan.network.resolve()
    if isinstance(plan.network, Ocs):
        between |= _circuit_switches(plan, plan.network)
    notify = notified(plan)
    if isinstance(plan.network, Network):
        between["notify"] = notify and notify.resolve()
    elif isinstance(notify, CircuitNotify):
        between |= {"notify": notify.resolve(), "tdns": notify.resolve_tdns()}
    return between


def _circuit_switches(plan: Experiment, network: Ocs) -> dict[str, Any]:
    """Uplinks and classes: what a schedule and routing say of a network of circuits."""
    net, schedule = plan.slices, plan.schedule
    switches: dict[str, Any] = {}
    if isinstance(schedule, Asked):
        switches = {"uplinks": schedule.uplinks(network), "asked": schedule.changes}
    elif net is not None and isinstance(schedule, Rotation):
        relays = net.racks - network.racks
        switches = {"relays": relays, "uplinks": schedule.uplinks(network, net)}
    else:
        return {}
    cutoff = plan.routing.cutoff
    return {
        **switches,
        "classes": [
            {
                "name": name,
                **getattr(network.queue, name).resolve(network.mtu),
                "routing": way.resolve(),
            }
            for name, way in plan.routing.classes.items()
        ],
        "cutoff_bytes": cutoff,
    }


def _tcp(plan: Experiment) -> dict[str, Any]:
    tcp = plan.tcp
    resolved: dict[str, Any] = {
        "hz": tcp.hz,
        **_path(tcp, TcpPath(layer="rack"), {}),
        "min_delayed_ack_ns": tcp.min_delayed_ack,
        "max_delayed_ack_ns": tcp.max_delayed_ack,
        "receive_buffer_bytes": tcp.receive_buffer,
        "max_receive_buffer_bytes": tcp.max_receive_buffer,
        "max_send_buffer_bytes": tcp.max_send_buffer
        or max(MAX_SEND_BUFFER, 2 * tcp.max_receive_buffer),
        "sack": tcp.sack,
        "timestamps": tcp.timestamps,
        "ecn": tcp.ecn,
        "pacing": tcp.pacing,
        "tso_win_divisor": tcp.tso_win_divisor,
        **({} if tcp.slow_start_after_idle else {"slow_start_after_idle": False}),
    }
    if isinstance(plan.network, Switched) and (tcp.path or tcp.otcp):
        given: dict[str, TcpPath] = {path.layer: path for path in tcp.path}
        resolved["by_distance"] = [
            _path(tcp, given.get(layer, TcpPath(layer="rack")), _otcp(plan, layer))
            for layer in plan.network.layers_by_distance
        ]
    return resolved


def _path(tcp: Tcp, path: TcpPath, otcp: Mapping[str, int]) -> dict[str, Any]:
    """What holds on a way: what is said of it, else OTCP's, else that of all."""
    values = {
        name: getattr(path, name) or otcp.get(name) or getattr(tcp, name)
        for name in ("min_rto", "initial_rto", "initial_cwnd", "max_cwnd")
    }
    resolved = {"min_rto_ns": values["min_rto"], "initial_cwnd": values["initial_cwnd"]}
    if values["initial_rto"] is not None:
        resolved["initial_rto_ns"] = values["initial_rto"]
    if values["max_cwnd"] is not None:
        resolved["max_cwnd"] = values["max_cwnd"]
    return resolved


def _otcp(plan: Experiment, layer: str) -> dict[str, int]:
    """OTCP's parameters for a layer, on hosts' clocks; none if it is off."""
    if not plan.tcp.otcp or not isinstance(plan.network, Switched):
        return {}
    inputs = plan.network.otcp_inputs(layer, plan.tcp.otcp_alpha)
    computed = compute(inputs, plan.network.mtu - IP_AND_TCP)
    largest = min(max(1, computed.max_cwnd), LARGEST_WINDOW)
    return {
        "min_rto": computed.rto_min_ns * plan.tdf,
        "initial_rto": max(computed.rto_init_ns, computed.rto_min_ns) * plan.tdf,
        "initial_cwnd": min(computed.initial_cwnd, largest),
        "max_cwnd": largest,
    }
