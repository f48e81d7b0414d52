"""The `[linux]` table: the machine that the Linux engine emulates. The simulator does not look at it."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from etalon.plan.base import Table
from etalon.units import SIZE, Size, problem, shown

MIB = 1 << 20
LEAST_MEMORY, MOST_MEMORY = 128 * MIB, 256 << 30


def _memory(size: int) -> int:
    if not LEAST_MEMORY <= size <= MOST_MEMORY:
        raise problem(
            f"{shown(SIZE.format(size))} is no memory for a machine with these hosts: it is at least 128MiB and at most "
            "256GiB"
        )
    if size % MIB:
        raise problem(f"{shown(SIZE.format(size))} must be a number of MiB, like 2GiB")
    return size


class Linux(Table):
    """The machine of which all hosts are a part. Only with `engine = "linux"`."""

    memory: Annotated[Size, AfterValidator(_memory)] | None = None
    """Its memory; of this machine's it takes what is used. Without it, 256 MiB and more for hosts and flows, and 1792 MiB if
    there are programs. It is part of the experiment: sizes of tables in the kernel follow from it."""
