"""Where the runs of a sweep are executed. A new executor is one file here with a class, and one line below."""

from __future__ import annotations

from etalon.errors import PlanError
from etalon.executors.base import Executor
from etalon.executors.dask import Dask
from etalon.executors.local import Local
from etalon.executors.ray import Ray
from etalon.executors.slurm import Slurm

__all__ = ["EXECUTORS", "Executor", "named"]

EXECUTORS: dict[str, Executor] = {one.NAME: one for one in (Local(), Ray(), Dask(), Slurm())}
"""The executors by name."""


def named(name: str) -> Executor:
    """The executor called `name`, which is ready to be used."""
    if name not in EXECUTORS:
        *most, last = EXECUTORS
        raise PlanError(
            f'there is no executor "{name}"; the executor is {", ".join(most)} or {last}'
        )
    EXECUTORS[name].check()
    return EXECUTORS[name]
