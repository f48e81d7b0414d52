# SPDX-License-Identifier: MIT OR Apache-2.0
"""Jobs in Python: ranks that compute, exchange data in collectives, and wait; and a cost model of collectives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from etalon.arguments import checked, fitting
from etalon.collectives import CollectiveCost
from etalon.collectives import collective_cost as harvest
from etalon.errors import PlanError
from etalon.plan.explain import build
from etalon.plan.network import Network
from etalon.plan.schedules import Schedule
from etalon.plan.schedules import schedule as schedule_of
from etalon.plan.schedules.asked import Asked
from etalon.plan.workloads.job import Deed, Job
from etalon.units import RATE, SIZE, TIME, Quantity, shown


@fitting
def job(*do: Deed | Mapping[str, Any], iterations: int = 1, **keys: Any) -> Job:
    """Ranks, one per host, that all work through one list of computations and collectives.

    >>> job(compute("5ms"), all_reduce("64MB", algorithm="swing"), iterations=100)

    Args:
        do: the steps, in order: `compute`, `all_reduce`, `send` and the like, or tables as in a plan's `job.do`.
        iterations: number of times that the ranks work through them.
        keys: the other keys of a plan's `[[job]]`, such as `ranks=["r0h0", "r1h0"]`, `cc`, `connect` or `slow`.

    Returns:
        A workload for `etalon.run`. The run's tables `iterations` and `steps` contain its times, in ns of the network.

    Raises:
        PlanError: for a step or a key that a job does not have, with its key and value.
    """
    return build(Job, {"do": do, "iterations": iterations, **keys}, under="job")


@fitting
def compute(span: str, **keys: Any) -> Deed:
    """Ranks compute for `span`, network time such as "5ms".

    Args:
        span: the duration.
        keys: `jitter`, the most that is added at random (uniform, anew for each rank and iteration); `ranks`, the numbers of
            the ranks that compute (default: all).
    """
    return _deed("compute", span, keys)


@fitting
def all_reduce(size: str, algorithm: str | None = None, **keys: Any) -> Deed:
    """Each rank receives the sum of all vectors, which are `size` long, such as "64MB".

    Args:
        size: the length of a vector.
        algorithm: one of `etalon list collectives`; by default the first there for this collective.
        keys: the algorithm's parameters: `radix`, `pieces` or `groups`; and `among`, groups of ranks, such as
            `[[0, 1], [2, 3]]`, each of which does the collective for itself, all at once.
    """
    return _deed("all_reduce", size, {"algorithm": algorithm, **keys})


@fitting
def reduce_scatter(size: str, algorithm: str | None = None, **keys: Any) -> Deed:
    """Each rank receives its share of the sum of all vectors, which are `size` long. Arguments as in `all_reduce`."""
    return _deed("reduce_scatter", size, {"algorithm": algorithm, **keys})


@fitting
def all_gather(size: str, algorithm: str | None = None, **keys: Any) -> Deed:
    """Each rank receives the shares of all ranks, `size` in total. Arguments as in `all_reduce`."""
    return _deed("all_gather", size, {"algorithm": algorithm, **keys})


@fitting
def all_to_all(size: str | None = None, algorithm: str | None = None, **keys: Any) -> Deed:
    """Each rank sends a block to each rank.

    Args:
        size: the total length of a rank's blocks, its own included; the blocks are equal.
        algorithm: as in `all_reduce`.
        keys: `matrix` instead of `size`: one row per sending rank with the length of each block, such as
            `[["0B", "3MB"], ["1MB", "0B"]]`; and the algorithm's parameters.
    """
    return _deed("all_to_all", size, {"algorithm": algorithm, **keys})


@fitting
def broadcast(size: str, algorithm: str | None = None, **keys: Any) -> Deed:
    """Each rank receives the vector of rank `root` (default 0), which is `size` long. Arguments as in `all_reduce`."""
    return _deed("broadcast", size, {"algorithm": algorithm, **keys})


@fitting
def reduce(size: str, algorithm: str | None = None, **keys: Any) -> Deed:
    """Rank `root` (default 0) receives the sum of all vectors, which are `size` long. Arguments as in `all_reduce`."""
    return _deed("reduce", size, {"algorithm": algorithm, **keys})


@fitting
def send(size: str, src: int, dst: int) -> Deed:
    """Rank `src` sends a message of length `size` to rank `dst`; both are numbers, from 0."""
    return _deed("send", size, {"from": src, "to": dst})


def _deed(kind: str, value: str | None, keys: Mapping[str, Any]) -> Deed:
    given = {key: value for key, value in {kind: value, **keys}.items() if value is not None}
    return build(Deed, given, under="job.do")


@fitting
def asked(
    net: Network | None = None,
    *,
    initial: str | Sequence[tuple[int, int]] | None = None,
    reconfiguration: str | None = None,
    request: str | None = None,
    hold: str | None = None,
    share: str | None = None,
    ask: str | None = None,
    ahead: bool | None = None,
) -> Schedule:
    """Circuits that jobs ask for (`circuits = "each"` and others of `etalon.job`).

    >>> asked(reconfiguration="10us", hold="0us")

    Args:
        net: the network; its racks must include those of `initial`.
        initial: the circuits at the start: "ring" (by default), "none", or pairs of source and destination rack.
        reconfiguration: how long circuits that change are dark; default 10us.
        request: delay of a request from a host to the controller; default 2us.
        hold: least time that a granted circuit stays up; default 50us.
        share: "fair", by the time that each job had circuits, or "fifo".
        ask: when a job asks: when "all" ranks of a step are ready, or when the "first" is.
        ahead: whether a job asks for the circuits of its next step as soon as it has those of this one.
    """
    given = {
        "initial": initial,
        "reconfiguration": reconfiguration,
        "request": request,
        "hold": hold,
        "share": share,
        "ask": ask,
        "ahead": ahead,
    }
    values = {"kind": "asked", **{key: value for key, value in given.items() if value is not None}}
    if net is not None:
        if not isinstance(net, Network):
            raise PlanError(
                f"a schedule needs a network, as etalon.network() returns it, not {shown(net)}"
            )
        return schedule_of(values, net)
    return build(Asked, values, under="schedule")


@checked
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
    """The least cost of a collective over circuits that may change between its steps: Harvest's model and dynamic program
    (arXiv 2602.09188, sections 3 and 4).

    >>> collective_cost("all-reduce", "swing", ranks=64, size="4MiB", rate="800Gbps", alpha="500ns", reconfiguration="10us")

    Args:
        collective: "all-reduce", "all-to-all" or another one of `etalon list collectives`.
        algorithm: one of its algorithms there.
        ranks: number of ranks, 2 to 1024.
        size: length of the vector, or of all blocks of a rank, such as "4MiB".
        rate: rate of a circuit, such as "800Gbps".
        alpha: fixed time of a message, such as "500ns".
        delta: propagation delay of a circuit.
        reconfiguration: time of a change of circuits.
        degree: circuits of a rank each way; by default 2 for "swing", else 1.

    Returns:
        The cost in ns, the number of reconfigurations, and each step with its circuits.

    Raises:
        PlanError: for an unknown collective or algorithm, or a value out of bounds.
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
