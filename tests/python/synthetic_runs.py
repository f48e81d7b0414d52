# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs made up for tests of figures and reports: the shape of real ones, numbers from formulas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from etalon.results.tables import CROSS_CONNECTS, STEPS

DAY, NIGHT = 180_000, 20_000
WEEK = 24 * (DAY + NIGHT)


def resolved(voq: int = 16, racks: int = 3, cc: str = "cubic", flows: int = 16) -> dict[str, Any]:
    """NSDI'20's network: the fake strobe of three racks, or a real one of more."""
    if racks == 3:
        sources = [[1, 2, 0]] * 23 + [[2, 0, 1]]
    else:
        sources = [[(dst + k) % racks for dst in range(racks)] for k in range(1, racks)]
    return {
        "seed": 1,
        "tdf": 20,
        "duration_ns": 300 * WEEK,
        "warmup_ns": 10 * WEEK,
        "hosts": {"racks": racks, "per_rack": 16},
        "network": {
            "rdcn": {
                "packet": {"rate_bps": 10_000_000_000},
                "circuits": [{"rate_bps": 80_000_000_000, "delay_ns": 30_000}],
                "voq": {"packets": voq, "resize": None, "pairs": []},
            }
        },
        "schedule": {
            "configurations": [{"sources": s, "day_ns": DAY, "night_ns": NIGHT} for s in sources]
        },
        "flows": [
            {"src_rack": 0, "src_host": i, "dst_rack": 1, "dst_host": i, "cc": cc, "bytes": None}
            for i in range(flows)
        ],
        "measure": {"pair": [0, 1], "weeks_per_run": 3},
    }


@dataclass
class Plan:
    """A plan that is only its resolved form."""

    dictionary: dict[str, Any]
    digest: str = "c0ffee" * 10

    def resolve(self) -> dict[str, Any]:
        return self.dictionary

    def to_toml(self) -> str:
        return '[network]\nracks = 25\nvoq = 16\n\n[[flows]]\ncc = "cubic <b>not bold</b>"\n'


@dataclass
class Run:
    """A run with the attributes of `etalon.results.Run`."""

    plan: Plan
    utilization: float = 0.49
    fct_ms: float | None = None
    meta: Mapping[str, Any] = field(
        default_factory=lambda: {
            "digest": "0123456789abcdef",
            "version": "0.1.0",
            "partial": False,
            "simulated_ns": 300 * WEEK,
            "events": 123_456_789,
            "packets_delivered": 1_234_567,
            "sequence_runs": 96,
            "planes": ["packet", "circuit"],
        }
    )

    @property
    def planes(self) -> tuple[str, ...]:
        return tuple(self.meta["planes"])

    @property
    def circuits(self) -> tuple[str, ...]:
        return self.planes[1:]

    @property
    def circuit_utilization(self) -> float:
        return self.utilization

    @property
    def packet_utilization(self) -> float:
        return 0.93

    @property
    def goodput(self) -> float:
        return float(self.flows["bytes_delivered"].sum()) * 8e9 / (290 * WEEK)

    @property
    def voq(self) -> int:
        return int(self.plan.resolve()["network"]["rdcn"]["voq"]["packets"])

    def latency(self, percentile: float, network: str | Sequence[str] | None = None) -> float:
        return 15 + self.voq * 7.2 * (1.0 if percentile > 90 else 0.55 + percentile / 1000)

    @property
    def flow_table(self) -> pl.LazyFrame:
        return self.flows.lazy()

    def by_size(self, flow_class: str | None = None) -> pl.DataFrame:
        return pl.DataFrame(
            {"bytes": [1000, 2000, 4000], "finished": [3, 0, 1], "slowdown_p99": [1.5, None, 4.0]}
        )

    @property
    def flows(self) -> pl.DataFrame:
        n = len(self.plan.resolve()["flows"])
        order = np.arange(n)
        frame = {
            "flow": order,
            "src_rack": np.zeros(n, int),
            "dst_rack": np.ones(n, int),
            "cc": ["cubic"] * n,
            "bytes": np.full(n, -1),
            "start_ns": np.zeros(n, int),
            "end_ns": np.full(n, -1),
            "bytes_delivered": (1.6e8 * (1 + 0.2 * np.sin(order * 2.1))).astype(int),
            "retransmits": order * 7,
            "rtos": order // 5,
            "tlps": order * 2,
            "recoveries": order * 5,
        }
        if self.fct_ms is not None:
            frame["bytes"] = np.full(n, 10_000_000)
            frame["end_ns"] = (self.fct_ms * 1e6 * np.exp(np.sin(order * 1.7))).astype(int)
        return pl.DataFrame(frame)

    @property
    def pairs(self) -> pl.DataFrame:
        return pl.DataFrame(
            {
                "src": [0, 1],
                "dst": [1, 0],
                "circuit_utilization": [self.utilization, 0.01],
                "packet_utilization": [0.93, 0.02],
                "packet_payload_bytes": [2_000_000_000, 0],
                "circuit_payload_bytes": [6_000_000_000, 1_000_000_000],
                "dropped_voq": [4242, 0],
                "voq_mean": [12.5, 0.1],
            }
        )

    @property
    def tcp(self) -> pl.DataFrame:
        """Two senders, of which the second turns from limited to halved windows; a week in steps of 100 us."""
        t = np.arange(0, WEEK, 100_000)
        parts = []
        for flow, saw in ((0, 40), (3, 25)):
            cwnd = 10 + np.arange(len(t)) % saw
            parts.append(
                pl.DataFrame(
                    {
                        "t_ns": t,
                        "flow": np.full(len(t), flow),
                        "path": np.zeros(len(t), int),
                        "cwnd": cwnd,
                        "ssthresh": np.where(t < 1_000_000, -1, saw // 2),
                        "srtt_ns": 60_000 + 1000 * cwnd,
                        "pipe": cwnd - 1,
                        "state": ["open"] * len(t),
                    }
                )
            )
        return pl.concat(parts).sort("t_ns", "flow")

    @property
    def writes(self) -> pl.DataFrame:
        return pl.DataFrame(
            {"start_ns": [0, 0, 0, 0], "end_ns": [3_000_000, 1_000_000, -1, 2_000_000]}
        )

    @property
    def cross_connects(self) -> pl.DataFrame:
        """What ranks 2 and 3 ask for, and what was up before."""
        rows = [
            (2, 0, 1, "", -1, 0, 0, 8000, ""),
            (2, 3, 1, "job 0", 6000, 8000, 11_000, -1, ""),
            (3, 0, 1, "job 0", 7000, 9000, 12_000, 20_000, ""),
        ]
        return pl.DataFrame(rows, schema=list(CROSS_CONNECTS), orient="row")

    @property
    def iterations(self) -> pl.DataFrame:
        return pl.DataFrame({"job": [0], "iteration": [0], "start_ns": [1000], "end_ns": [21_000]})

    @property
    def steps(self) -> pl.DataFrame:
        """Four ranks that compute, then send to the next one; the last two ask for circuits."""
        rows = []
        for rank in range(4):
            ready = 6000 + 1000 * rank
            granted = 9000 + 1000 * rank if rank > 1 else -1
            begins = max(ready, granted)
            rows.append((0, 0, 0, rank, -1, 0, 1000, -1, -1, -1, ready))
            asked = ready if rank > 1 else -1
            end = begins + 8000 if rank < 3 else -1
            rows.append((0, 0, 1, rank, (rank + 1) % 4, 9000, ready, asked, granted, begins, end))
        return pl.DataFrame(rows, schema=list(STEPS), orient="row")

    @property
    def links(self) -> pl.DataFrame:
        kinds = [
            ("uplinks", "all", 0.7),
            ("to hosts", "low", 0.2),
            ("to hosts", "bulk", 0.3),
            ("from hosts", "low", 0.6),
        ]
        rows = [(ms, kind, share) for ms in range(10) for kind, _, share in kinds]
        return pl.DataFrame(
            {
                "t_ns": [1_000_000 * ms for ms, _, _ in rows],
                "links": [kind for _, kind, _ in rows],
                "utilization": [share * (1 - 0.04 * ms) for ms, _, share in rows],
            }
        )

    @property
    def ports(self) -> pl.DataFrame:
        names = [("r0", "p0a0"), ("p0a0", "r0"), ("p0a0", "c0"), ("r0", "r0h0")]
        count = range(len(names))
        return pl.DataFrame(
            {
                "from": [name[0] for name in names],
                "to": [name[1] for name in names],
                "packets": [1000 * (n + 1) for n in count],
                "dropped": [7 * n for n in count],
                "marked": [0 for _ in count],
                "longest": [60 - 9 * n for n in count],
                "queue_p50": [20 - 5 * n for n in count],
                "queue_p99": [50 - 9 * n for n in count],
                "queue_mean": [30.0 / (n + 1) for n in count],
                "utilization": [0.9 / (n + 1) for n in count],
            }
        )

    @property
    def reordering(self) -> pl.DataFrame:
        days = {0: 90, 1: 10} if self.voq > 16 else {0: 60, 1: 30, 3: 10}
        return pl.DataFrame(
            [
                {"of": of, "quantity": quantity, "value": value, "count": count}
                for of in ("flow", "pair")
                for quantity in ("events", "missing", "spurious")
                for value, count in days.items()
            ]
        )

    @property
    def latency_histogram(self) -> pl.DataFrame:
        edges = np.round(10_000 * 1.004 ** np.arange(1100)).astype(int)
        middle = (edges[1:] + edges[:-1]) / 2000
        full = 14 + 7.2 * self.voq
        packet = 3e5 * np.exp(-(((middle - full * 0.8) / (0.12 * full)) ** 2)) * (middle < full)
        circuit = 1e5 * np.exp(-np.abs(middle - 33) / 4) * (middle > 31)
        parts = []
        for network, count in (("packet", packet), ("circuit", circuit)):
            parts.append(
                pl.DataFrame(
                    {
                        "src": np.zeros(len(count), int),
                        "dst": np.ones(len(count), int),
                        "network": [network] * len(count),
                        "lower_ns": edges[:-1],
                        "upper_ns": edges[1:],
                        "count": count.astype(int),
                    }
                ).filter(pl.col("count") > 0)
            )
        return pl.concat(parts)

    @property
    def sequence(self) -> pl.DataFrame:
        t = np.arange(0, 3 * WEEK // 1000 + 1)
        in_week = t % (WEEK // 1000)
        day, dark = in_week >= 4620, (in_week >= 4600) & (in_week < 4620)
        rate = np.where(day, 625 * self.utilization, np.where(dark, 0, 78.125 * 0.96))
        draining, filling = np.exp(-(in_week - 4620) / 12), 1 - 0.4 * np.exp(-in_week / 150)
        packets = self.voq * np.where(day, draining, filling)
        return pl.DataFrame(
            {
                "t_ns": t * 1000,
                "bytes": np.concatenate(([0.0], np.cumsum(rate)[:-1])),
                "voq_packets": packets,
            }
        )

    @property
    def days(self) -> pl.DataFrame:
        return pl.DataFrame(
            {
                "quantity": ["day_ns", "week_ns", "packet_rate_bps", "circuit_rate_bps"],
                "mean": [180e3, 4.8e6, 9.93e9, 79.99e9],
                "std": [0.0, 0.0, 1e7, 1e7],
                "count": [290, 290, 290, 290],
            }
        )


def run(voq: int = 16, utilization: float = 0.49, **kwargs: Any) -> Run:
    """A run of the fake strobe."""
    return Run(Plan(resolved(voq)), utilization, **kwargs)


VOQ_SWEEP = {4: 0.2, 8: 0.33, 16: 0.52, 32: 0.74, 64: 0.99, 128: 0.995}
"""Made-up utilisations by VOQ size."""
PUBLISHED_8A = {4: 21.3, 8: 31.1, 16: 48.7, 32: 76.7, 64: 99.9, 128: 99.9}
PUBLISHED_8C = {4: 52.0, 8: 81.0, 16: 139.0, 32: 254.0, 64: 484.0, 128: 943.0}
