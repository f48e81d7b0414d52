"""From the user's plan to the resolved plan that engines run: integers with the unit in the key."""

from __future__ import annotations

from typing import Any

from etalon.plan.experiment import Experiment
from etalon.plan.network import Dumbbell, Network, Notify, Stage
from etalon.plan.tcp import Tcp


def resolve(plan: Experiment) -> dict[str, Any]:
    """All that an engine needs to know; see `Plan.resolve`."""
    network = plan.network
    resolved = {
        "seed": plan.seed,
        "tdf": plan.tdf,
        "duration_ns": plan.duration,
        "warmup_ns": plan.warmup,
        "hosts": _hosts(network),
        "network": {"rdcn": _rdcn(network)}
        if isinstance(network, Network)
        else {"dumbbell": _dumbbell(network)},
        "schedule": _week(plan),
        "tcp": _tcp(plan.tcp),
        "flows": plan.flows,
        "measure": {"pair": list(plan.measured_pair), "weeks_per_run": plan.measure.weeks_per_run},
    }
    if plan.end_when_done:
        resolved["end_when_done"] = True
    if plan.dfsio:
        resolved["dfsio"] = [job.job() for job in plan.dfsio]
    if plan.program:  # which the simulator does not know
        resolved["programs"] = [program.resolve() for program in plan.program]
    return resolved


def _week(plan: Experiment) -> dict[str, Any] | None:
    if isinstance(plan.network, Dumbbell):
        return None
    return plan.schedule.resolve(plan.network, plan.seed)


def week_ns(plan: Experiment) -> int:
    """Length of the schedule's week in ns; 0 without circuits."""
    week = _week(plan)
    return sum(c["day_ns"] + c["night_ns"] for c in week["configurations"]) if week else 0


def shortest_configuration(plan: Experiment) -> int:
    """Length in ns of the schedule's shortest configuration, its night included; 0 without circuits."""
    week = _week(plan)
    if week is None:
        return 0
    lengths = [c["day_ns"] + c["night_ns"] for c in week["configurations"]]
    if control := week.get("control"):
        lengths.append(control["min_day_ns"] + control["night_ns"])
    return int(min(lengths))


def _rdcn(network: Network) -> dict[str, Any]:
    packet, circuit, voq, resize = network.packet, network.circuit, network.voq, network.voq.resize
    return {
        "packet": {
            "rate_bps": packet.rate,
            "up_delay_ns": packet.delay,
            "down_delay_ns": packet.delay,
            "internal_queue": packet.internal_queue,
            "hold_queue": packet.hold_queue,
        },
        "circuit": {"rate_bps": circuit.rate, "delay_ns": circuit.delay},
        "voq": {
            "packets": voq.packets,
            "resize": resize and {"packets": resize.packets, "in_advance_ns": resize.before},
            "pairs": [{"pair": [p.src, p.dst], "packets": p.packets} for p in voq.pairs],
        },
        "marking": network.marking and network.marking.model_dump(),
        "ece_in_advance_ns": network.ece.before if network.ece else None,
        "ack_bypass_ns": network.ack_bypass,
        "notify": network.notify and _notify(network.notify),
    }


def _notify(notify: Notify) -> dict[str, Any]:
    return {
        "before_ns": notify.before,
        "delay_ns": notify.delay,
        "jitter_ns": notify.jitter,
        "lost_ppm": round(notify.lost * 1_000_000),
        "each_ns": notify.each,
    }


def _dumbbell(network: Dumbbell) -> dict[str, Any]:
    if network.return_path is None:
        delay = sum(stage.delay for stage in network.path)
        back = [{"rate_bps": None, "queue_packets": None, "delay_ns": delay}]
    else:
        back = [_stage(stage) for stage in network.return_path]
    return {
        "stages": [_stage(stage) for stage in network.path],
        "return_stages": back,
    }


def _stage(stage: Stage) -> dict[str, Any]:
    return {"rate_bps": stage.rate, "queue_packets": stage.queue, "delay_ns": stage.delay}


def _hosts(network: Network | Dumbbell) -> dict[str, Any]:
    return {
        "racks": network.racks,
        "per_rack": network.hosts,
        "mtu": network.mtu,
        "rate_bps": network.host.rate,
        "delay_ns": network.host.delay,
        "jitter_ns": network.host.jitter,
        "downlink_packets": network.host.downlink_queue,
    }


def _tcp(tcp: Tcp) -> dict[str, Any]:
    return {
        "hz": tcp.hz,
        "min_rto_ns": tcp.min_rto,
        "initial_cwnd": tcp.initial_cwnd,
        "min_delayed_ack_ns": tcp.min_delayed_ack,
        "max_delayed_ack_ns": tcp.max_delayed_ack,
        "receive_buffer_bytes": tcp.receive_buffer,
        "max_receive_buffer_bytes": tcp.max_receive_buffer,
        "sack": tcp.sack,
        "timestamps": tcp.timestamps,
        "ecn": tcp.ecn,
        "pacing": tcp.pacing,
    }
