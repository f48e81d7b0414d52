# SPDX-License-Identifier: MIT OR Apache-2.0
"""The properties that schedulers must have, as `properties.rs` of `etalon-schedule` holds the built-in ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from etalon import schedulers
from etalon.custom import source
from etalon.custom.capture import capture
from etalon.custom.scheduler import Day, Demand, Scheduling
from etalon.errors import EtalonError
from etalon.figures import style
from etalon.testing.report import Checked, CheckFailed
from etalon.units import MS, US

FACTS = {
    "window_ns": 2 * MS,
    "day_ns": 180 * US,
    "night_ns": 20 * US,
    "circuit_bps": 80 * 10**9,
    "packet_bps": 10 * 10**9,
}
"""The network of NSDI'20, and a window of 2 ms."""
LARGE = 2**60
BESIDE = ("solstice", "eclipse", "max-weight", "strobe")


def check_scheduler(thing: Any, cases: int, seed: int) -> Checked:
    """Checks a scheduler; see `check`."""
    given = thing if isinstance(thing, str) else capture(thing)
    reference, texts = source.read(given, Path(), "scheduler")
    source.allow(texts.values())
    fresh = partial(Scheduling, reference, texts, seed)
    name = source.split(reference)[1]
    _answers(name, fresh, cases, seed)
    _repeats(name, fresh, seed)
    properties = (
        f"every answer to {cases} random demands of 2 to 12 racks is a week: matchings, no short day, at most the window",
        "zero demand and the largest demands give a week",
        "the same demands give the same weeks again: no state carries over between runs",
    )
    return Checked(name, properties, lambda: _figure(given, name, seed))


def demands(cases: int, seed: int) -> Iterator[Demand]:
    """Random demand matrices, in bytes: dense, sparse, skewed, permutations; none at all, and the largest numbers."""
    rng = np.random.default_rng(seed)
    yield np.zeros((3, 3), dtype=np.uint64)
    yield np.where(np.eye(4, dtype=bool), 0, LARGE // 4).astype(np.uint64)
    for at in range(cases):
        racks = int(rng.integers(2, 13))
        yield _demand(rng, racks, KINDS[at % len(KINDS)])


KINDS = ("all pairs", "a third of the pairs", "skewed", "one each")


def _demand(rng: np.random.Generator, racks: int, kind: str) -> Demand:
    shape = (racks, racks)
    matrix = rng.integers(0, 10_000_000, shape)
    if kind == "a third of the pairs":
        matrix = np.where(rng.random(shape) < 1 / 3, matrix, 0)
    elif kind == "skewed":
        matrix = np.minimum(rng.pareto(1.2, shape) * 300_000, 1e8).astype(np.int64)
    elif kind == "one each":
        order = rng.permutation(racks)
        matrix = np.zeros(shape, dtype=np.int64)
        matrix[order, np.roll(order, 1)] = rng.integers(1, 20_000_000, racks)
    np.fill_diagonal(matrix, 0)
    return matrix.astype(np.uint64)


def _answers(name: str, fresh: Callable[..., Scheduling], cases: int, seed: int) -> None:
    """That each answer is a week; an answer that is none raises, with the case."""
    for at, demand in enumerate(demands(cases, seed)):
        _asked(name, fresh(FACTS), 1 + at, demand)


def _repeats(name: str, fresh: Callable[..., Scheduling], seed: int) -> None:
    rng = np.random.default_rng(seed)
    sequence = [_demand(rng, 6, kind) for kind in KINDS * 3]
    weeks = [
        [_asked(name, one, at, demand) for at, demand in enumerate(sequence)]
        for one in (fresh(FACTS), fresh(FACTS))
    ]
    for at, (first, second) in enumerate(zip(*weeks, strict=True)):
        if first != second:
            raise CheckFailed(
                f"{name}: the same sequence of demands got a different week the second time, at the demand number {at}: draw "
                "random numbers only from network.rng, and do not depend on time, on sets' order or on files"
            )


def _asked(name: str, scheduling: Scheduling, now_ns: int, demand: Demand) -> list[Day]:
    before = demand.copy()
    try:
        return scheduling(now_ns, demand)
    except EtalonError as error:
        raise CheckFailed(f"{error}; the demand: {before.tolist()}") from error


def _figure(given: str, name: str, seed: int) -> Any:
    """Shares of demand that circuits carry in one week, beside built-in schedulers."""
    every = (given, *BESIDE)
    shares = {one: [_share(one, kind, seed) for kind in KINDS] for one in every}
    with style.context():
        ax = style.axes(width=style.PAGE, height=2.2)
        width = 0.8 / len(every)
        for at, one in enumerate(every):
            label = name if one is given else one
            places = np.arange(len(KINDS)) + (at - (len(every) - 1) / 2) * width
            ax.bar(places, shares[one], width, label=label, color=style.PALETTE[at])
        ax.set_xticks(range(len(KINDS)), KINDS)
        ax.set_ylabel("carried in a week (%)")
        ax.set_ylim(0, 100)
        style.legend(ax, columns=len(every), outside=True)
        return style.figure_of(ax)


def _share(scheduler: str, kind: str, seed: int) -> float:
    """Mean over ten demands of 8 racks, in percent."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(10):
        demand = _demand(rng, 8, kind)
        week = schedulers.compute(scheduler, demand)
        found.append(100 * float(week.served.sum()) / max(float(demand.sum()), 1))
    return float(np.mean(found))
