# SPDX-License-Identifier: MIT OR Apache-2.0
"""The range in which each parameter may be published, and what a bound cut."""

from __future__ import annotations

from dataclasses import dataclass, replace

from etalon.plan.otcp.equations import LARGEST_WINDOW, LEAST_RWND, Parameters

MS = 1_000_000


@dataclass(frozen=True, slots=True)
class Bounds:
    """Smallest and largest values; times in ns, windows in segments. The defaults are the protocol's own bounds."""

    rto_min_least: int = 1 * MS
    rto_min_most: int = 1_000 * MS
    rto_init_least: int = 1 * MS
    rto_init_most: int = 3_000 * MS
    max_cwnd_least: int = 1
    max_cwnd_most: int = LARGEST_WINDOW
    initial_cwnd_least: int = 1
    initial_cwnd_most: int = LARGEST_WINDOW


@dataclass(frozen=True, slots=True)
class Cut:
    """A value that a bound changed: which parameter, from what, to what, and the bound's name."""

    parameter: str
    computed: int
    bounded: int
    bound: str


def apply(wanted: Parameters, bounds: Bounds) -> tuple[Parameters, list[Cut]]:
    """The parameters within the bounds, and what was cut; RTOinit >= RTOmin, initial window <= the largest."""
    cuts: list[Cut] = []

    def within(name: str, value: int, least: int, most: int, floor: str = "", cap: str = "") -> int:
        if value < least:
            cuts.append(Cut(name, value, least, floor or f"{name}_least"))
            return least
        if value > most:
            cuts.append(Cut(name, value, most, cap or f"{name}_most"))
            return most
        return value

    rto_min = within("rto_min", wanted.rto_min_ns, bounds.rto_min_least, bounds.rto_min_most)
    init_least = max(bounds.rto_init_least, rto_min)
    init_floor = "rto_min" if init_least > bounds.rto_init_least else ""
    rto_init = within(
        "rto_init", wanted.rto_init_ns, init_least, max(bounds.rto_init_most, rto_min), init_floor
    )
    largest = within("max_cwnd", wanted.max_cwnd, bounds.max_cwnd_least, bounds.max_cwnd_most)
    initial_most = min(bounds.initial_cwnd_most, largest)
    initial = within(
        "initial_cwnd",
        wanted.initial_cwnd,
        min(bounds.initial_cwnd_least, initial_most),
        initial_most,
        cap="max_cwnd" if initial_most < bounds.initial_cwnd_most else "",
    )
    offered = within("initial_rwnd", wanted.initial_rwnd, LEAST_RWND, LARGEST_WINDOW)
    bounded = replace(
        wanted,
        rto_min_ns=rto_min,
        rto_init_ns=rto_init,
        max_cwnd=largest,
        initial_cwnd=initial,
        initial_rwnd=offered,
    )
    return bounded, cuts
