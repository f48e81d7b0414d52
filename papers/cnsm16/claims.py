"""What the paper claims about more than one number. Each function takes the results and gives the measured value."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import fmean

import polars as pl

from etalon.otcp import table1
from etalon.reproduce import Missing, Results
from etalon.reproduce.paper import X

MICE = "mice"
DELAYS = "delays"
"""The series of figure 4, which has programs and no flows."""
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
    said = run.outputs["programs/0-r0h0-otcp.out"]
    if not said:
        raise Missing(f"delays: {run.outputs['programs/0-r0h0-otcp.err'].decode()[-300:].strip()}")
    return {row["layer"]: row for row in json.loads(said)["rtts"]}


def _over_icmp(layer: str) -> Callable[[Results], float]:
    def measure(results: Results) -> float:
        row = round_trips(results)[layer]
        return row["otcp_us"] / row["icmp_us"]

    return measure


rack_otcp_over_icmp, pod_otcp_over_icmp, core_otcp_over_icmp = map(
    _over_icmp, ("rack", "pod", "core")
)


def _mice(results: Results, series: str, x: X) -> pl.DataFrame:
    """The flows of incasts, of all seeds: `bytes`, `time_ms` (null: not done)."""
    found = []
    for run in results.runs(series, x):
        flows = run.flows.filter(pl.col("class") == MICE)
        time = (pl.col("end_ns") - pl.col("start_ns")) / 1e6
        done = pl.when(pl.col("end_ns") >= 0).then(time)
        found.append(flows.select(pl.col("bytes"), done.alias("time_ms")))
    return pl.concat(found)


def _times(results: Results, series: str, x: X) -> pl.Series:
    """Completion times in ms. Raises `Missing` if a flow did not end: a mean would leave out the longest."""
    times = _mice(results, series, x)["time_ms"]
    if times.null_count():
        raise Missing(f"{series} at {x}: {times.null_count()} of {len(times)} flows did not end")
    return times


def mean_ms(results: Results, series: str, x: X) -> float:
    """Mean completion time in ms."""
    return fmean(_times(results, series, x))


def p95_ms(results: Results, series: str, x: X) -> float:
    """95th percentile of completion time in ms."""
    times = _times(results, series, x).sort()
    return float(times[-(-95 * len(times) // 100) - 1])


Statistic = Callable[[Results, str, X], float]


def _largest(of: Statistic, over: str, under: str) -> Callable[[Results], float]:
    """The largest ratio over the sizes of flows."""

    def measure(results: Results) -> float:
        return max(of(results, over, x) / of(results, under, x) for x in results.whole(over))

    return measure


mean_gain = _largest(mean_ms, "rack-tcp", "rack-otcp")
p95_gain = _largest(p95_ms, "rack-tcp", "rack-otcp")
busy_gain = _largest(mean_ms, "busy-dctcp", "busy-odctcp")


def _last(series: str) -> Callable[[Results], float]:
    """When all flows of a round are done: the largest completion time in ms."""
    return lambda results: float(_times(results, series, FIGURE_6).to_numpy().max())


def _done_by(series: str, ms: float) -> Callable[[Results], float]:
    """Share of flows done within a time, in %."""

    def measure(results: Results) -> float:
        flows = _mice(results, series, FIGURE_6)["time_ms"]
        return 100 * float((flows.fill_null(float("inf")) <= ms).to_numpy().mean())

    return measure


rack_otcp_last, pod_otcp_last, core_otcp_last = map(_last, ("rack-otcp", "pod-otcp", "core-otcp"))
rack_dctcp_30 = _done_by("rack-dctcp", 30)
rack_dctcp_250 = _done_by("rack-dctcp", 250)
pod_dctcp_40 = _done_by("pod-dctcp", 40)
pod_dctcp_220 = _done_by("pod-dctcp", 220)
core_dctcp_80 = _done_by("core-dctcp", 80)
core_dctcp_250 = _done_by("core-dctcp", 250)


def _goodput(results: Results, series: str) -> pl.Series:
    """Of each flow, in Mb/s."""
    flows = _mice(results, series, FIGURE_6).drop_nulls()
    return flows["bytes"] * 8 / (flows["time_ms"] * 1000)


def _fair(series: str) -> Callable[[Results], float]:
    """Share of flows with 10 to 30 Mb/s, in %."""
    return lambda results: (
        100 * float(_goodput(results, series).is_between(10, 30).to_numpy().mean())
    )


otcp_fair, odctcp_fair = _fair("rack-otcp"), _fair("rack-odctcp")


def tcp_slowest(results: Results) -> float:
    """Goodput of TCP's slowest flow, in Mb/s."""
    return float(_goodput(results, "rack-tcp").to_numpy().min())


def tcp_fastest(results: Results) -> float:
    """Goodput of TCP's fastest flow, in Mb/s."""
    return float(_goodput(results, "rack-tcp").to_numpy().max())


def _out_of_order(results: Results, groups: Sequence[Sequence[str]]) -> int:
    """Of neighbouring groups from slow to fast, pairs in which the first is not slower; mean over sizes."""
    wrong = 0
    for slow, fast in pairwise(groups):
        for one in slow:
            for other in fast:
                means = [
                    fmean(mean_ms(results, s, x) for x in results.whole(s)) for s in (one, other)
                ]
                wrong += means[0] <= means[1]
    return wrong


def busy_order(results: Results) -> float:
    """Pairs out of the order TCP, then DCTCP and OTCP, then ODCTCP."""
    return _out_of_order(results, (["busy-tcp"], ["busy-dctcp", "busy-otcp"], ["busy-odctcp"]))


# --- The simulator against Linux: claims of ours, with --engine linux


FEW = 1.0
"""% of flows that met a timeout, up to which no timeout decides a mean."""


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
    """% of incasts' flows that met a timeout. Linux counts those of SYNs among them, the simulator does not."""
    flows = [run.flows.filter(pl.col("class") == MICE) for run in results.runs(series, x)]
    return 100 * float((pl.concat(flows)["rtos"] > 0).to_numpy().mean())


def means(results: Results) -> dict[tuple[str, X], tuple[float, float, float]]:
    """Of each point: the mean completion time on Linux and in the simulator in ms, and % of flows with timeouts on Linux."""
    other, found = simulated(results), {}
    for series in results.paper.series:
        for x in results.series(series) if series != DELAYS else ():
            measured = [mean_ms(one, series, x) for one in (results, other)]
            found[series, x] = (measured[0], measured[1], timeouts(results, series, x))
    return found


def mean_apart(results: Results) -> float:
    """The largest difference of means in %, of points at which no timeout decides."""
    apart = [
        100 * abs(linux / sim - 1) for linux, sim, share in means(results).values() if share <= FEW
    ]
    if not apart:
        raise Missing("timeouts decide all means")
    return max(apart)
