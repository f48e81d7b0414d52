"""What both engines run: NSDI'20's network with every congestion control that the simulator has, and a dumbbell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from etalon import api
from etalon.controls import controls
from etalon.plan import Plan

WEEK_US = 4800
"""24 days of 180 us with nights of 20 us."""
WEEKS = 1000
"""Measured; ten more are warm-up."""
BIG = 50
"""Packets in a grown VOQ (NSDI'20 section 5.2)."""


@dataclass(frozen=True)
class Experiment:
    """One row of the table."""

    name: str
    plan: Plan


def _rdcn(cc: str, name: str, voq: dict[str, Any], **more: Any) -> Experiment:
    """Sixteen flows of NSDI'20 sections 4.4 and 4.5: three racks that stand for 25."""
    if cc == "dctcp":
        more["marking"] = {"threshold": 10, "threshold_big": 31}
    net = api.network(racks=3, hosts=16, voq=voq, **more)
    plan = api.experiment(
        net,
        api.strobe(net, mimic=25),
        api.bulk(0, 1, cc=cc),
        name=f"{cc}-{name}".replace(" ", "-"),
        duration=f"{(WEEKS + 10) * WEEK_US}us",
        warmup=f"{10 * WEEK_US}us",
    )
    return Experiment(f"{cc}, {name}", plan)


def _static(cc: str, packets: int, **more: Any) -> Experiment:
    return _rdcn(cc, f"static {packets}", {"packets": packets}, **more)


def _resize(cc: str, tau_us: int, **more: Any) -> Experiment:
    voq = {"packets": 16, "resize": {"packets": BIG, "before": f"{tau_us}us"}}
    return _rdcn(cc, f"tau {tau_us}", voq, **more)


def all_experiments() -> Iterator[Experiment]:
    """The experiments in the order of the table."""
    for cc in (name for name, control in controls().items() if "sim" in control.engines):
        if cc == "retcp":
            continue
        yield from (_static(cc, packets) for packets in (16, 64))
        yield from (_resize(cc, tau) for tau in (600, 1800))
    # reTCP lives on being told; without resizing the published runs were told 600 us early.
    yield from (_static("retcp", packets, ece={"before": "600us"}) for packets in (16, 64))
    yield from (_resize("retcp", tau, ece={"before": f"{tau}us"}) for tau in (0, 50, 150, 300))
    yield dumbbell()


def dumbbell() -> Experiment:
    """Sixteen CUBIC flows over one 10 Gb/s queue, without dilation: no circuit, nothing of the papers."""
    net = api.dumbbell(rate="10Gbps", delay="30us", queue=100, hosts=16)
    plan = api.experiment(
        net, api.bulk(0, 1), name="dumbbell", duration="2s", warmup="200ms", tdf=1
    )
    return Experiment("cubic, 10 Gb/s dumbbell", plan)
