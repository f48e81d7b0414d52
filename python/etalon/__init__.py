# SPDX-License-Identifier: MIT OR Apache-2.0
"""Etalon: a laboratory for the transport of reconfigurable data centre networks.

import etalon as et

net = et.network(racks=3, hosts=16, packet=("10Gbps", "5us"), circuit=("80Gbps", "30us"), voq=16)
week = et.strobe(net, day="180us", night="20us", mimic=25)
run = et.run(net, week, et.bulk(0, 1, cc="cubic"), duration="960ms", tdf=20)
run.circuit_utilization, run.latency(99)
"""

from __future__ import annotations

# Like that of `typing`, whose import takes most of the time during which nobody hears Ctrl-C yet.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from etalon._core import __version__ as __version__
    from etalon.api import (
        bulk,
        computed,
        dumbbell,
        experiment,
        fixed,
        flow,
        known,
        load,
        network,
        packet_only,
        program,
        run,
        run_many,
        schedule,
        strobe,
        sweep,
        tournament,
        trace,
        workload,
    )
    from etalon.asking import Claim, ask
    from etalon.campaign.sweeps import Sweep
    from etalon.campaign.tournaments import Tournament
    from etalon.collectives import CollectiveCost
    from etalon.custom.control import CongestionControl, Parameter
    from etalon.custom.scheduler import scheduler
    from etalon.custom.workload import Flow, after, after_any, wait
    from etalon.errors import EngineFailed, EtalonError, Interrupted, PlanError, PlanWarning
    from etalon.jobs import (
        all_gather,
        all_reduce,
        all_to_all,
        asked,
        broadcast,
        collective_cost,
        compute,
        job,
        reduce,
        reduce_scatter,
        send,
    )
    from etalon.plan import Plan
    from etalon.results import Run

__all__ = [
    "Claim",
    "CollectiveCost",
    "CongestionControl",
    "EngineFailed",
    "EtalonError",
    "Flow",
    "Interrupted",
    "Parameter",
    "Plan",
    "PlanError",
    "PlanWarning",
    "Run",
    "Sweep",
    "Tournament",
    "after",
    "after_any",
    "all_gather",
    "all_reduce",
    "all_to_all",
    "ask",
    "asked",
    "broadcast",
    "bulk",
    "collective_cost",
    "compute",
    "computed",
    "dumbbell",
    "experiment",
    "fixed",
    "flow",
    "job",
    "known",
    "load",
    "network",
    "packet_only",
    "program",
    "reduce",
    "reduce_scatter",
    "run",
    "run_many",
    "schedule",
    "scheduler",
    "send",
    "strobe",
    "sweep",
    "tournament",
    "trace",
    "wait",
    "workload",
]

_HOME = {
    "api": (
        "bulk",
        "computed",
        "dumbbell",
        "experiment",
        "fixed",
        "flow",
        "known",
        "load",
        "network",
        "packet_only",
        "program",
        "run",
        "run_many",
        "schedule",
        "strobe",
        "sweep",
        "tournament",
        "trace",
        "workload",
    ),
    "jobs": (
        "all_gather",
        "all_reduce",
        "all_to_all",
        "asked",
        "broadcast",
        "collective_cost",
        "compute",
        "job",
        "reduce",
        "reduce_scatter",
        "send",
    ),
    "asking": ("Claim", "ask"),
    "custom.control": ("CongestionControl", "Parameter"),
    "custom.scheduler": ("scheduler",),
    "custom.workload": ("Flow", "after", "after_any", "wait"),
    "errors": ("EngineFailed", "EtalonError", "Interrupted", "PlanError", "PlanWarning"),
    "plan": ("Plan",),
    "results": ("Run",),
    "campaign.sweeps": ("Sweep",),
    "collectives": ("CollectiveCost",),
    "campaign.tournaments": ("Tournament",),
    "_core": ("__version__",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}


_MODULES = (
    *("circuits", "figures", "graphs", "report", "reproduce", "schedulers", "testing", "timeflow"),
)


def __getattr__(name: str) -> Any:
    """Imports a name when it is first used: the command line's help must not wait for tables and plots."""
    import importlib

    if name in _MODULES:
        return importlib.import_module(f"etalon.{name}")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'etalon' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"etalon.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF, *_MODULES})
