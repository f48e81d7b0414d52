# SPDX-License-Identifier: MIT OR Apache-2.0
"""Prints the numbers of this folder's README that no claim holds: what the other readings of the paper give.

python papers/sigcomm22/asides.py            # a minute of processor time
python papers/sigcomm22/asides.py --linux    # the same on hosts with real Linux TCP
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import etalon as et
from etalon.reproduce.paper import Paper

PARSER = argparse.ArgumentParser(description=__doc__.splitlines()[0])
PARSER.add_argument("--linux", action="store_true", help="on hosts with real Linux TCP")
ENGINE = "linux" if PARSER.parse_args().linux else "sim"
PAPER = Paper.load(str(Path(__file__).parent), ENGINE)
SHORT = {"duration": "602ms"}
"""400 weeks."""
Changes = Mapping[str, Any]


def measured(series: str, x: str, changes: Changes) -> et.Run | None:
    """The point of a series, changed; None if the engine lacks something that it needs."""
    plans = PAPER.point(series, x).plans
    return et.run(plans[0].replace({**SHORT, **changes}), engine=ENGINE) if plans else None


def told(run: et.Run) -> str:
    """Goodput and queue."""
    return f"{(run.goodput or 0) / 1e9:.2f} Gb/s, VOQ {run.voq_mean or 0:.1f}"


def compared(name: str, changes: Changes, series: str = "bw-lat") -> None:
    """CUBIC and TDTCP of a series, changed."""
    cubic, tdtcp = (measured(series, x, changes) for x in ("cubic", "tdtcp"))
    if cubic is not None and tdtcp is not None:
        gain = (tdtcp.goodput or 0) / (cubic.goodput or 1)
        print(f"{name}: CUBIC {told(cubic)}; TDTCP {told(tdtcp)}: {gain:.2f} times", flush=True)


def readings() -> None:
    """What the text leaves open, one at a time."""
    compared("as in all figures", {})
    compared("packet network dark in all nights", {"network.night": "all"})
    three = {"kind": "strobe", "day": "180us", "night": "20us", "mimic": 8}
    compared("circuits back in the other days (mimic 8)", {"network.racks": 3, "schedule": three})
    links = {"network.packet.delay": "14675ns", "network.circuit.delay": "6240ns"}
    compared("hosts 7 us each way, links the rest", {"network.host.delay": "7us", **links})
    links = {"network.packet.delay": "23750ns", "network.circuit.delay": "17500ns"}
    compared("100 and 40 us of propagation and hosts", links)
    for rtt, packet, circuit in ((12, 1750, 3500), (40, 8750, 17500), (100, 23750, 47500)):
        links = {"network.packet.delay": f"{packet}ns", "network.circuit.delay": f"{circuit}ns"}
        compared(f"bandwidth differs, RTT {rtt} us", links, "bw-only")


def leads() -> None:
    """When hosts hear of a change."""
    for when in (-20, -10, -5, 0, 5, 10, 20, 30, 40, 50):
        notify = {"before": f"{max(-when, 0)}us", "delay": f"{max(when, 0)}us"}
        run = measured("bw-lat", "tdtcp", {"network.notify": notify})
        if run is not None:
            share = 100 * (run.days_without("events") or 0)
            missing = run.by_day("missing", 90, "pair")
            print(
                f"TDTCP, heard {when} us after the change: {told(run)}, {share:.0f} % of flows' days in order, "
                f"{missing} packets missing in a day (p90, all flows)"
            )


def others() -> None:
    """MPTCP's ACKs and scheduler, reTCP's notice, DCTCP's threshold."""
    for switches in (
        {"acks": "any"},
        {"acks": "pinned"},
        {"acks": "any", "reinject": True},
        {"acks": "pinned", "reinject": True},
        {"scheduler": "mainline"},
    ):
        changes = {"bulk.transport": {"kind": "mptcp", **switches}}
        for series in ("bw-lat", "bw-only"):
            run = measured(series, "mptcp", changes)
            if run is not None:
                lost = run.drops * run.plan.week_ns / run.measured_ns
                print(
                    f"MPTCP, {switches}, {series}: {told(run)}, {lost:.1f} packets lost a week",
                    flush=True,
                )
    for before in (0, 20, 50, 150, 600):
        run = measured("bw-lat", "retcp", {"network.ece.before": f"{before}us"})
        if run is not None:
            print(f"reTCP without resizing, told {before} us before: {told(run)}", flush=True)
    for threshold in (3, 5, 10, 13):
        run = measured("bw-lat", "dctcp", {"network.marking.threshold": threshold})
        if run is not None:
            print(f"DCTCP, threshold {threshold}: {told(run)}", flush=True)


def ablations() -> None:
    """TDTCP without each of its parts, and with what the paper proposes."""
    for switches in (
        {},
        {"relaxed": False},
        {"pipe": "shared"},
        {"rtt": "all"},
        {"pace_burst": True},
    ):
        changes = {"bulk.transport": {"kind": "tdtcp", **switches}}
        run = measured("bw-lat", "tdtcp", changes)
        if run is not None:
            print(
                f"TDTCP, {switches or 'as published'}: {told(run)}, {run.spurious} packets in vain"
            )


def reordering() -> None:
    """Figure 10 with packets a sixth as large, with long queues, by one flow, and over all flows together."""
    variations: dict[str, Changes] = {
        "as in all figures": {},
        "1500 B, 96 packets": {"network.mtu": 1500, "network.voq.packets": 96},
        "64 packets": {"network.voq.packets": 64},
        "heard 50 us late": {"network.notify": {"before": "0us", "delay": "50us"}},
        "one flow": {"bulk.flows": 1},
    }
    for name, changes in variations.items():
        for x in ("cubic", "tdtcp", "mptcp"):
            run = measured("bw-lat", x, changes)
            if run is None:
                continue
            by_flow, all_flows = (
                [run.by_day("missing", part, of) for part in (90, 100)] for of in ("flow", "pair")
            )
            print(
                f"{x}, {name}: {told(run)}; missing in an optical day (p90, most): {by_flow} by flow, "
                f"{all_flows} in all; {run.spurious} packets in vain, {run.drops} lost",
                flush=True,
            )


if __name__ == "__main__":
    for print_numbers in (readings, leads, others, ablations, reordering):
        print_numbers()
