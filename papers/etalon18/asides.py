# SPDX-License-Identifier: MIT OR Apache-2.0
"""Prints the numbers of this folder's README that no claim holds: what happens if one assumption is changed.

python papers/etalon18/asides.py            # minutes of processor time
python papers/etalon18/asides.py --linux    # the same flows on hosts with real Linux TCP
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl

import etalon as et
from etalon.reproduce.paper import Paper

PAPER = Paper.load(str(Path(__file__).parent))
AGES = ("0us", "10us", "20us", "50us", "100us", "200us", "500us", "1ms", "2ms")
SIZES = (4, 8, 16, 32, 64, 128)
AROUND = {"network.ack_bypass": "10us"}
"""ACKs do not enter the switch, and take the delay of the packet network."""
LATE = {"rings.connect": None}
"""Flows connect when they start."""


def plan(series: str, x: Any, changes: Mapping[str, Any] | None = None) -> et.Plan:
    """The plan of a point of the paper, changed."""
    return PAPER.point(series, x).plans[0].replace(changes or {})


def ms(run: et.Run, flow_class: str, percentile: float) -> float:
    """A percentile of the completion times of the flows that finished."""
    return (run.fct_percentile(percentile, flow_class) or 0) / 1000


def age_of_demand() -> None:
    """One ring: how long ago demand was looked at when its week begins."""
    print("one ring, median of big flows by age of demand:")
    for age in AGES:
        voq, adu = et.run_many(
            [plan("one-ring", x, {"schedule.compute": age}) for x in ("voq", "adu")]
        )
        times = [ms(run, "big", 50) for run in (voq, adu)]
        print(
            f"  {age}: VOQs {times[0]:.0f} ms, ADUs {times[1]:.0f} ms, {times[0] / times[1]:.1f}x"
        )


def killed() -> None:
    """How many big flows were killed after 2 s."""
    for x in ("voq", "packet-10"):
        run = et.run(plan("two-rings", x))
        big = run.fct().filter(pl.col("class") == "big")["fct_us"]
        print(f"two rings, {x}: {big.null_count()} of {len(big)} big flows killed")


def late_connections() -> None:
    """Rings whose flows connect when they begin: SYNs go through VOQs full of ACKs."""
    points: list[tuple[str, Any]] = [("one-ring", x) for x in PAPER.series["one-ring"].x]
    points += [("two-rings", x) for x in PAPER.series["two-rings"].x]
    for when, changes in (("before", {}), ("late", LATE)):
        runs = et.run_many([plan(series, x, changes) for series, x in points])
        for (series, x), run in zip(points, runs, strict=True):
            print(f"connected {when}, {series}, {x}: {_four(run)}")


def small_flows() -> None:
    """The slow small flows: those that share a VOQ with the ACKs of big flows, and those without a timeout."""
    for series, x, changes in (
        ("one-ring", "voq", {}),
        ("one-ring", "adu", {}),
        ("two-rings", "voq", {}),
        ("one-ring", "voq", LATE),
    ):
        when = ", connected late" if changes else ""
        told = _with_and_without_acks(
            et.run(plan(series, x, changes)), 2 if series == "two-rings" else 1
        )
        print(f"{series}, {x}{when}: {told}")


def _with_and_without_acks(run: et.Run, rings: int) -> str:
    """99th percentile of small flows whose rack receives big flows from their destination, and of the others."""
    racks = 8
    flows = run.fct().filter(pl.col("class") == "small").join(
        run.flows.select("flow", "rtos"), on="flow"
    )  # fmt: skip
    back = (pl.col("src_rack") - pl.col("dst_rack")) % racks
    with_acks, without = flows.filter(back <= rings), flows.filter(back > rings)
    p99 = [rows["lasted_us"].quantile(0.99, "nearest") or 0 for rows in (with_acks, without)]
    slow = flows.filter(pl.col("lasted_us") > 50_000)
    syn = slow.filter(pl.col("rtos") == 0)
    return (
        f"99th percentile of small flows beside ACKs of big ones {p99[0] / 1000:.0f} ms, of the others "
        f"{p99[1] / 1000:.1f} ms; {len(slow)} take over 50 ms, {len(slow.filter(back <= rings))} of them beside "
        f"ACKs, {len(syn)} without a timeout"
    )


def acks_around_the_switch() -> None:
    """Rings and HDFS if ACKs did not enter the switch."""
    rings = [("one-ring", x) for x in ("voq", "adu")]
    rings += [("two-rings", x) for x in ("voq", "adu", "adu-resize", "fixed")]
    runs = et.run_many([plan(series, x, AROUND) for series, x in rings])
    for (series, x), run in zip(rings, runs, strict=True):
        print(f"ACKs around the switch, {series}, {x}: {_four(run)}")
    hdfs, rehdfs = et.run_many([plan(series, "static", AROUND) for series in ("hdfs", "rehdfs")])
    gain = ms(hdfs, "hdfs", 50) / ms(rehdfs, "hdfs", 50)
    print(f"ACKs around the switch: reHDFS gains {gain:.1f}x at the median")


def _four(run: et.Run) -> str:
    small, big = ([ms(run, name, part) for part in (50, 99)] for name in ("small", "big"))
    return f"small {small[0]:.1f}, {small[1]:.0f} ms, big {big[0]:.0f}, {big[1]:.0f} ms (p50, p99)"


def linux() -> None:
    """The same flows on hosts with real Linux TCP, and on the simulator's."""
    for series, x, changes in (
        ("one-ring", "voq", {}),
        ("one-ring", "adu", {}),
        ("two-rings", "voq", {}),
        ("two-rings", "adu", {}),
        ("two-rings", "adu-resize", {}),
        ("two-rings", "adu-retcp", {}),
        ("two-rings", "packet-40", {}),
        ("two-rings", "fixed", {}),
        ("two-rings", "fixed", LATE),
    ):
        changed = ", connected late" if changes else ""
        for engine in ("sim", "linux"):
            run = et.run(plan(series, x, {"end_when_done": False, **changes}), engine=engine)
            timeouts = run.flows.filter(pl.col("class") == "big")["rtos"].sum()
            print(
                f"{series}, {x}{changed}, {engine}: {_four(run)}, {timeouts} timeouts of big flows",
                flush=True,
            )


def scheduler() -> None:
    """Two rings, ADUs with resizing and with reTCP: what the scheduler wants of a day, and what it takes for demand."""
    for changes in (
        {},
        {"schedule.day": "40us"},
        {"schedule.day": "90us"},
        {"schedule.day": "180us"},
        {"schedule.threshold": "1B"},
        {"schedule.threshold": "3MB"},
        {"schedule.compute": "0us"},
        {"schedule.compute": "1ms"},
        {"schedule.estimator": "oracle"},
        {"schedule.estimator": "oracle", "schedule.day": "180us"},
    ):
        what = ", ".join(f"{key} {value}" for key, value in changes.items()) or "as planned"
        for x in ("adu-resize", "adu-retcp"):
            run = et.run(plan("two-rings", x, changes))
            timeouts = run.flows.filter(pl.col("class") == "big")["rtos"].sum()
            shrunk = run.pairs["dropped_shrink"].sum()
            print(
                f"two-rings, {x}, {what}: {_four(run)}, {timeouts} timeouts of big flows, "
                f"{shrunk} packets dropped where a VOQ shrank",
                flush=True,
            )


def marks() -> None:
    """reTCP on static VOQs by how early its packets are marked."""
    reno = _points(plan("static", size) for size in SIZES)
    for before in ("0us", "50us", "150us", "300us", "600us"):
        retcp = _points(
            plan("retcp-static", size, {"network.ece.before": before}) for size in (4, 8, 16)
        )
        gain = fmean(_gain(point, reno) for point in retcp)
        used = ", ".join(f"{utilization:.0f}" for utilization, _ in retcp)
        print(
            f"reTCP alone, marked {before} before: {used} % at 4, 8, 16 packets, latency {gain:.0f} % lower"
        )


def delays() -> None:
    """Figure 10 for more delays."""
    for delay in (10, 20, 30, 60, 90, 120, 180, 240, 360):
        change = {"network.circuit.delay": f"{delay}us"}
        static = _points(plan("static", size, change) for size in SIZES)
        (resized,) = _points([plan("resize", 1000, change)])
        print(
            f"circuits of {delay} us: resizing lowers median latency by {_gain(resized, static):.0f} %"
        )


Point = tuple[float, float]
"""Circuit utilisation in percent, median latency in us."""


def _points(plans: Iterable[et.Plan]) -> list[Point]:
    runs = et.run_many(list(plans))
    return [(100 * (run.circuit_utilization_nsdi20 or 0), run.latency(50)) for run in runs]


def _gain(point: Point, static: list[Point]) -> float:
    """How much lower its latency is than a static VOQ's at the same utilisation, between two sizes in proportion, in %."""
    utilization, latency = point
    rising = [static[0]]
    for other in static[1:]:
        if other[0] > rising[-1][0]:
            rising.append(other)
    if utilization <= rising[0][0]:
        return 100 * (1 - latency / rising[0][1])
    for low, high in pairwise(rising):
        if utilization <= high[0]:
            share = (utilization - low[0]) / (high[0] - low[0])
            return 100 * (1 - latency / (low[1] + share * (high[1] - low[1])))
    return 100 * (1 - latency / rising[-1][1])


def hdfs() -> None:
    """Files instead of blocks, other seeds, and what else the job would have to do."""
    for seed in range(1, 6):
        hdfs, rehdfs = et.run_many(
            [plan(series, "static", {"seed": seed}) for series in ("hdfs", "rehdfs")]
        )
        blocks = [ms(hdfs, "hdfs", part) / ms(rehdfs, "hdfs", part) for part in (50, 99, 100)]
        files = [
            (hdfs.write_time(part) or 0) / (rehdfs.write_time(part) or 1) for part in (50, 99, 100)
        ]
        print(
            f"reHDFS, seed {seed}: blocks {_times(blocks)}, files {_times(files)} (p50, p99, longest)"
        )
        if seed == 1:
            long, short = hdfs.job_time or 0, rehdfs.job_time or 0
            # (short + rest) / (long + rest) = 1 - 0.47
            rest = (0.53 * long - short) / 0.47
            print(
                f"the job writes for {long:.0f} and {short:.0f} ms; it would save 47 % if the rest took {rest:.0f} ms"
            )


def _times(values: list[float]) -> str:
    return ", ".join(f"{value:.1f}x" for value in values)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--linux", action="store_true", help="on hosts with real Linux TCP")
    if parser.parse_args().linux:
        linux()
    else:
        for print_numbers in (
            age_of_demand, killed, scheduler, late_connections, small_flows, acks_around_the_switch, marks,
            delays, hdfs,
        ):  # fmt: skip
            print_numbers()
