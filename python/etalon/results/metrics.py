# SPDX-License-Identifier: MIT OR Apache-2.0
"""The numbers that sum up a run: one registry for the command line, sweeps and reports."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol


class Measured(Protocol):
    """What metrics need to know of a run; `Run` says what each is."""

    @property
    def planes(self) -> tuple[str, ...]: ...
    @property
    def circuits(self) -> tuple[str, ...]: ...
    @property
    def circuit_utilization(self) -> float | None: ...
    @property
    def circuit_utilization_nsdi20(self) -> float | None: ...
    @property
    def packet_utilization(self) -> float | None: ...
    @property
    def voq_mean(self) -> float | None: ...
    @property
    def goodput(self) -> float | None: ...
    @property
    def drops(self) -> int: ...
    @property
    def spurious(self) -> int | None: ...
    @property
    def bytes_unfinished(self) -> int: ...
    @property
    def job_time(self) -> float | None: ...
    @property
    def write_throughput(self) -> float | None: ...
    def latency(self, percentile: float, network: str | Sequence[str] | None = None) -> float: ...
    def counted(self, counter: str) -> int | None: ...
    def total(self, table: Literal["flows", "pairs"], column: str) -> int: ...
    def fct_percentile(self, percentile: float) -> float | None: ...
    def slowdown(self, percentile: float) -> float | None: ...
    def write_time(self, percentile: float) -> float | None: ...
    def days_without(self, quantity: str) -> float | None: ...
    def iteration_time(self, percentile: float) -> float | None: ...
    @property
    def algbw(self) -> float | None: ...
    @property
    def busbw(self) -> float | None: ...
    @property
    def exposed_share(self) -> float | None: ...
    @property
    def straggler_wait(self) -> float | None: ...
    @property
    def circuit_wait(self) -> float | None: ...


@dataclass(frozen=True)
class Metric:
    """A number that every run has; None where the run has nothing to measure it on."""

    name: str
    description: str
    unit: str
    of: Callable[[Measured], float | None]


def _latency(run: Measured, percentile: float, *planes: str) -> float | None:
    return run.latency(percentile, planes) if planes and set(planes) <= set(run.planes) else None


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            "circuit_utilization",
            "share of the circuit's capacity in its days that carried payload (measured pair)",
            "0..1",
            lambda run: run.circuit_utilization,
        ),
        Metric(
            "circuit_utilization_nsdi20",
            "the same by NSDI'20's definition, from the first packet to the last (measured pair)",
            "0..1",
            lambda run: run.circuit_utilization_nsdi20,
        ),
        Metric(
            "packet_utilization",
            "share of the packet network's capacity that carried payload (measured pair)",
            "0..1",
            lambda run: run.packet_utilization,
        ),
        Metric(
            "voq_mean",
            "packets in the VOQ, averaged over time (measured pair)",
            "packets",
            lambda run: run.voq_mean,
        ),
        Metric(
            "goodput", "payload delivered in order, all flows", "bit/s", lambda run: run.goodput
        ),
        Metric(
            "latency_p50",
            "median of the time in the switch, packets over 1000 B (measured pair)",
            "us",
            lambda run: run.latency(50),
        ),
        Metric(
            "latency_p99",
            "99th percentile of the time in the switch (measured pair)",
            "us",
            lambda run: run.latency(99),
        ),
        Metric(
            "packet_latency_p50",
            "median of the time in the switch, packets that used the packet network (measured pair)",
            "us",
            lambda run: _latency(run, 50, "packet"),
        ),
        Metric(
            "packet_latency_p99",
            "99th percentile of the time in the switch, packets that used the packet network (measured pair)",
            "us",
            lambda run: _latency(run, 99, "packet"),
        ),
        Metric(
            "circuit_latency_p50",
            "median of the time in the switch, packets that used a circuit (measured pair)",
            "us",
            lambda run: _latency(run, 50, *run.circuits),
        ),
        Metric(
            "circuit_latency_p99",
            "99th percentile of the time in the switch, packets that used a circuit (measured pair)",
            "us",
            lambda run: _latency(run, 99, *run.circuits),
        ),
        Metric(
            "retransmits",
            "segments sent again, all flows",
            "segments",
            lambda run: run.counted("retransmits"),
        ),
        Metric(
            "rtos",
            "retransmission timeouts, all flows",
            "timeouts",
            lambda run: run.counted("rtos"),
        ),
        Metric(
            "spurious",
            "unnecessary data packets, all of whose payload had arrived before (measured pair; with measure.reordering)",
            "packets",
            lambda run: run.spurious,
        ),
        Metric(
            "days_in_order",
            "share of flows' days without reordering (measured pair; with measure.reordering)",
            "0..1",
            lambda run: run.days_without("events"),
        ),
        Metric(
            "drops", "packets dropped in the switch, all pairs", "packets", lambda run: run.drops
        ),
        Metric(
            "marked",
            "packets marked CE, all pairs",
            "packets",
            lambda run: run.total("pairs", "marked"),
        ),
        Metric(
            "fct_p50",
            "median completion time of the finite flows that completed",
            "us",
            lambda run: run.fct_percentile(50),
        ),
        Metric(
            "fct_p99",
            "99th percentile of the completion time of the finite flows that completed",
            "us",
            lambda run: run.fct_percentile(99),
        ),
        Metric(
            "fct_p999",
            "99.9th percentile of the completion time of the finite flows that completed",
            "us",
            lambda run: run.fct_percentile(99.9),
        ),
        Metric(
            "slowdown_p50",
            "median slowdown: completion time over that on an empty network",
            "1",
            lambda run: run.slowdown(50),
        ),
        Metric(
            "slowdown_p99",
            "99th percentile of slowdown: completion time over that on an empty network",
            "1",
            lambda run: run.slowdown(99),
        ),
        Metric(
            "bytes_unfinished",
            "bytes that finite flows had not delivered when the run ended",
            "B",
            lambda run: run.bytes_unfinished,
        ),
        Metric(
            "write_p50", "median time to write a file to HDFS", "ms", lambda run: run.write_time(50)
        ),
        Metric(
            "write_p99",
            "99th percentile of the time to write a file to HDFS",
            "ms",
            lambda run: run.write_time(99),
        ),
        Metric(
            "job_time", "time until all files were written to HDFS", "ms", lambda run: run.job_time
        ),
        Metric(
            "write_throughput",
            "bytes of files written to HDFS over the job's time, all tasks",
            "bit/s",
            lambda run: run.write_throughput,
        ),
        Metric(
            "iteration_p50",
            "median time of a job's iteration, first rank's start to last rank's end",
            "ms",
            lambda run: run.iteration_time(50),
        ),
        Metric(
            "iteration_p99",
            "99th percentile of the time of a job's iteration",
            "ms",
            lambda run: run.iteration_time(99),
        ),
        Metric(
            "algbw",
            "size of a job's collectives over the time in which ranks do not compute (nccl-tests)",
            "bit/s",
            lambda run: run.algbw,
        ),
        Metric(
            "busbw",
            "algbw scaled by the least bytes that a rank must send (nccl-tests)",
            "bit/s",
            lambda run: run.busbw,
        ),
        Metric(
            "exposed_share",
            "share of a job's time in which ranks do not compute",
            "0..1",
            lambda run: run.exposed_share,
        ),
        Metric(
            "straggler_wait",
            "excess of the slowest rank's computing time over the mean, per iteration of a job",
            "ms",
            lambda run: run.straggler_wait,
        ),
        Metric(
            "circuit_wait",
            "mean time that a rank ready to send waits for its circuits",
            "ms",
            lambda run: run.circuit_wait,
        ),
    )
}


def summary(run: Measured) -> dict[str, float | None]:
    """Every metric of a run."""
    values = {name: metric.of(run) for name, metric in METRICS.items()}
    return {
        name: None if value is None or math.isnan(value) else value
        for name, value in values.items()
    }
