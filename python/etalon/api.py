"""The Python API: a network, a week, workloads, an experiment, a run. Every quantity is text with a unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from etalon import schedulers
from etalon.campaign.executors.base import Done
from etalon.campaign.runs import run_all, warn_of
from etalon.engine import Engine, Progress
from etalon.errors import PlanError
from etalon.plan import Plan
from etalon.plan.experiment import WORKLOADS
from etalon.plan.explain import build
from etalon.plan.network import Dumbbell, Network
from etalon.plan.program import Program
from etalon.plan.schedules import Schedule, schedule
from etalon.plan.workloads.base import Workload as _Workload
from etalon.plan.workloads.bulk import Bulk
from etalon.plan.workloads.flow import Flow
from etalon.results import Run

Link = tuple[str, str] | Mapping[str, Any]
Workload = _Workload | Program

_KINDS: dict[str, type[Workload]] = {**WORKLOADS, "program": Program}


def network(
    racks: int = 3,
    hosts: int = 16,
    packet: Link | None = ("10Gbps", "5us"),
    circuit: Link = ("80Gbps", "30us"),
    voq: int | Mapping[str, Any] = 16,
    **more: Any,
) -> Network:
    """A reconfigurable data centre network. `packet` and `circuit` are rate and delay of a link; without `packet` there are
    circuits only.

    >>> network(racks=3, voq={"packets": 16, "resize": {"packets": 50, "before": "600us"}}, ece={"before": "150us"})
    """
    given: dict[str, Any] = {"racks": racks, "hosts": hosts, "circuit": circuit, "voq": voq}
    given |= {"circuits_only": True} if packet is None else {"packet": packet}
    return build(Network, given | more, under="network")


def dumbbell(
    rate: str = "10Gbps", delay: str = "30us", queue: int | None = 100, hosts: int = 16, **more: Any
) -> Dumbbell:
    """Hosts of rack 0 that send to hosts of rack 1 over one drop-tail queue; `path=[...]` for several."""
    given: dict[str, Any] = {"kind": "dumbbell", "hosts": hosts}
    if "path" not in more:
        stage = {"rate": rate, "delay": delay, "queue": queue}
        given["path"] = [{key: value for key, value in stage.items() if value is not None}]
    return build(Dumbbell, given | more, under="network")


def strobe(
    net: Network, day: str = "180us", night: str = "20us", mimic: int | None = None
) -> Schedule:
    """A week in which every rack meets every other rack for one day. Three racks can `mimic` a week of more."""
    return _checked(net, {"kind": "strobe", "day": day, "night": night, "mimic": mimic})


def fixed(
    net: Network,
    configurations: Sequence[Sequence[tuple[int, int]] | Mapping[str, Any]],
    day: str = "180us",
    night: str = "20us",
) -> Schedule:
    """A week of the given configurations: each a list of circuits (source, destination), or a table with its day.

    >>> fixed(net, [[(0, 1), (1, 0)], {"circuits": [(0, 2), (2, 0)], "day": "90us"}])
    """
    week = [
        c if isinstance(c, Mapping) else {"circuits": [tuple(pair) for pair in c]}
        for c in configurations
    ]
    return _checked(net, {"kind": "fixed", "day": day, "night": night, "configurations": week})


def known(net: Network, demand: Any, scheduler: str = "solstice", **more: Any) -> Schedule:
    """The week that `scheduler` computes once for `demand`: a matrix of bytes, or the name of a file with one.

    >>> known(net, [[0, 9_000_000, 0], [0, 0, 9_000_000], [9_000_000, 0, 0]], window="2ms")
    """
    rows = demand if isinstance(demand, str) else schedulers.checked(demand).tolist()
    return _checked(net, {"kind": "fixed", "demand": rows, "scheduler": scheduler, **more})


def computed(net: Network, scheduler: str = "solstice", **more: Any) -> Schedule:
    """Weeks that `scheduler` computes from demand, one after the other.

    >>> computed(net, "solstice", window="2ms", estimator="adu", compute="100us")
    """
    return _checked(net, {"kind": scheduler, **more})


def packet_only(net: Network) -> Schedule:
    """No circuits: the packet network alone."""
    return _checked(net, {"kind": "none"})


def _checked(net: Network, values: dict[str, Any]) -> Schedule:
    return schedule({key: value for key, value in values.items() if value is not None}, net)


def bulk(
    src: int,
    dst: int,
    cc: str | Sequence[str] = "cubic",
    flows: int | None = None,
    start: str = "0s",
    stop: str | None = None,
    transport: str | Mapping[str, Any] = "tcp",
    **cc_params: float,
) -> Bulk:
    """Flows without end from rack `src` to rack `dst`; further keywords are parameters of the congestion control.

    >>> bulk(0, 1, transport="tdtcp")
    >>> bulk(0, 1, ["cubic", "dctcp"], transport={"kind": "tdtcp", "relaxed": False})
    """
    given = {
        "from": src,
        "to": dst,
        "cc": cc,
        "flows": flows,
        "start": start,
        "stop": stop,
        "transport": transport,
        "params": cc_params,
    }
    return build(
        Bulk, {key: value for key, value in given.items() if value is not None}, under="bulk"
    )


def flow(
    src: str,
    dst: str,
    size: str,
    start: str = "0s",
    cc: str | Sequence[str] = "cubic",
    transport: str | Mapping[str, Any] = "tcp",
    **cc_params: float,
) -> Flow:
    """One flow of `size` between two hosts, written "r0h3" (rack 0, host 3)."""
    given = {
        "from": src,
        "to": dst,
        "size": size,
        "start": start,
        "cc": cc,
        "transport": transport,
        "params": cc_params,
    }
    return build(Flow, given, under="flow")


def workload(kind: str, **keys: Any) -> _Workload:
    """A workload of any kind of `etalon list workloads`, by the keys of its table in a plan.

    >>> workload("incast", to="r0h0", size="100kB")
    >>> workload("poisson", sizes="websearch", load=0.3)
    """
    if kind not in WORKLOADS:
        known = ", ".join(f'"{name}"' for name in WORKLOADS)
        raise PlanError(f'there is no workload "{kind}"; there are {known}')
    return build(WORKLOADS[kind], keys, under=kind)


def program(
    host: str, command: str | Sequence[str], start: str = "0s", name: str | None = None
) -> Program:
    """A program on a host, written "r0h3", from `start` on: program("r0h3", "ping -c 3 r1h3"). Linux engine only."""
    given = {"host": host, "command": command, "start": start, "name": name}
    return build(
        Program, {key: value for key, value in given.items() if value is not None}, under="program"
    )


def experiment(
    net: Network | Dumbbell,
    week: Schedule | Workload | None = None,
    *workloads: Workload,
    **settings: Any,
) -> Plan:
    """A plan from its parts. Settings are the plan's keys: duration, warmup, tdf, seed, name, tcp, measure.

    Without a `week` a network has its strobe schedule; a dumbbell has none.
    """
    if isinstance(week, (_Workload, Program)):
        workloads = (week, *workloads)
        week = None
    if not workloads and not _KINDS.keys() & settings.keys():
        raise PlanError("nothing is sent: give at least one workload, like etalon.bulk(0, 1)")
    values: dict[str, Any] = {"network": net, **settings}
    if week is not None:
        values["schedule"] = week
    for name, kind in _KINDS.items():
        chosen = tuple(workload for workload in workloads if isinstance(workload, kind))
        if chosen:
            values[name] = chosen
    return build(Plan, values)


def run(
    what: Plan | Network | Dumbbell,
    week: Schedule | Workload | None = None,
    *workloads: Workload,
    engine: str | Engine = "sim",
    progress: Progress | None = None,
    **settings: Any,
) -> Run:
    """Runs a plan, or the experiment of these parts, on the engine "sim" or "linux" (`etalon list engines`).

    The first run on Linux builds its kernel, which takes minutes. Ctrl-C raises `Interrupted`, whose `runs` holds the
    partial run.
    """
    if not isinstance(what, Plan):
        plan = experiment(what, week, *workloads, **settings)
    elif week is None and not workloads:
        plan = (
            what.replace({key: _plain(value) for key, value in settings.items()})
            if settings
            else what
        )
    else:
        raise PlanError("a plan already has its schedule and workloads; give the plan alone")
    return run_many([plan], engine=engine, progress=progress)[0]


def run_many(
    plans: Sequence[Plan],
    jobs: int | None = None,
    *,
    engine: str | Engine = "sim",
    progress: Progress | None = None,
    done: Done | None = None,
    executor: str = "local",
) -> list[Run]:
    """Runs plans, `jobs` at a time (default: one a processor). The results do not depend on `jobs` or `executor`."""
    warn_of(plans)
    runs = run_all(plans, engine, executor=executor, jobs=jobs, progress=progress, done=done)
    warn_of(runs)
    return runs


def _plain(value: Any) -> Any:
    """A table as plain values, for `Plan.replace`."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    return value
