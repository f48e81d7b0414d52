# SPDX-License-Identifier: MIT OR Apache-2.0
"""The `[linux]` table: the machine that the Linux engine emulates. The simulator does not look at it."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from etalon.plan.base import Table
from etalon.units import SIZE, TIME, Size, Time, problem, shown

MIB = 1 << 20
LEAST_MEMORY, MOST_MEMORY = 128 * MIB, 256 << 30


def _memory(size: int) -> int:
    if not LEAST_MEMORY <= size <= MOST_MEMORY:
        raise problem(
            f"{shown(SIZE.format(size))} is not a size for the machine's memory: it must be 128MiB to 256GiB"
        )
    if size % MIB:
        raise problem(f"{shown(SIZE.format(size))} must be a number of MiB, like 2GiB")
    return size


LONGEST = 1_000_000_000
"""ns that a system call takes, or that a poll waits: the kernel's bound."""


def _polling(span: int) -> int:
    if span > LONGEST:
        raise problem(f"{shown(TIME.format(span))} is too long: a poll waits at most 1s")
    return span


def _call(span: int) -> int:
    if not 1 <= span <= LONGEST:
        raise problem(
            f"{shown(TIME.format(span))} cannot be the time of a system call: it must be 1ns to 1s"
        )
    return span


class Linux(Table):
    """The machine of which all hosts are a part. Only with `engine = "linux"`."""

    memory: Annotated[Size, AfterValidator(_memory)] | None = None
    """Memory of the emulated machine, which takes as much of yours as it uses. By default 256 MiB plus room for hosts and
    flows, and 1792 MiB more with programs. It is part of the experiment, because the kernel sizes its tables by it."""
    polling: Annotated[Time, AfterValidator(_polling)] = 1_000_000
    """Longest wait of a program's poll that finds nothing, until something happens on its host, in the hosts' time. A
    poll never waits longer than 1/128 of the time for which the program has been polling, so the program meets
    deadlines within 1 %. With `"0s"` every poll takes as long as a system call."""
    cpu: Annotated[Time, AfterValidator(_call)] = 100
    """Duration of a program's system call, in the hosts' time: a crude cost of computing, which otherwise takes no time.
    A call that fails takes at least 1us."""
