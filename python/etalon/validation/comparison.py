"""The numbers of two runs of one plan side by side, and how far they are apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from etalon.campaign.runs import run_all
from etalon.engine import Progress
from etalon.results import Run
from etalon.validation.experiments import Experiment

POINTS = 5.0
"""Utilisation of the simulator is to be this close to Linux, in points."""
PERCENT = 15.0
"""And its 99th percentile latency this close, in percent."""

UNITS = {
    "utilization": "%",
    "latency_p50": "us",
    "latency_p99": "us",
    "retransmitted": "per 1000 packets",
}


@dataclass(frozen=True)
class Comparison:
    """One experiment on both engines."""

    experiment: Experiment
    sim: Run
    linux: Run

    def both(self, of: Callable[[Run], float]) -> tuple[float, float]:
        """A number of the simulator and of Linux."""
        return of(self.sim), of(self.linux)

    @property
    def utilization_error(self) -> float:
        """Utilisation of the simulator less that of Linux, in points."""
        sim, linux = self.both(utilization)
        return sim - linux

    def latency_error(self, percentile: float) -> float:
        """Latency of the simulator against that of Linux, in percent of the latter."""
        sim, linux = self.both(lambda run: run.latency(percentile))
        return 100 * (sim - linux) / linux

    @property
    def holds(self) -> bool:
        """Whether both are within the bounds that we set ourselves."""
        return abs(self.utilization_error) <= POINTS and abs(self.latency_error(99)) <= PERCENT

    def as_dict(self) -> dict[str, Any]:
        """The row of the JSON list."""
        numbers = {
            "utilization": self.both(utilization),
            "latency_p50": self.both(lambda run: run.latency(50)),
            "latency_p99": self.both(lambda run: run.latency(99)),
            "retransmitted": self.both(retransmissions),
        }
        return {
            "experiment": self.experiment.name,
            **{
                name: {"sim": sim, "linux": linux, "unit": UNITS[name]}
                for name, (sim, linux) in numbers.items()
            },
            "holds": self.holds,
        }


def utilization(run: Run) -> float:
    """Circuit utilisation in percent; of the packet network where there are no circuits.

    Payload over the capacity that the pair really had in the measured time (`docs/metrics.md`), and not
    `circuit_utilization_nsdi20`, the papers' from the first packet to the last.
    """
    value = run.circuit_utilization if run.plan.week_ns else run.packet_utilization
    return 100 * (value or 0.0)


def retransmissions(run: Run) -> float:
    """Segments sent again for 1000 data packets that left the network."""
    packets = sum(run.total("pairs", f"{plane}_packets") for plane in run.planes)
    return 1000 * run.total("flows", "retransmits") / max(packets, 1)


def compare(
    experiments: Sequence[Experiment],
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> list[Comparison]:
    """Runs every experiment on both engines, `jobs` at a time."""
    plans = [experiment.plan for experiment in experiments]
    simulated = 0.1  # of the work, about

    def of_linux(share: float) -> None:
        if progress is not None:
            progress(simulated + (1 - simulated) * share)

    sim = run_all(plans, "sim", jobs=jobs)
    if progress is not None:
        progress(simulated)
    linux = run_all(plans, "linux", jobs=jobs, progress=of_linux)
    return [Comparison(*row) for row in zip(experiments, sim, linux, strict=True)]
