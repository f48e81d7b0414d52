# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the paper claims about more than one number. Each function takes the results and gives the measured value.

What is measured of flows has a 95 % confidence interval: the rounds of the incasts, of all seeds, are drawn again with
replacement (Efron's bootstrap; flows of one round are not independent of each other).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from etalon.plan.otcp import table1
from etalon.reproduce import Estimate, Missing, Results
from etalon.reproduce.paper import X
from etalon.results import Run

MICE = "mice"
DELAYS = "delays"
"""The series of figure 4, which has programs and no flows."""
FLOWS = 90
"""Of a round."""
DRAWS = 400
"""Of rounds, for an interval."""
Array = NDArray[np.float64]
FIGURE_6 = 25
"""Segments of a flow in figures 6 and 7."""


def _cell(cell: table1.Cell) -> Callable[[Results], float]:
    return lambda results: cell.computed


for _cell_of in table1.cells():
    _name = f"{_cell_of.layer}_{_cell_of.column.split()[0]}".lower()
    globals()[_name] = _cell(_cell_of)


def round_trips(results: Results) -> dict[str, dict[str, float]]:
    """Figure 4: by layer the round trip in us as configured, by ICMP and by OTCP."""
    run = results.run(DELAYS, 100)
    name = f"programs/{run.plan.program[0].name}"
    if not (said := run.outputs[f"{name}.out"]):
        raise Missing(f"delays: {run.outputs[f'{name}.err'].decode()[-300:].strip()}")
    return {row["layer"]: row for row in json.loads(said)["rtts"]}


def _over_icmp(layer: str) -> Callable[[Results], float]:
    def measure(results: Results) -> float:
        row = round_trips(results)[layer]
        return row["otcp_us"] / row["icmp_us"]

    return measure


rack_otcp_over_icmp, pod_otcp_over_icmp, core_otcp_over_icmp = map(
    _over_icmp, ("rack", "pod", "core")
)


def rounds(results: Results, series: str, x: X) -> Array:
    """Completion times in ms of the incasts of all seeds, a row a round; infinite for flows that did not end."""
    return np.concatenate([times(run) for run in results.runs(series, x)])


def times(run: Run) -> Array:
    """The same of one run."""
    flows = run.flows.filter(pl.col("class") == MICE).sort("start_ns")
    time = (pl.col("end_ns") - pl.col("start_ns")) / 1e6
    done = pl.when(pl.col("end_ns") >= 0).then(time).otherwise(float("inf"))
    return flows.select(done.alias("ms"))["ms"].to_numpy().reshape(-1, FLOWS)


def _whole(results: Results, series: str, x: X) -> Array:
    """As `rounds`. Raises `Missing` if a flow did not end: a mean would leave out the longest."""
    found = rounds(results, series, x)
    late = int(np.isinf(found).sum())
    if late:
        raise Missing(f"{series} at {x}: {late} of {found.size} flows did not end")
    return found


def drawn(found: Array, key: str) -> Array:
    """Rounds drawn again: draws by rounds by flows. The first draw is what was measured."""
    generator = np.random.default_rng([ord(letter) for letter in key])
    chosen = generator.integers(len(found), size=(DRAWS, len(found)))
    chosen[0] = np.arange(len(found))
    return found[chosen]


def estimate(values: Array) -> Estimate:
    """The first value, and the interval of 95 % of all."""
    low, high = np.quantile(values, (0.025, 0.975), method="inverted_cdf")
    return Estimate(float(values[0]), float(low), float(high))


Statistic = Callable[[Array], Array]
"""Of the times of rounds, the last two axes."""


def mean(found: Array) -> Array:
    """Of all flows."""
    return np.asarray(found.mean(axis=(-2, -1)))


def p95(found: Array) -> Array:
    """The least time that 95 % of flows do not exceed."""
    flat = found.reshape(*found.shape[:-2], -1)
    at = -(-95 * flat.shape[-1] // 100) - 1
    return np.asarray(np.partition(flat, at, axis=-1)[..., at])


def _draws(results: Results, series: str, x: X, of: Statistic) -> Array:
    return of(drawn(_whole(results, series, x), f"{series} {x}"))


def mean_ms(results: Results, series: str, x: X) -> Estimate:
    """Mean completion time in ms."""
    return estimate(_draws(results, series, x, mean))


def p95_ms(results: Results, series: str, x: X) -> Estimate:
    """95th percentile of completion time in ms."""
    return estimate(_draws(results, series, x, p95))


def _largest(of: Statistic, over: str, under: str) -> Callable[[Results], Estimate]:
    """The largest ratio over the sizes of flows."""

    def measure(results: Results) -> Estimate:
        ratios = [
            _draws(results, over, x, of) / _draws(results, under, x, of)
            for x in results.whole(over)
        ]
        # At the size at which it is largest: the largest of each draw would be biased.
        return estimate(max(ratios, key=lambda ratio: float(ratio[0])))

    return measure


mean_gain = _largest(mean, "rack-tcp", "rack-otcp")
p95_gain = _largest(p95, "rack-tcp", "rack-otcp")
busy_gain = _largest(mean, "busy-dctcp", "busy-odctcp")


def _last(series: str) -> Callable[[Results], Estimate]:
    """When all flows of a round are done: of the largest completion times of the rounds, in ms, the largest."""

    def measure(results: Results) -> Estimate:
        return estimate(_draws(results, series, FIGURE_6, lambda t: t.max(axis=(-2, -1))))

    return measure


def _done_by(series: str, ms: float) -> Callable[[Results], Estimate]:
    """Share of flows done within a time, in %."""

    def measure(results: Results) -> Estimate:
        found = drawn(rounds(results, series, FIGURE_6), series)
        return estimate(100 * (found <= ms).mean(axis=(-2, -1)))

    return measure


rack_otcp_last, pod_otcp_last, core_otcp_last = map(_last, ("rack-otcp", "pod-otcp", "core-otcp"))
rack_dctcp_30 = _done_by("rack-dctcp", 30)
rack_dctcp_250 = _done_by("rack-dctcp", 250)
pod_dctcp_40 = _done_by("pod-dctcp", 40)
pod_dctcp_220 = _done_by("pod-dctcp", 220)
core_dctcp_80 = _done_by("core-dctcp", 80)
core_dctcp_250 = _done_by("core-dctcp", 250)


SIZE_OF_FLOW = 1448 * FIGURE_6
"""Bytes."""


def _goodput(results: Results, series: str) -> Array:
    """Of each flow, in Mb/s, by draws; none of those that did not end."""
    return SIZE_OF_FLOW * 8 / (drawn(rounds(results, series, FIGURE_6), series) * 1000)


def _fair(series: str) -> Callable[[Results], Estimate]:
    """Share of flows with 10 to 30 Mb/s, in %."""

    def measure(results: Results) -> Estimate:
        goodput = _goodput(results, series)
        return estimate(100 * ((goodput >= 10) & (goodput <= 30)).mean(axis=(-2, -1)))

    return measure


otcp_fair, odctcp_fair = _fair("rack-otcp"), _fair("rack-odctcp")


def tcp_slowest(results: Results) -> Estimate:
    """Goodput of TCP's slowest flow, in Mb/s."""
    return estimate(_goodput(results, "rack-tcp").min(axis=(-2, -1)))


def tcp_fastest(results: Results) -> Estimate:
    """Goodput of TCP's fastest flow, in Mb/s."""
    return estimate(_goodput(results, "rack-tcp").max(axis=(-2, -1)))


def _out_of_order(results: Results, groups: Sequence[Sequence[str]]) -> Estimate:
    """Of neighbouring groups from slow to fast, pairs in which the first is not slower; mean over sizes."""
    means = {
        series: sum(_draws(results, series, x, mean) for x in results.whole(series))
        for group in groups
        for series in group
    }
    wrong = [
        np.asarray(means[one] <= means[other], dtype=np.float64)
        for slow, fast in pairwise(groups)
        for one in slow
        for other in fast
    ]
    return estimate(np.sum(wrong, axis=0))


def busy_order(results: Results) -> Estimate:
    """Pairs out of the order TCP, then DCTCP and OTCP, then ODCTCP."""
    return _out_of_order(results, (["busy-tcp"], ["busy-dctcp", "busy-otcp"], ["busy-odctcp"]))


# --- The simulator against Linux: claims of ours, with --engine linux


FEW = 1.0
"""% of flows that met a timeout, up to which no timeout decides a mean: the first reading."""
HALF = 50.0
"""% of all completion times that flows with a timeout have, from which on timeouts decide a mean: eight of 2,700 flows can have
two thirds of it. The second reading, made when the first one had failed."""


def simulated(results: Results) -> Results:
    """What the simulator has of the same points."""
    if results.beside is None:
        raise Missing("no other engine ran these points")
    return results.beside


def _over_simulator(measure: Callable[[Results], float]) -> Callable[[Results], float]:
    return lambda results: measure(results) / measure(simulated(results))


mean_gain_over_simulator = _over_simulator(mean_gain)
p95_gain_over_simulator = _over_simulator(p95_gain)
busy_gain_over_simulator = _over_simulator(busy_gain)


def timeouts(results: Results, series: str, x: X) -> float:
    """% of all completion times that flows with a timeout have. Linux counts those of SYNs, the simulator does not."""
    flows = pl.concat(
        [run.flows.filter(pl.col("class") == MICE) for run in results.runs(series, x)]
    )
    time = (flows["end_ns"] - flows["start_ns"]).to_numpy()
    return 100 * float(time[(flows["rtos"] > 0).to_numpy()].sum() / time.sum())


def timed_out(results: Results, series: str, x: X) -> float:
    """% of flows that met a timeout."""
    flows = [run.flows.filter(pl.col("class") == MICE) for run in results.runs(series, x)]
    return 100 * float((pl.concat(flows)["rtos"] > 0).to_numpy().mean())


def mean_apart_by_flows(results: Results) -> float:
    """The largest difference of means in %, of points at which at most 1 % of flows met a timeout."""
    apart = [
        100 * abs(linux / sim - 1)
        for (series, x), (linux, sim, _) in means(results).items()
        if timed_out(results, series, x) <= FEW
    ]
    if not apart:
        raise Missing("flows meet timeouts at all points")
    return max(apart)


def means(results: Results) -> dict[tuple[str, X], tuple[float, float, float]]:
    """Of each point: the mean completion time on Linux and in the simulator in ms, and `timeouts` on Linux."""
    other = simulated(results)
    found: dict[tuple[str, X], tuple[float, float, float]] = {}
    for series in results.paper.series:
        for x in results.series(series) if series != DELAYS else ():
            measured = [mean_ms(one, series, x) for one in (results, other)]
            found[series, x] = (measured[0], measured[1], timeouts(results, series, x))
    return found


def mean_apart(results: Results) -> float:
    """The largest difference of means in %, of points at which no timeout decides."""
    apart = [
        100 * abs(linux / sim - 1) for linux, sim, share in means(results).values() if share < HALF
    ]
    if not apart:
        raise Missing("timeouts decide all means")
    return max(apart)
