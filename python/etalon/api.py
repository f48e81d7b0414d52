# SPDX-License-Identifier: MIT OR Apache-2.0
"""The Python API builds a network, a week, workloads and an experiment, and runs it. Every quantity is text with a unit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from etalon import schedulers, tracing
from etalon.arguments import checked, fitting
from etalon.campaign.executors.base import Done
from etalon.campaign.runs import run_all, warn_of
from etalon.campaign.sweeps import Sweep
from etalon.campaign.sweeps import sweep as run_sweep
from etalon.campaign.tournaments import Tournament, matches
from etalon.custom import source
from etalon.custom.capture import captured
from etalon.custom.scheduler import Function, Scheduler
from etalon.engine import Engine, Progress
from etalon.errors import PlanError
from etalon.jobs import quantity
from etalon.plan import Plan
from etalon.plan.experiment import WORKLOADS
from etalon.plan.explain import build
from etalon.plan.network import Dumbbell, Network
from etalon.plan.program import Program
from etalon.plan.schedules import Schedule
from etalon.plan.schedules import schedule as schedule_of
from etalon.plan.workloads.base import Workload as _Workload
from etalon.plan.workloads.bulk import Bulk
from etalon.plan.workloads.code import with_source
from etalon.plan.workloads.flow import Flow
from etalon.plan.workloads.generator import Generator
from etalon.progress import for_people
from etalon.results import Run, store
from etalon.units import TIME, shown

Link = tuple[str, str] | Mapping[str, Any]
Workload = _Workload | Program

_KINDS: dict[str, type[Workload]] = {**WORKLOADS, "program": Program}

PACKETS: Link = ("10Gbps", "5us")
"""Default rate and delay of the packet network."""


@fitting
def network(
    racks: int = 3,
    hosts: int = 16,
    packet: Link | None = PACKETS,
    circuit: Link = ("80Gbps", "30us"),
    voq: int | Mapping[str, Any] = 16,
    **more: Any,
) -> Network:
    """A hybrid network: a packet network and circuits between racks (`kind = "rdcn"`). Other kinds are tables of a plan.

    >>> network(racks=3, voq={"packets": 16, "resize": {"packets": 50, "before": "600us"}}, ece={"before": "150us"})

    Args:
        racks: number of racks.
        hosts: hosts per rack.
        packet: rate and delay of a link of the packet network; None (or `circuits_only=True`) leaves the packet network out.
        circuit: rate and delay of a circuit.
        voq: capacity of a VOQ in packets, or a table as in a plan's `network.voq`.
        more: the other keys of a plan's `[network]`.

    Raises:
        PlanError: for an unknown key or a value out of bounds.
    """
    given: dict[str, Any] = {"racks": racks, "hosts": hosts, "circuit": circuit, "voq": voq}
    alone = packet is None or (packet == PACKETS and more.get("circuits_only") is True)
    given |= {"circuits_only": True} if alone else {"packet": packet}
    return build(Network, given | more, under="network")


@fitting
def dumbbell(
    rate: str = "10Gbps", delay: str = "30us", queue: int | None = 100, hosts: int = 16, **more: Any
) -> Dumbbell:
    """A network in which hosts of rack 0 send to hosts of rack 1 over one drop-tail queue; `path=[...]` sets several."""
    given: dict[str, Any] = {"kind": "dumbbell", "hosts": hosts}
    if "path" not in more:
        stage = {"rate": rate, "delay": delay, "queue": queue}
        given["path"] = [{key: value for key, value in stage.items() if value is not None}]
    return build(Dumbbell, given | more, under="network")


@fitting
def strobe(
    net: Network, day: str = "180us", night: str = "20us", mimic: int | None = None
) -> Schedule:
    """A week in which every rack meets every other rack for one day. Three racks can `mimic` the week of a larger network."""
    return _checked(net, {"kind": "strobe", "day": day, "night": night, "mimic": mimic})


@fitting
def fixed(
    net: Network,
    configurations: Sequence[Sequence[tuple[int, int]] | Mapping[str, Any]],
    day: str = "180us",
    night: str = "20us",
) -> Schedule:
    """A week of the given configurations: each a list of circuits (source, destination), or a table with its day.

    >>> fixed(net, [[(0, 1), (1, 0)], {"circuits": [(0, 2), (2, 0)], "day": "90us"}])
    """
    if not isinstance(configurations, (list, tuple)):
        raise PlanError(f"{shown(configurations)} must be a list", key="schedule.configurations")
    week = [one if isinstance(one, Mapping) else {"circuits": one} for one in configurations]
    return _checked(net, {"kind": "fixed", "day": day, "night": night, "configurations": week})


@fitting
def known(net: Network, demand: Any, scheduler: str = "solstice", **more: Any) -> Schedule:
    """The week that `scheduler` computes once for `demand`: a matrix of bytes, or the name of a file with one.

    >>> known(net, [[0, 9_000_000, 0], [0, 0, 9_000_000], [9_000_000, 0, 0]], window="2ms")
    """
    rows = demand if isinstance(demand, str) else schedulers.checked(demand).tolist()
    return _checked(net, {"kind": "fixed", "demand": rows, "scheduler": scheduler, **more})


@fitting
def computed(
    net: Network, scheduler: str | Scheduler | Function = "solstice", **more: Any
) -> Schedule:
    """A schedule that follows demand: `scheduler` computes each week anew.

    >>> computed(net, "solstice", window="2ms", estimator="adu", compute="100us")
    >>> computed(net, longest_first, window="2ms")

    Args:
        net: the network.
        scheduler: one of `etalon list schedulers`; or a function of yours (see `etalon.scheduler` for its arguments and
            result), or its name such as "my.py:longest_first".
        more: the other keys of such a `[schedule]`: `window`, `day`, `night`, `estimator`, `compute` and others.

    Raises:
        PlanError: for an unknown scheduler or key, or code that cannot be kept with a run.
    """
    week = _checked(net, {"kind": captured(scheduler), **more})
    source.allow(getattr(week, "source", {}).values())
    return week


@fitting
def schedule(
    demand: Any, scheduler: str | Scheduler | Function = "solstice", **more: Any
) -> schedulers.Week:
    """The week that `scheduler` computes for one demand, without a run.

    >>> schedule(demand, "solstice", window="2ms").served.sum()
    >>> schedule(demand, longest_first).configurations

    Args:
        demand: a racks x racks matrix of bytes; rows are source racks.
        scheduler: as in `etalon.computed`.
        more: the arguments of `etalon.schedulers.compute`, such as `window`, `day` and `night`.

    Raises:
        PlanError: for an invalid matrix or value.
        EtalonError: for a function that fails, or that returns no week.
    """
    return schedulers.compute(scheduler, demand, **more)


@fitting
def packet_only(net: Network) -> Schedule:
    """No circuits: the packet network alone."""
    return _checked(net, {"kind": "none"})


def _checked(net: Network, values: dict[str, Any]) -> Schedule:
    if not isinstance(net, Network):
        raise PlanError(
            f"a schedule needs a network, as etalon.network() returns it, not {shown(net)}"
        )
    return schedule_of({key: value for key, value in values.items() if value is not None}, net)


@fitting
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
    """Endless flows from rack `src` to rack `dst`; further keywords are parameters of the congestion control.

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
    given = {key: value for key, value in given.items() if value is not None}
    return build(Bulk, _with_code(given, "bulk"), under="bulk")


@fitting
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
    return build(Flow, _with_code(given, "flow"), under="flow")


@checked
def workload(kind: str | Callable[..., Any], **keys: Any) -> _Workload:
    """A workload of any kind, or one that your generator makes.

    >>> workload("incast", to="r0h0", size="100kB")
    >>> workload("poisson", sizes="websearch", load=0.3)
    >>> workload(closed_loop, clients=4, cc="dctcp")

    Args:
        kind: one of `etalon list workloads`; or a generator function, or its name such as "my.py:closed_loop".
        keys: the keys of the workload's table in a plan. For a generator: `cc`, `params`, `transport`, `class` (or
            `flow_class`) and `start`; all other keys are arguments of the function.

    Raises:
        PlanError: for an unknown workload or key, or code that cannot be kept with a run.
    """
    if not isinstance(kind, str) or source.is_reference(kind):
        own = {"cc", "params", "transport", "class", "flow_class", "start"}
        given: dict[str, Any] = {key: value for key, value in keys.items() if key in own}
        given["function"] = captured(kind)
        given["arguments"] = {key: value for key, value in keys.items() if key not in own}
        return build(Generator, _with_code(given, "generator"), under="generator")
    if kind not in WORKLOADS:
        near = get_close_matches(str(kind), WORKLOADS, n=1)
        known = ", ".join(f'"{name}"' for name in WORKLOADS)
        hint = f'did you mean "{near[0]}"?' if near else f"there are {known}"
        raise PlanError(f'there is no workload "{kind}"; {hint}')
    return build(WORKLOADS[kind], _with_code(keys, kind), under=kind)


def _with_code(given: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """What is given of a workload, with the text of code of the caller's, which may run."""
    table = with_source({key: captured(value) for key, value in given.items()}, Path(), kind)
    source.allow(table.get("source", {}).values())
    return table


@fitting
def program(
    host: str | Sequence[str],
    command: str | Sequence[str],
    start: str = "0s",
    name: str | None = None,
    env: Mapping[str, str] | None = None,
) -> Program:
    """A program on emulated hosts. Linux engine only.

    >>> program("r0h3", "ping -c 3 r1h3")
    >>> program("all", "ring.py {index} {peer}")

    Args:
        host: a host like "r0h3", a list of hosts, or "all".
        command: program and arguments, as text or as a list. On several hosts, `{index}`, `{host}` and `{peer}` are each
            host's.
        start: start of the program, in network time.
        name: name of the files with its output.
        env: environment variables.
    """
    several = host == "all" or not isinstance(host, str)
    given = {
        "hosts" if several else "host": host,
        "command": command,
        "start": start,
        "name": name,
        "env": dict(env) if isinstance(env, Mapping) else env,
    }
    return build(
        Program, {key: value for key, value in given.items() if value is not None}, under="program"
    )


@checked
def experiment(
    net: Network | Dumbbell,
    week: Schedule | Workload | None = None,
    *workloads: Workload,
    **settings: Any,
) -> Plan:
    """Builds a plan from its parts. Settings are the plan's keys: duration, warmup, tdf, seed, name, tcp, measure.

    Without a `week`, a network takes the strobe schedule, and a dumbbell takes none.
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


@checked
def load(path: str | Path, code: bool = False) -> Plan | Run | Sweep:
    """Loads a plan from a file, or a run or sweep from a folder. `code` allows a plan's Python code to run.

    >>> load("strobe.toml").replace({"network.voq": 32})
    >>> load("runs/strobe-1a2b3c4d").plot.sequence()
    """
    path = Path(path)
    if (path / store.SWEEP).is_file():
        return Sweep.load(path)
    return Run.load(path) if path.is_dir() else Plan.load(path, code)


What = Plan | str | Path | Network | Dumbbell
"""A plan, the path of its file, or a network, which is the first of a plan's parts."""


@checked
def run(
    what: What,
    week: Schedule | Workload | None = None,
    *workloads: Workload,
    engine: str | Engine = "sim",
    progress: Progress | None = None,
    code: bool = False,
    **settings: Any,
) -> Run:
    """Runs a plan, a plan file, or the experiment of these parts.

    >>> run("strobe.toml", seed=2)
    >>> run(net, strobe(net), bulk(0, 1), duration="96ms")

    Args:
        what: a plan, the path of its file, or a network.
        week: the network's schedule; the default is strobe.
        workloads: the traffic.
        engine: "sim" or "linux" (`etalon list engines`). The first run on Linux may build its kernel, which takes minutes.
        progress: called with the finished share, 0 to 1. Without it, notebooks and prompts show a bar.
        code: whether the Python code that a plan file names may run.
        settings: the plan's keys: duration, warmup, tdf, seed, name, tcp, measure. They replace a given plan's values.

    Raises:
        PlanError: if the plan is invalid.
        Interrupted: on Ctrl-C; its `runs` hold the partial run.
    """
    plan = _planned(what, week, workloads, settings, code)
    return run_many([plan], engine=engine, progress=progress)[0]


@checked
def run_many(
    plans: Sequence[What],
    jobs: int | None = None,
    *,
    engine: str | Engine = "sim",
    progress: Progress | None = None,
    done: Done | None = None,
    executor: str = "local",
) -> list[Run]:
    """Runs several plans, `jobs` at a time (default: one a processor). Results do not depend on `jobs` or `executor`."""
    chosen = [_planned(plan, None, (), {}) for plan in plans]
    warn_of(chosen)
    names = ", ".join(dict.fromkeys(plan.name for plan in chosen))
    with for_people(names, progress) as told:
        runs = run_all(chosen, engine, executor=executor, jobs=jobs, progress=told, done=done)
    warn_of(runs)
    return runs


@checked
def sweep(
    what: What,
    *parts: Schedule | Workload | Mapping[str, Any],
    grid: Mapping[str, Any] | None = None,
    seeds: int | Sequence[int] | None = None,
    jobs: int | None = None,
    folder: str | Path | None = None,
    engine: str | Engine = "sim",
    executor: str = "local",
    fresh: bool = False,
    progress: Progress | None = None,
    code: bool = False,
    **settings: Any,
) -> Sweep:
    """Runs a plan, or the experiment of these parts, at every point of a grid.

    >>> sweep("strobe.toml", {"network.voq.packets": [4, 8, 16], "bulk.cc": ["cubic", "dctcp"]}, seeds=3)
    >>> sweep(net, strobe(net), bulk(0, 1), {"network.voq.packets": [4, 8, 16]}, duration="96ms")

    With a `folder`, the sweep keeps every run there as soon as it is complete, and does not repeat runs that are there.
    So an interrupted sweep continues where it stopped, and a larger grid of the same keys runs only its new points.

    Args:
        what: a plan, the path of its file, or a network.
        parts: schedule and workloads if `what` is a network; the grid comes last.
        grid: values by dotted key, as `etalon list keys` names them; or as the last of the parts. Write keys that vary together
            as one: {"network.voq.packets, network.ece.before": [[16, "150us"], [50, "600us"]]}.
        seeds: number of seeds for each point, counted from the plan's seed, or a list of seeds.
        jobs: runs at a time; default: one a processor.
        folder: folder that keeps the runs.
        engine: "sim" or "linux" (`etalon list engines`).
        executor: where the runs execute: "local", "ray", "dask" or "slurm" (`etalon list executors`).
        fresh: whether to repeat all runs, and to replace another sweep in the folder.
        progress: called with the finished share, 0 to 1. Without it, notebooks and prompts show a bar.
        code: whether the Python code that a plan file names may run.
        settings: the plan's keys, as in `run`.
    """
    if parts and isinstance(parts[-1], Mapping):
        if grid is not None:
            raise PlanError("etalon.sweep: the grid is given twice")
        *parts, grid = parts  # type: ignore[assignment]
    if any(isinstance(part, Mapping) for part in parts):
        raise PlanError("etalon.sweep: the grid comes last, after schedule and workloads")
    plan = _planned(what, *_week_and_workloads(parts), settings, code)
    grid = {
        key: captured(list(values)) if isinstance(values, (list, tuple)) else values
        for key, values in (grid or {}).items()
    }
    if not grid and seeds in (None, 1):
        raise PlanError('a sweep must vary something: give a grid, like {"tdf": [1, 20]}, or seeds')
    with for_people(f"{plan.name}, sweep", progress) as told:
        return run_sweep(
            plan, grid or {}, seeds=seeds, jobs=jobs, folder=folder, engine=engine, executor=executor, fresh=fresh,
            progress=told,
        )  # fmt: skip


@checked
def tournament(
    what: What,
    *parts: Schedule | Workload | Sequence[Any],
    controls: Sequence[Any] | None = None,
    seeds: int | Sequence[int] | None = None,
    jobs: int | None = None,
    engine: str | Engine = "sim",
    executor: str = "local",
    progress: Progress | None = None,
    code: bool = False,
    **settings: Any,
) -> Tournament:
    """Runs each pair of these congestion controls side by side, each with half of the flows, and each control beside itself.

    Flows that start first may have an advantage, so each pair meets twice, and each control starts first once.

    >>> tournament("strobe.toml", ["cubic", "reno", "dctcp"], seeds=3)

    Args:
        what: a plan, the path of its file, or a network.
        parts: schedule and workloads if `what` is a network; the congestion controls come last.
        controls: names of `etalon list cc`, or classes of yours; or as the last of the parts. They share all `[[bulk]]` flows.
        seeds: number of seeds for each match, counted from the plan's seed, or a list of seeds.
        jobs: runs at a time; default: one a processor.
        engine: "sim" or "linux" (`etalon list engines`).
        executor: where the runs execute.
        progress: called with the finished share, 0 to 1. Without it, notebooks and prompts show a bar.
        code: whether the Python code that a plan file names may run.
        settings: the plan's keys, as in `run`.
    """
    if parts and isinstance(parts[-1], (list, tuple)):
        *parts, controls = parts  # type: ignore[assignment]
    if any(isinstance(part, (list, tuple)) for part in parts):
        raise PlanError("etalon.tournament: the congestion controls come last")
    if controls is None:
        raise PlanError('etalon.tournament needs congestion controls, like ["cubic", "reno"]')
    plan = _planned(what, *_week_and_workloads(parts), settings, code)
    points = matches(plan, captured(list(controls)), seeds)
    with for_people(f"{plan.name}, tournament", progress) as told:
        plans = [point.plan for point in points]
        runs = run_all(plans, engine, executor=executor, jobs=jobs, progress=told)
    return Tournament(plan, points, runs)


@checked
def trace(
    what: What | Run,
    folder: str | Path,
    *,
    at: str | None = None,
    start: str = "0us",
    end: str = "10ms",
    pcapng: bool = True,
    timeline: bool = True,
    engine: str | Engine | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> list[Path]:
    """Runs a plan again and records every packet and event of a part of it: pcapng for Wireshark, a timeline for Perfetto.

    >>> trace(run, "capture", at="tor1", start="40ms", end="50ms")

    Args:
        what: a run, a plan, or the path of a plan's file.
        folder: folder for the files.
        at: the point at which to capture packets, such as "tor1": each packet of its rack once, both directions. Without it,
            all points: the file then contains a packet once for each point that saw it.
        start: start of the recorded part, in network time.
        end: end of the recorded part.
        pcapng: whether to write the packets.
        timeline: whether to write the timeline.
        engine: the engine; by default the one that made the run, or "sim".
        force: whether to replace the files of an earlier trace.
        progress: called with the finished share, 0 to 1. Without it, notebooks and prompts show a bar.

    Returns:
        The paths of the files.
    """
    plan = what.plan if isinstance(what, Run) else _planned(what, None, (), {})
    if engine is None:
        engine = str(what.meta.get("engine", "sim")) if isinstance(what, Run) else "sim"
    with for_people(f"{plan.name}, trace", progress) as told:
        return tracing.write(
            plan, folder, start_ns=quantity(TIME, "start", start), end_ns=min(quantity(TIME, "end", end), plan.duration), at=at,
            pcapng=pcapng, timeline=timeline, engine=engine, force=force, progress=told,
        )  # fmt: skip


def _week_and_workloads(parts: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
    return (parts[0], tuple(parts[1:])) if parts else (None, ())


def _planned(
    what: What,
    week: Schedule | Workload | None,
    workloads: Sequence[Workload],
    settings: Mapping[str, Any],
    code: bool = False,
) -> Plan:
    """The plan of these parts, or the plan itself with other settings."""
    if isinstance(what, (Network, Dumbbell)):
        return experiment(what, week, *workloads, **settings)
    plan = what if isinstance(what, Plan) else Plan.load(what, code)
    if week is not None or workloads:
        raise PlanError("a plan already has its schedule and workloads; give the plan alone")
    return plan.replace(settings) if settings else plan
