# SPDX-License-Identifier: MIT OR Apache-2.0
"""What can only be judged with the whole plan in view: errors, and warnings for plans that run but mislead."""

from __future__ import annotations

import json
from collections.abc import Iterator

from etalon import _core
from etalon.errors import PlanError
from etalon.plan import circuit_plans, loads, streaming, tdns
from etalon.plan.experiment import Experiment
from etalon.plan.network import Network, Ocs, Switched
from etalon.plan.network.failure import absent_uplinks
from etalon.plan.network.ocs import ClassQueue
from etalon.plan.resolve import (
    given_configurations,
    resolve,
    shortest_configuration,
    week_ns,
)
from etalon.plan.routing.rotorlb import RotorLb as RotorLbWay
from etalon.plan.routing.table import CLASSES
from etalon.plan.schedules import Rotation
from etalon.plan.schedules.asked import Asked
from etalon.plan.schedules.rules import RULES
from etalon.plan.transport import Ndp, RotorLb, oversized
from etalon.plan.workloads.base import Workload
from etalon.units import RATE, TIME, S, rounded, shown

ASKED_WAYS = ("shortest", "direct", "packet")
"""Routing where circuits are asked for."""
MOST_FOLLOWED = 1000
"""Flows whose senders are followed over time."""
LONGEST_HOST_TIME = 24 * 24 * 3600 * S
"""Half of what TCP's timestamps can count before they begin again."""


def problems(plan: Experiment) -> Iterator[PlanError]:
    """Everything that is wrong with a plan whose single values are right."""
    yield from _clocks(plan)
    try:
        assert plan.sources is not None
    except PlanError as error:
        yield error
    network = plan.network
    wrong: list[PlanError] = []
    yield from network.problems()
    if isinstance(network, Network):
        wrong = list(plan.schedule.problems(network))
        yield from wrong or _notify(plan, network)
        yield from () if wrong else _failures(plan, network)
    elif isinstance(network, Ocs):
        wrong = list(_circuit_switches(plan, network))
        yield from wrong
    elif "schedule" in plan.model_fields_set:
        yield PlanError(
            f'a network of kind "{network.kind}" has no circuits and so no schedule; leave the table out',
            key="schedule",
        )
    if "routing" in plan.model_fields_set and not isinstance(network, Ocs):
        yield PlanError(
            f'only a network of kind "ocs" has routing, not one of kind "{network.kind}"; leave the table out',
            key="routing",
        )
    yield from _traffic(plan)
    yield from _asked(plan)
    yield from _priorities(plan)
    yield from tdns.problems(plan, not wrong)
    yield from _rotorlb(plan)
    yield from _too_many(plan)
    if plan.tcp.max_delayed_ack < plan.tcp.min_delayed_ack:
        yield PlanError(
            f"{shown(TIME.format(plan.tcp.max_delayed_ack))} must be at least tcp.min_delayed_ack, which is "
            f"{TIME.format(plan.tcp.min_delayed_ack)}",
            key="tcp.max_delayed_ack",
            value=plan.tcp.max_delayed_ack,
        )
    yield from _paths(plan)
    yield from _measured_pair(plan)
    yield from _ports(plan)


def _circuit_switches(plan: Experiment, network: Ocs) -> Iterator[PlanError]:
    """What is wrong with the schedule and the routing of a network of circuits."""
    schedule = plan.schedule
    if isinstance(schedule, Asked):
        yield from schedule.wrong_uplinks(network)
        yield from absent_uplinks(network.failure, network.circuits.switches)
        for name, way in plan.routing.classes.items():
            if way.kind not in ASKED_WAYS:
                yield PlanError(
                    f"{shown(way.kind)} follows a schedule of circuits; where circuits are asked for, use "
                    f"{' or '.join(map(shown, ASKED_WAYS))}",
                    key=f"routing.{name}",
                    value=way.kind,
                )
            elif way.needs_packet_network and network.packet is None:
                yield PlanError(
                    "the plan has no packet network: set network.packet, or use another kind",
                    key=f"routing.{name}",
                )
        return
    if not isinstance(schedule, Rotation):
        if "schedule" in plan.model_fields_set:
            why = f"{shown(schedule.kind)} needs one circuit switch, but a network of kind"
        else:
            why = "a network of kind"
        kinds = [shown(name) for name, rule in RULES.items() if issubclass(rule, Rotation)]
        yield PlanError(
            f'{why} "ocs" has several: use {", ".join(kinds)} or "asked"',
            key="schedule.kind",
        )
        return
    wrong = list(schedule.wrong_times(network))
    if wrong:
        yield from wrong
        return
    try:
        net = plan.slices
    except PlanError as error:
        yield PlanError(error.expected, key="schedule")
        return
    if net is not None:
        has_packet_network = network.packet is not None
        yield from plan.routing.problems(net, network.racks, has_packet_network)
        yield from absent_uplinks(network.failure, net.switches)
        if network.hold and (schedule.night == 0 or None not in net.ending or net.slices == 1):
            yield PlanError(
                "hosts cannot hold in nights, of which the schedule has none: some circuit is up at any time",
                key="network.hold",
            )


def _priorities(plan: Experiment) -> Iterator[PlanError]:
    """Flows of a class that there is not."""
    both = isinstance(plan.network, Ocs) and len(plan.routing.classes) == 2
    for key, workload in plan.named_workloads():
        if workload.priority is not None and not both:
            yield PlanError(
                'chooses between the classes low and bulk, which only a network of kind "ocs" with routing of both has',
                key=f"{key}.priority",
                value=workload.priority,
            )


def idle(plan: Experiment) -> Iterator[PlanError]:
    """That nothing happens in a run of it. `etalon exec` may have a network to itself."""
    if not plan.workloads and not plan.program:
        yield PlanError(
            "the plan sends nothing: give at least one workload, like [[bulk]] or [[flow]] (`etalon list workloads`)",
            key="bulk",
        )


def _clocks(plan: Experiment) -> Iterator[PlanError]:
    """Duration and warmup."""
    if plan.warmup >= plan.duration:
        yield PlanError(
            f"{shown(TIME.format(plan.warmup))} must be shorter than the duration of {TIME.format(plan.duration)}: "
            "nothing would be measured",
            key="warmup",
            value=plan.warmup,
        )
    if plan.duration * plan.tdf > LONGEST_HOST_TIME:
        yield PlanError(
            f"{TIME.format(plan.duration)} are {rounded(plan.duration * plan.tdf)} on the hosts' clocks, tdf times "
            f"as long; at most {rounded(LONGEST_HOST_TIME)}, as TCP's timestamps in ms have 32 bits (RFC 7323)",
            key="duration",
            value=TIME.format(plan.duration),
        )


def _traffic(plan: Experiment) -> Iterator[PlanError]:
    """Programs and workloads, one by one."""
    for index, program in enumerate(plan.program):
        key = f"program.{index}" if len(plan.program) > 1 else "program"
        yield from program.problems(key, plan.network.racks, plan.network.hosts)
        yield from program.late(key, plan.duration)
    yield from _names(plan)
    for key, workload in plan.named_workloads():
        yield from workload.problems(key, plan.setting(key))
        if isinstance(workload.transport, Ndp | RotorLb):
            yield from oversized(f"{key}.transport", workload.transport, plan.network.mtu)
        if workload.start >= plan.duration:
            yield PlanError(
                f"{shown(TIME.format(workload.start))} is not before the end of the experiment at "
                f"{TIME.format(plan.duration)}",
                key=f"{key}.start",
                value=workload.start,
            )
        period = getattr(workload, "period", None)
        if period is not None and workload.start + period > plan.duration:
            yield PlanError(
                f"flows would begin up to {TIME.format(workload.start + period)}, after the end of the experiment at "
                f"{TIME.format(plan.duration)}",
                key=f"{key}.period",
                value=TIME.format(period),
            )


def _names(plan: Experiment) -> Iterator[PlanError]:
    """Names of programs, which name files."""
    named: dict[str, int] = {}
    network = plan.network
    for index, program in enumerate(plan.program):
        files = {one.file for one in program.each(network.racks, network.hosts) if one.file}
        for first in sorted({named[file] for file in files if file in named}):
            yield PlanError(
                f"is also the name of program.{first}: their output would go to the same files",
                key=f"program.{index}.name",
                value=program.name,
            )
        named |= {file: index for file in files if file not in named}


def _failures(plan: Experiment, network: Network) -> Iterator[PlanError]:
    """Uplinks that fail and are not there."""
    last = len(plan.circuits)
    for index, failure in enumerate(network.failure):
        for name, uplink in failure.uplinks.items():
            if uplink > last:
                yield PlanError(
                    f"there is no uplink or switch {uplink}: 0 is the packet network's, {last} the last kind of circuits'",
                    key=f"network.failure.{index}.{name}",
                )


def _rotorlb(plan: Experiment) -> Iterator[PlanError]:
    """RotorLB carries one class, and nothing else does."""
    ways = plan.routing.classes if isinstance(plan.network, Ocs) else {}
    carried = next((name for name, way in ways.items() if isinstance(way, RotorLbWay)), None)
    for key, workload in plan.named_workloads():
        of_class = workload.priority in (None, carried)
        if isinstance(workload.transport, RotorLb):
            if carried is None:
                yield PlanError(
                    'RotorLB needs a network of kind "ocs" with routing of kind "rotorlb" of one class',
                    key=f"{key}.transport",
                    value="rotorlb",
                )
            elif not of_class:
                yield PlanError(
                    f"RotorLB carries the class {carried}",
                    key=f"{key}.priority",
                    value=workload.priority,
                )
        elif (
            carried is not None
            and not isinstance(workload.transport, Ndp)
            and _has_any(plan, key, workload, carried)
        ):
            yield PlanError(
                f"RotorLB carries class {carried}, which TCP cannot use: "
                f'take "rotorlb" or "ndp", or routing.{carried} = "direct"',
                key=f"{key}.transport",
                value=workload.transport.kind,
            )


def _has_any(plan: Experiment, key: str, workload: Workload, name: str) -> bool:
    """Whether a workload has flows in a class."""
    if workload.priority is not None:
        return workload.priority == name
    cutoff = plan.routing.cutoff
    if len(plan.routing.classes) == 1 or cutoff is None:
        return name == next(iter(plan.routing.classes))
    if plan.streamed:
        return True
    sizes = (flow["bytes"] for flow in workload.resolve(plan.setting(key)))
    return any((size is None or size >= cutoff) == (name == "bulk") for size in sizes)


def _too_many(plan: Experiment) -> Iterator[PlanError]:
    """That there are more flows than are run, or so many that something else cannot be; found without listing them."""
    try:
        yield from streaming.problems(plan)
    except PlanError:
        return  # a file that cannot be read, which is reported as such


def _paths(plan: Experiment) -> Iterator[PlanError]:
    """That TCP is to differ by layers which the network does not have, or twice for one."""
    network = plan.network
    if not isinstance(network, Switched):
        for key in ("path", "otcp"):
            if getattr(plan.tcp, key):
                yield PlanError(
                    'only networks of kind "tree" and "leaf-spine" have layers', key=f"tcp.{key}"
                )
        return
    layers = [path.layer for path in plan.tcp.path]
    for index, layer in enumerate(layers):
        if layer not in network.layers:
            there = " and ".join(shown(name) for name in network.layers)
            yield PlanError(
                f"{shown(layer)} is not a layer of this network, which has {there}",
                key=f"tcp.path.{index}.layer",
            )
        if layer in layers[:index]:
            yield PlanError(
                f"the layer {shown(layer)} is given twice", key=f"tcp.path.{index}.layer"
            )


def _measured_pair(plan: Experiment) -> Iterator[PlanError]:
    if plan.measure.pair is None:
        return
    racks = plan.network.racks
    for rack in plan.measure.pair:
        if rack >= racks:
            yield PlanError(
                f"there is no rack {rack} (racks 0..{racks - 1})", key="measure.pair", value=rack
            )
    if plan.measure.pair[0] == plan.measure.pair[1] and not plan.network.carries_within_racks:
        yield PlanError("the measured pair must be two different racks", key="measure.pair")


def _ports(plan: Experiment) -> Iterator[PlanError]:
    if plan.measure.links is not None and plan.network.kind != "ocs":
        yield PlanError(
            "links can be followed over time only in networks of circuits; leave it out",
            key="measure.links",
        )
    if plan.measure.ports and isinstance(plan.network, Network):
        yield PlanError(
            'the queues of a network of kind "rdcn" are those of rack pairs, which the table pairs has',
            key="measure.ports",
        )


def _asked(plan: Experiment) -> Iterator[PlanError]:
    """What is wrong with circuits that jobs ask for."""
    schedule = plan.schedule
    if not isinstance(schedule, Asked):
        for number, job in enumerate(plan.job):
            if job.circuits != "none":
                yield PlanError(
                    'a job can ask for circuits where schedule.kind = "asked"; here they follow '
                    f"{shown(schedule.kind)}",
                    key=f"job.{number}.circuits",
                )
        for number, program in enumerate(plan.program):
            yield from program.cannot_ask(f"program.{number}.ask", schedule.kind)
        return
    for name, why in (
        ("reconfiguration", "no circuit on request would come up"),
        ("request", "no request would arrive"),
    ):
        time = getattr(schedule, name)
        if time >= plan.duration:
            yield PlanError(
                f"{shown(TIME.format(time))} is as long as the run, which lasts {TIME.format(plan.duration)}: {why}",
                key=f"schedule.{name}",
                value=TIME.format(time),
            )


def flows(plan: Experiment) -> Iterator[PlanError]:
    """What is wrong with the flows. To be asked of a plan that has no other problem: it may list them."""
    if plan.measure.flows:
        yield from _chosen_flows(plan)
    network = plan.network
    if isinstance(network, Network) and network.circuits_only and not plan.schedule.computed:
        yield from _never_joined(plan, network)
    yield from _job_circuits(plan)


def _job_circuits(plan: Experiment) -> Iterator[PlanError]:
    """That a job asks for circuits that cannot be, or that do not carry its messages."""
    network, schedule = plan.network, plan.schedule
    if not isinstance(network, Network | Ocs) or not isinstance(schedule, Asked):
        return
    bypass, hops = network.ack_bypass is not None, 1
    if isinstance(network, Ocs):
        # Jobs' messages have no length that their class could depend on: they are of the last one.
        kind = [*plan.routing.classes.values()][-1 if plan.routing.cutoff else 0].kind
        packets, hops = kind == "packet", network.hops if kind == "shortest" else 1
    else:
        packets = not network.circuits_only
    ways = (schedule.pairs(network), packets, bypass, (network.uplinks, hops))
    for number, job in enumerate(plan.job):
        try:
            resolved = circuit_plans.resolved(plan, job)
        except PlanError as error:
            yield PlanError(error.expected, key=f"job.{number}.circuits", value=job.circuits)
            continue
        found = _core.job_circuits(json.dumps(resolved), *ways)
        if found is not None:
            key, why = found
            if isinstance(network, Ocs) and "without a circuit" in why and hops == 1:
                why += '; routing = "shortest" leads over several circuits'
            yield PlanError(why, key=f"job.{number}.{key}")


def _never_joined(plan: Experiment, network: Network) -> Iterator[PlanError]:
    """Racks that only circuits could join, and of which one sends to the other. Acknowledgements need the way back."""
    met = _met(plan)
    back = network.ack_bypass is None
    pairs = (
        pair for key, work in plan.keyed_workloads() for pair in work.rack_pairs(plan.setting(key))
    )
    for pair in dict.fromkeys(pairs):
        for src, dst in (pair, pair[::-1]) if back else (pair,):
            if src != dst and (src, dst) not in met:
                yield PlanError(
                    f"racks {pair[0]} and {pair[1]} need a circuit from {src} to {dst}, as there is no packet network; "
                    "the schedule has none",
                    key="network.circuits_only",
                )
                return


def _met(plan: Experiment) -> set[tuple[int, int]]:
    """The rack pairs that the schedule joins, if it is given; source and destination."""
    week = resolve(plan)["schedule"] or {"configurations": []}
    return {
        (src, dst)
        for configuration in given_configurations(week)
        for dst, src in enumerate(configuration["sources"])
    }


def _chosen_flows(plan: Experiment) -> Iterator[PlanError]:
    """That `measure.flows` names what there is not."""
    count = len(plan.flows)
    classes = sorted({flow["class"] for flow in plan.flows if flow.get("class")})
    for chosen in plan.measure.flows:
        if isinstance(chosen, int) and chosen >= count:
            has = f"they are numbered 0..{count - 1}" if count else "the plan has none"
            yield PlanError(f"there is no flow {chosen}: {has}", key="measure.flows", value=chosen)
        elif isinstance(chosen, str) and chosen not in classes:
            has = f"there are {', '.join(classes)}" if classes else "no flow has a class"
            yield PlanError(
                f"no flow is of class {shown(chosen)}: {has}", key="measure.flows", value=chosen
            )
    if len(plan.followed_flows) > MOST_FOLLOWED:
        yield PlanError(
            f"names {len(plan.followed_flows)} flows; at most {MOST_FOLLOWED} can be followed",
            key="measure.flows",
        )


def _notify(plan: Experiment, network: Network) -> Iterator[PlanError]:
    """That hosts would be told of a change before the one before it, if so; the schedule is right."""
    shortest = shortest_configuration(plan)
    notify = network.notify or tdns.notified(plan)
    if notify is not None and shortest and notify.before > shortest:
        yield PlanError(
            f"{shown(TIME.format(notify.before))} must not be longer than the shortest configuration of the "
            f"schedule, which is {TIME.format(shortest)} with its night",
            key="network.notify.before",
            value=TIME.format(notify.before),
        )


def warnings(plan: Experiment) -> Iterator[str]:
    """Sentences about what the plan probably does not mean."""
    week = week_ns(plan)
    measured = plan.duration - plan.warmup
    if week and measured < week and not isinstance(plan.schedule, Asked):
        yield (
            f"the plan measures {rounded(measured)}, less than one week of {rounded(week)}: "
            "its utilisation and latency do not represent the schedule"
        )
    if isinstance(plan.network, Network):
        yield from _without_circuit(plan)
    if isinstance(plan.network, Ocs):
        yield from _without_class(plan, plan.network)
    yield from _taken_away(plan)
    yield from loads.too_much(plan)
    yield from _narrow_hosts(plan, week)
    yield from plan.network.warnings(
        {name for workload in plan.workloads for name in workload.controls}, week
    )


def _without_class(plan: Experiment, network: Ocs) -> Iterator[str]:
    """A queue of a class that the plan does not route."""
    classes = plan.routing.classes
    for name in CLASSES:
        own: ClassQueue = getattr(network.queue, name)
        if name not in classes and own not in (ClassQueue(), getattr(network.queue, *classes)):
            yield f"network.queue.{name} has no effect: the plan routes only class {' '.join(classes)}"


def _narrow_hosts(plan: Experiment, week: int) -> Iterator[str]:
    """Jobs whose hosts cannot fill a circuit."""
    network = plan.network
    if not isinstance(network, Ocs) and not (isinstance(network, Network) and week):
        return
    host, circuit = network.host.rate, network.rates[1]
    for number, job in enumerate(plan.job):
        racks = [rack for rack, _ in job.hosts(plan.setting(f"job.{number}"))]
        if host * max(map(racks.count, racks), default=0) < circuit:
            yield (
                f"network.host.rate is {RATE.format(host)} and a circuit's rate {RATE.format(circuit)}: the hosts' NICs "
                f"cannot fill a circuit, and will limit job {number}'s iteration times"
            )


def _taken_away(plan: Experiment) -> Iterator[str]:
    """Jobs that rely on circuits of the start, which others may take."""
    network = plan.network
    packets = isinstance(network, Network) and not network.circuits_only
    packets |= isinstance(network, Ocs) and network.packet is not None
    asking = [number for number, job in enumerate(plan.job) if job.circuits != "none"]
    if packets or not asking or not isinstance(plan.schedule, Asked):
        return
    for number, job in enumerate(plan.job):
        if job.circuits == "none":
            yield (
                f"job {number} asks for no circuits and uses the initial ones, which job {asking[0]} may take from it "
                'for good: give it circuits = "each", or a list'
            )


def _without_circuit(plan: Experiment) -> Iterator[str]:
    """Pairs that send but never meet, in a plan that has circuits."""
    if not week_ns(plan) or plan.schedule.computed:
        return
    met = _met(plan)
    sending = dict.fromkeys(workload.racks for workload in (*plan.bulk, *plan.flow))
    for src, dst in (pair for pair in sending if pair not in met and pair[0] != pair[1]):
        yield f"rack {src} sends to rack {dst}, but the schedule never joins them: no circuit, only packets"
