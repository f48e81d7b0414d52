# SPDX-License-Identifier: MIT OR Apache-2.0
"""Where the runs of a sweep are executed. A new executor is one file here with a class, and one line below."""

from __future__ import annotations

from etalon.campaign.executors.base import Executor
from etalon.campaign.executors.dask import Dask
from etalon.campaign.executors.local import Local
from etalon.campaign.executors.ray import Ray
from etalon.campaign.executors.slurm import Slurm
from etalon.errors import PlanError

__all__ = ["EXECUTORS", "Executor", "named"]

EXECUTORS: dict[str, Executor] = {one.NAME: one for one in (Local(), Ray(), Dask(), Slurm())}
"""The executors by name."""


def named(name: str) -> Executor:
    """The executor called `name`, which is ready to be used."""
    if name not in EXECUTORS:
        *most, last = EXECUTORS
        raise PlanError(f'there is no executor "{name}"; choose {", ".join(most)} or {last}')
    EXECUTORS[name].check()
    return EXECUTORS[name]
