# SPDX-License-Identifier: MIT OR Apache-2.0
"""What runs plans: the simulator, Linux."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest

from etalon.custom import source
from etalon.engine import code
from etalon.engine.linux import Linux
from etalon.engine.protocol import Engine, Options
from etalon.engine.sim import Simulator
from etalon.errors import PlanError, gather
from etalon.plan import Plan
from etalon.progress import Progress, Status
from etalon.units import shown

__all__ = ["ENGINES", "Engine", "Options", "Progress", "Status", "check", "descriptions", "named"]

ENGINES: dict[str, Callable[[Options], Engine]] = {Simulator.NAME: Simulator, Linux.NAME: Linux}
"""How to make an engine, by its name."""


def named(engine: str | Engine, options: Options | None = None) -> Engine:
    """The engine of this name; one that is there already is that."""
    if not isinstance(engine, str):
        if not hasattr(engine, "problems"):
            raise PlanError(f"{shown(engine)} is not an engine; choose {_known()}")
        return engine
    if engine not in ENGINES:
        raise PlanError(f'there is no engine "{engine}"; choose {_known()}')
    return ENGINES[engine](options or Options())


def _known() -> str:
    return " or ".join(f'"{name}"' for name in ENGINES)


def descriptions() -> dict[str, str]:
    """A line about each engine, for `etalon list engines`."""
    return {name: named(name).DESCRIPTION for name in ENGINES}


def check(
    plans: Sequence[Plan], engine: str | Engine, files: Sequence[str] = (), *, idle: bool = False
) -> Engine:
    """Refuses plans that the engine cannot run, by the name of their file if that is given; gives the engine. With `idle` a
    plan may send nothing."""
    chosen = named(engine)
    for plan, file in zip_longest(plans, files):
        found = [*(() if idle else plan.idle), *chosen.problems(plan)]
        if found:
            raise gather(found, file or plan.name)
        source.refuse(plan.sources, file or plan.name)
        code.plugins(plan)  # which fails now rather than in the middle of a sweep
        _ = plan.answered  # and so does routing
    return chosen
