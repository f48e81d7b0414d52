# SPDX-License-Identifier: MIT OR Apache-2.0
"""The Linux engine: real Linux TCP and real programs, in a User-Mode Linux kernel whose clock is virtual."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from etalon import _core
from etalon.controls import LINUX, controls
from etalon.custom.source import is_reference
from etalon.engine import build, code, mpi
from etalon.engine.protocol import Options
from etalon.errors import EngineFailed, EtalonError, PlanError
from etalon.plan import Plan, tdns
from etalon.plan.linux import MIB
from etalon.plan.network import Ocs
from etalon.plan.network.ocs import CircuitNotify
from etalon.plan.routing.paths import Paths
from etalon.plan.transport import Mptcp, Ndp, PlainTcp, RotorLb, Tdtcp
from etalon.plan.workloads.base import Workload
from etalon.plan.workloads.generator import Generator
from etalon.plan.workloads.job import Job
from etalon.progress import Progress, Status
from etalon.results import Run
from etalon.units import TIME, shown

ETALON = "etalon"
"""As a program's command: the etalon that runs the plan, wherever it is installed."""
ASK = "ask"
"""What hosts' own etalon does (kernel/init/ask.c)."""


MOST_TDNS = 4
"""Of a connection by TDTCP."""
MOST_SUBFLOWS = 4
"""Of a connection by MPTCP."""


@dataclass(frozen=True)
class Image:
    """A kernel that was built."""

    path: Path
    hz: int
    version: str
    """Of Linux."""
    digest: str
    """Of its content and of the libraries beside it, 16 hexadecimal digits."""


class Linux:
    """One kernel process a run; every emulated host is a network namespace in it."""

    NAME = LINUX
    DESCRIPTION = "real Linux TCP stacks and real programs, in exact virtual time; no root needed"

    def __init__(self, options: Options | None = None) -> None:
        self.options = options or Options()
        self._paths: dict[int, Path] = {}
        """Kernels by HZ, as `prepare` found them: to look for one means to look at all that it is made from."""

    def problems(self, plan: Plan) -> list[PlanError]:
        """What real hosts cannot do."""
        return [
            *_parameters(plan),
            *_sizes(plan),
            *_fixed(plan),
            *_models(plan),
            *_routings(plan),
            *_networks(plan),
        ]

    def missing(self, plans: Sequence[Plan]) -> str:
        """That kernels are built, if some are not."""
        missing = _not_built(plans)
        if not missing:
            return ""
        which = " and ".join(f"HZ {hz}" for hz in missing)
        return (
            f"--engine linux needs a kernel with {which}, which is built now and kept: "
            f"this takes up to {8 * len(missing)} minutes on two processors, once"
        )

    def prepare(
        self,
        plans: Sequence[Plan],
        progress: Progress | None = None,
        status: Status | None = None,
    ) -> None:
        """Builds the kernels that these plans need, one for each HZ."""
        from etalon import kernel

        missing = _not_built(plans)
        for done, hz in enumerate(missing):

            def overall(share: float, done: int = done) -> None:
                if progress is not None:
                    progress((done + share) / len(missing))

            kernel.image(hz, overall, status)
        for hz in _ticks(plans):
            path = kernel.find(hz)
            if path is not None:
                self._paths[hz] = path

    def digest(self, plan: Plan) -> str:
        """Digest of the core and of the kernel that the plan takes; empty if that is not built."""
        image = self._image_of(plan.tcp.hz)
        if image is None:
            return ""
        return hashlib.sha256(f"{build.digest()} {image.digest}".encode()).hexdigest()[:16]

    def run(self, plan: Plan, control: _core.Control) -> Run:
        """Runs a plan."""
        return self.finish(plan, self.call(plan, control))

    def trace(
        self, plan: Plan, control: _core.Control, start_ns: int, end_ns: int, pcapng: Path | None
    ) -> dict[str, Any]:
        """Runs a plan up to `end_ns`; gives the events of [start_ns, end_ns) and writes its packets to `pcapng`."""
        wanted = (start_ns, end_ns, None if pcapng is None else str(pcapng))
        return self.call(plan, control, trace=wanted)

    def call(self, plan: Plan, control: _core.Control, **options: Any) -> dict[str, Any]:
        """Calls the core. Raises `EngineFailed`, with what was measured, if the kernel does not come to the end."""
        image = self.image(plan)
        resolved = plan.for_engines()
        pairs = zip(plan.programs, resolved.get("programs", ()), strict=True)
        for number, (one, program) in enumerate(pairs):
            if program["command"][0] == ETALON and program["command"][1:2] != [ASK]:
                program["command"][:1] = [sys.executable, "-m", ETALON]
            if one.ranks:
                found = mpi.find(program["command"][0])
                program["command"] = list(found.command(one.over, one.ranks, program["command"]))
                mine = [*found.variables(), *found.circuits(one, str(number)), mpi.quiet(plan)]
                program["env"] = [*mine, *program.get("env", ())]
        memory = plan.linux.memory
        options = {
            "folder": str(Path.cwd()),
            "patience_s": self.options.patience_s,
            "memory_mib": None if memory is None else memory // MIB,
            "call_ns": plan.linux.cpu,
            "polling_ns": plan.linux.polling,
            "plugins": code.plugins(plan),
            **options,
        }
        try:
            return _core.run_linux(
                json.dumps(resolved), str(image.path), image.hz, control, **options
            )
        except ValueError as error:
            raise PlanError(
                f"{plan.name}: Linux cannot run this plan: {error}{code.whose(plan, error)}"
            ) from error
        except _core.KernelError as error:
            message, console, partial = error.args
            run = None
            if partial is not None and partial["meta"]["simulated_ns"] > 0:
                beside = len(options.get("programs") or ())  # those that are not the plan's
                partial["programs"] = partial["programs"][beside:]
                run = self.finish(plan, partial)
            raise EngineFailed(f"{plan.name}: {message}", console, run) from error

    def image(self, plan: Plan) -> Image:
        """The kernel that the plan takes."""
        image = self._image_of(plan.tcp.hz)
        if image is None:
            raise EtalonError(
                f"{plan.name}: there is no kernel with HZ {plan.tcp.hz}; `etalon kernel build` makes it"
            )
        return image

    def _image_of(self, hz: int) -> Image | None:
        """The kernel of this HZ; None if it is not built."""
        from etalon import kernel

        path = self._paths.get(hz)
        if path is None or not path.exists():
            path = kernel.find(hz)
        return None if path is None else _described(path, hz, path.stat().st_mtime_ns)

    def finish(self, plan: Plan, answer: Mapping[str, Any]) -> Run:
        """The run that the core's answer tells of, which says which kernel it was."""
        image = self.image(plan)
        run = Run.from_core(plan, answer, self.NAME, self.digest(plan))
        run.meta.update(kernel=image.version, kernel_image=image.digest, hz=image.hz)
        if answer.get("polled"):
            run.meta["polled"] = list(answer["polled"])
        return run


@cache
def _described(path: Path, hz: int, _: int) -> Image:
    """Version and digest of a kernel, found out once for each state of its file."""
    from etalon import kernel

    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
        version = said.stdout.strip().rpartition("\n")[2]
        whole = hashlib.sha256(path.read_bytes())
        for library in map(path.with_name, kernel.LIBRARIES):
            if library.exists():
                whole.update(library.read_bytes())
        digest = whole.hexdigest()[:16]
    except (OSError, subprocess.CalledProcessError) as error:
        raise EtalonError(
            f"{path}: the kernel cannot be run: {error}; `etalon doctor` shows what is missing"
        ) from error
    return Image(path, hz, version, digest)


def _not_built(plans: Sequence[Plan]) -> list[int]:
    """The HZ of kernels that these plans need and that are not built."""
    from etalon import kernel

    return [hz for hz in _ticks(plans) if kernel.find(hz) is None]


def _ticks(plans: Sequence[Plan]) -> list[int]:
    return list(dict.fromkeys(plan.tcp.hz for plan in plans))


def _sizes(plan: Plan) -> list[PlanError]:
    """Networks that have no addresses or ports for all."""
    found = []
    flows = round(plan.expected_flows) if plan.streamed else len(plan.resolve()["flows"])
    counts = {key: work.expected(plan.setting(key)) for key, work in plan.named_workloads()}
    largest = max(counts, key=lambda key: counts[key], default="")
    for key, number, most in (
        (largest, flows, _core.LINUX_MOST_FLOWS),
        ("network.hosts", plan.network.hosts, _core.LINUX_MOST_HOSTS),
    ):
        if number > most:
            what = "hosts" if key == "network.hosts" else "flows"
            found.append(
                PlanError(
                    f"{number} {what}; --engine linux runs at most {most}", key=key, value=number
                )
            )
    return found


def _models(plan: Plan) -> list[PlanError]:
    """Keys of what only the simulator has."""
    found = []
    if plan.dfsio:
        found.append(
            PlanError("only the simulator models HDFS; on Linux run Hadoop itself", key="dfsio")
        )
    outside = "job" if plan.job else "generator" if plan.generator else ""
    if outside and plan.program:
        found.append(
            PlanError(
                "with --engine linux, jobs and generators cannot run beside programs", key=outside
            )
        )
    for key, workload in plan.named_workloads():
        carriers = PlainTcp | Mptcp if isinstance(workload, Job) else PlainTcp
        if isinstance(workload, Job | Generator) and not isinstance(workload.transport, carriers):
            found.append(
                PlanError(
                    "with --engine linux, TCP carries what generators send, and TCP or MPTCP what jobs send",
                    key=f"{key}.transport",
                    value=workload.transport.kind,
                )
            )
    if plan.end_when_done and not plan.workloads:
        found.append(
            PlanError(
                "the run ends with its last flow, and it has only programs", key="end_when_done"
            )
        )
    return found


def _routings(plan: Plan) -> Iterator[PlanError]:
    """What only the simulator's hosts do with packets."""
    ways = plan.routing.classes if isinstance(plan.network, Ocs) else {}
    for name, way in ways.items():
        if isinstance(way, Paths) and way.spread == "packet":
            yield PlanError(
                'Linux sends all packets of a flow over one path; use spread = "flow", or --engine sim',
                key=f"routing.{name}.spread",
                value=way.spread,
            )


def _networks(plan: Plan) -> Iterator[PlanError]:
    """Its TDTCP and MPTCP follow only so many networks."""
    networks = tdns.count(plan)
    notify = tdns.notified(plan)
    is_length = isinstance(notify, CircuitNotify) and notify.tdns == "length"
    for key, workload in plan.named_workloads():
        transport = workload.transport
        if isinstance(transport, Ndp | RotorLb):
            name = {"ndp": "NDP", "rotorlb": "RotorLB"}[transport.kind]
            yield PlanError(
                f"Linux has no {name}; run the plan with --engine sim",
                key=f"{key}.transport",
                value=transport.kind,
            )
        elif isinstance(transport, Tdtcp) and networks > MOST_TDNS:
            yield PlanError(
                f"on Linux, TDTCP follows at most {MOST_TDNS} TDNs; the plan's network has {networks}"
                + (f": set network.notify.longest = {MOST_TDNS - 1}" if is_length else ""),
                key=f"{key}.transport",
                value=transport.kind,
            )
        elif isinstance(transport, Mptcp) and transport.subflows > MOST_SUBFLOWS:
            yield PlanError(
                f"on Linux MPTCP has at most {MOST_SUBFLOWS} subflows, not {transport.subflows}",
                key=f"{key}.transport.subflows",
                value=transport.subflows,
            )


def _fixed(plan: Plan) -> list[PlanError]:
    """Keys that say what Linux has no setting for."""
    found = []
    for key, default in (("min_delayed_ack", 40_000_000), ("max_delayed_ack", 200_000_000)):
        if getattr(plan.tcp, key) != default:
            found.append(
                PlanError(
                    f"{shown(TIME.format(getattr(plan.tcp, key)))} works on the simulator only: Linux has no setting "
                    f"for it, and always uses {TIME.format(default)}",
                    key=f"tcp.{key}",
                )
            )
    return found


def _parameters(plan: Plan) -> Iterator[PlanError]:
    """What the kernel's congestion controls cannot do: their parameters are the kernel's, not a flow's."""
    seen: dict[str, tuple[str, dict[str, float]]] = {}
    for key, workload, cc in _controls(plan):
        if is_reference(cc):
            yield PlanError(
                "congestion controls in Python run on the simulator only; use --engine sim",
                key=f"{key}.cc",
                value=cc,
            )
            continue
        control, params = controls()[cc], dict(workload.params)
        known = control.parameters.get(LINUX)
        if known is None:
            yield PlanError(
                f"the kernel has no {shown(cc)}; --engine sim has a model of it",
                key=f"{key}.cc",
                value=cc,
            )
            continue
        for name, value in params.items():
            where = f"{key}.params.{name}"
            if name not in known:
                has = f"it has {', '.join(known)}" if known else "it has none"
                yield PlanError(
                    f"only the simulator's model of {cc} has this parameter, not the kernel's; {has}",
                    key=where,
                    value=value,
                )
            elif name == "g" and not _power_of_half(value):
                yield PlanError(
                    f"{value:g} must be a power of a half, such as 0.0625, for the kernel's {cc}",
                    key=where,
                    value=value,
                )
        first = seen.setdefault(cc, (key, params))
        if first[1] != params:
            yield PlanError(
                f"differ from those of {first[0]}, but in the kernel all flows with {cc} share them",
                key=f"{key}.params",
            )


def _controls(plan: Plan) -> Iterator[tuple[str, Workload, str]]:
    """Each workload's key, with each of its congestion controls."""
    for key, workload in plan.named_workloads():
        for cc in workload.controls:
            yield key, workload, cc


def _power_of_half(value: float) -> bool:
    return value in (2.0**-n for n in range(1, 11))
