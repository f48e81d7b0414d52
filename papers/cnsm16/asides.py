"""Prints the numbers of this folder's README that no claim holds: what the spread of starts and Mininet's links decide.

python papers/cnsm16/asides.py        # a minute of processor time
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import etalon as et
from etalon.reproduce.paper import Paper

PAPER = Paper.load(str(Path(__file__).parent))
BY_MS = {"rack": (30, 250), "pod": (40, 220), "core": (80, 250)}
"""The instants of which section IV.C tells how many of DCTCP's flows are done."""
SPREADS = ("300us", "1ms", "5ms", "10ms", "15ms", "20ms", "30ms")
SIZES = (10, 25)
ALONE: dict[str, dict[str, object]] = {
    "RTOmin": {"min_rto": "1ms"},
    "RTOinit": {"initial_rto": "4ms"},
    "IW": {"initial_cwnd": 1},
    "RTOmin and RTOinit": {"min_rto": "1ms", "initial_rto": "4ms"},
}


def done_by(run: et.Run, ms: float) -> float:
    """Share of flows done by then, in %."""
    times = (run.flows["end_ns"] - run.flows["start_ns"]).to_numpy() / 1e6
    done = (run.flows["end_ns"] >= 0).to_numpy() & (times <= ms)
    return 100 * float(done.mean())


def spreads(*, in_queue: bool) -> None:
    """Figure 6's DCTCP lines over the spread of the starts."""
    name = "delay within the queue, as Mininet's" if in_queue else "delay behind the queue"
    print(f"figure 6, DCTCP, links that {name}: % done by 30 and 250, 40 and 220, 80 and 250 ms")
    for size in SIZES:
        for spread in SPREADS:
            shares = []
            for layer, instants in BY_MS.items():
                changes = {
                    "incast.spread": spread,
                    "incast.size": f"{1448 * size}B",
                    "network.delay_in_queue": in_queue,
                }
                run = et.run(PAPER.point(f"{layer}-dctcp", 25).plans[0].replace(changes))
                shares += [done_by(run, ms) for ms in instants]
            print(f"  {size} segments, {spread}: " + " ".join(f"{s:.0f}" for s in shares))
    print("  published: 82 97 86 98 72 89")


def ablation() -> None:
    """Figure 5's TCP in the rack, with each parameter of OTCP alone."""
    print("figure 5, rack, 25 segments: mean and p95 of completion in ms")
    plan = PAPER.point("rack-tcp", 25).plans[0]
    variants: dict[str, dict[str, object]] = {"TCP": {}, **ALONE, "OTCP": {"otcp": True}}
    for name, keys in variants.items():
        run = et.run(plan.replace({f"tcp.{key}": value for key, value in keys.items()}))
        times = (run.flows["end_ns"] - run.flows["start_ns"]).to_numpy() / 1e6
        print(f"  {name}: {float(times.mean()):.1f} {float(np.quantile(times, 0.95)):.1f}")


def granularity() -> None:
    """Figure 6's OTCP with ticks of 1 ms and of 4 ms, and with links that delay behind their queues."""
    print(
        "figure 6, OTCP, 25 segments: when the last of all flows is done, and the last of a median round, ms"
    )
    variants: dict[str, dict[str, object]] = {
        "HZ 250": {},
        "HZ 1000": {"tcp.hz": 1000},
        "HZ 1000, delay behind the queue": {"tcp.hz": 1000, "network.delay_in_queue": False},
    }
    for layer in BY_MS:
        for name, keys in variants.items():
            run = et.run(PAPER.point(f"{layer}-otcp", 25).plans[0].replace(keys))
            times = (run.flows["end_ns"] - run.flows["start_ns"]).to_numpy() / 1e6
            last = times.reshape(-1, 90).max(axis=1)
            print(f"  {layer}, {name}: {last.max():.1f} {float(np.median(last)):.1f}")


def fairness() -> None:
    """Figure 7 over the spread of the starts."""
    print(
        "figure 7, 25 segments: % of flows with 10 to 30 Mb/s, OTCP and ODCTCP; DCTCP's flows done by 30 ms"
    )
    for spread in SPREADS:
        shares = []
        for series in ("rack-otcp", "rack-odctcp"):
            run = et.run(PAPER.point(series, 25).plans[0].replace({"incast.spread": spread}))
            times = (run.flows["end_ns"] - run.flows["start_ns"]).to_numpy()
            rates = 8000 * run.flows["bytes"].to_numpy() / times
            shares.append(100 * float(((rates >= 10) & (rates <= 30)).mean()))
        plan = PAPER.point("rack-dctcp", 25).plans[0].replace({"incast.spread": spread})
        print(f"  {spread}: {shares[0]:.0f} {shares[1]:.0f}; {done_by(et.run(plan), 30):.0f}")


if __name__ == "__main__":
    ablation()
    granularity()
    fairness()
    spreads(in_queue=True)
    spreads(in_queue=False)
