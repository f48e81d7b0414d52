"""Jobs in Python: ranks that compute, talk to each other in collectives, and wait; and what collectives cost by a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from etalon.arguments import fitting
from etalon.collectives import CollectiveCost
from etalon.collectives import collective_cost as harvest
from etalon.errors import PlanError
from etalon.plan.explain import build
from etalon.plan.workloads.job import Deed, Job
from etalon.units import RATE, SIZE, TIME, Quantity


@fitting
def job(*do: Deed | Mapping[str, Any], iterations: int = 1, **keys: Any) -> Job:
    """Ranks, one a host, that all go through a list of computations and collectives, `iterations` times. Further keywords are
    the keys of a plan's `[[job]]`.

    >>> job(compute("5ms"), all_reduce("64MB", algorithm="swing"), iterations=100)
    """
    return build(Job, {"do": do, "iterations": iterations, **keys}, under="job")


@fitting
def compute(span: str, **keys: Any) -> Deed:
    """Ranks compute for `span`; `jitter`, and `ranks` for some of them only."""
    return _deed("compute", span, keys)


@fitting
def all_reduce(size: str, algorithm: str | None = None, **keys: Any) -> Deed:
    """Each rank gets the sum of all vectors of `size`: `etalon list collectives` has the algorithms."""
    return _deed("all_reduce", size, {"algorithm": algorithm, **keys})


@fitting
def reduce_scatter(size: str, algorithm: str | None = None, **keys: Any) -> Deed:
    """Each rank gets its share of the sum of all vectors of `size`."""
    return _deed("reduce_scatter", size, {"algorithm": algorithm, **keys})


@fitting
def all_gather(size: str, algorithm: str | None = None, **keys: Any) -> Deed:
    """Each rank gets the shares of all, `size` together."""
    return _deed("all_gather", size, {"algorithm": algorithm, **keys})


@fitting
def all_to_all(size: str | None = None, algorithm: str | None = None, **keys: Any) -> Deed:
    """Each rank sends a block to each: equal shares of `size`, or as the rows of `matrix` have it."""
    return _deed("all_to_all", size, {"algorithm": algorithm, **keys})


@fitting
def broadcast(size: str, algorithm: str | None = None, **keys: Any) -> Deed:
    """Each rank gets the vector of rank `root` (0)."""
    return _deed("broadcast", size, {"algorithm": algorithm, **keys})


@fitting
def reduce(size: str, algorithm: str | None = None, **keys: Any) -> Deed:
    """Rank `root` (0) gets the sum of all vectors."""
    return _deed("reduce", size, {"algorithm": algorithm, **keys})


@fitting
def send(size: str, src: int, dst: int) -> Deed:
    """Rank `src` sends a message to rank `dst`."""
    return _deed("send", size, {"from": src, "to": dst})


def _deed(kind: str, value: str | None, keys: Mapping[str, Any]) -> Deed:
    given = {key: value for key, value in {kind: value, **keys}.items() if value is not None}
    return build(Deed, given, under="job.do")


@fitting
def collective_cost(
    collective: str,
    algorithm: str,
    *,
    ranks: int,
    size: str,
    rate: str,
    alpha: str = "0ns",
    delta: str = "0ns",
    reconfiguration: str,
    degree: Literal[1, 2] | None = None,
) -> CollectiveCost:
    """What a collective costs over circuits that change between its steps where that pays: Harvest's model and its dynamic
    program (arXiv 2602.09188).

    >>> collective_cost("all-reduce", "swing", ranks=64, size="4MiB", rate="800Gbps", alpha="500ns", reconfiguration="10us")

    Args:
        collective: what for: "all-reduce", "all-to-all" and others (`etalon list collectives`).
        algorithm: of these.
        ranks: how many.
        size: as in a plan's job.
        rate: of a circuit.
        alpha: what a message costs.
        delta: propagation delay of a circuit.
        reconfiguration: what a change of circuits costs.
        degree: circuits of a rank each way; by default 2 for "swing", else 1.

    Returns:
        Its cost in ns, how often circuits change, and each step with its circuits.
    """
    return harvest(
        collective,
        algorithm,
        ranks=ranks,
        size=quantity(SIZE, "size", size),
        rate=quantity(RATE, "rate", rate),
        alpha=quantity(TIME, "alpha", alpha),
        delta=quantity(TIME, "delta", delta),
        reconfiguration=quantity(TIME, "reconfiguration", reconfiguration),
        degree=degree,
    )


def quantity(what: Quantity, name: str, text: str) -> int:
    """A quantity in its unit. Raises `PlanError`, with the argument's name."""
    try:
        return what.parse(text)
    except ValueError as error:
        raise PlanError(
            f'{name}: "{text}" {error}; {what.noun} is written like "{what.example}"'
        ) from None
