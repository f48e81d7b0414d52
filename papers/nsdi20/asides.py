# SPDX-License-Identifier: MIT OR Apache-2.0
"""Prints the numbers of this folder's README that no claim holds: what happens if one assumption is changed.

python papers/nsdi20/asides.py
python papers/nsdi20/asides.py --linux     # those of real Linux: figure 10 with other ways to find losses
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import polars as pl

import etalon as et

PLANS = Path(__file__).parent / "plans"
TAUS = (1200, 1500, 1800, 2100, 2400, 2700, 3000)


def _seconds(run: et.Run) -> float:
    """When the last flow was complete, in s."""
    return float(max(run.flows["end_ns"].to_list())) / 1e9


def uptime_1500() -> None:
    """Figure 3 with the packets of the paper's simulator: 1500 B, queues six times as long."""
    base = et.Plan.load(PLANS / "uptime.toml")
    days = [100, 300, 1000, 3000, 10_000]
    change: dict[str, Any] = {"network.mtu": 1500, "network.voq.packets": 6 * 32}
    runs = et.run_many([base.replace({**change, "schedule.day": f"{day}us"}) for day in days])
    times = [_seconds(run) for run in runs]
    best = et.run(base.replace({"network.voq.packets": 6 * 128, "network.mtu": 1500}))
    print(
        "figure 3, 1500 B, 192 packets, completion in s by day in us:",
        dict(zip(days, times, strict=True)),
    )
    print(f"  worst over best of these: {max(times) / min(times):.2f}")
    print(f"  worst over 768 packets at 1 ms: {max(times) / _seconds(best):.2f}")


def table1_16() -> None:
    """Table 1 with 16-packet VOQs."""
    base = et.Plan.load(PLANS / "validation.toml")
    days = et.run(base.replace({"network.voq.packets": 16})).days
    rate = days.filter(pl.col("quantity") == "circuit_rate_bps")["mean"][0]
    print(f"table 1, 16 packets: the circuit carries {rate / 1e9:.0f} Gb/s while busy")


def undilated() -> None:
    """tdf = 1, and tdf = 1 with some of the host's clocks scaled after all."""
    base = et.Plan.load(PLANS / "strobe.toml")
    scaled: dict[str, Any] = {
        "tcp.min_rto": "10ms",
        "tcp.min_delayed_ack": "2ms",
        "tcp.max_delayed_ack": "10ms",
        "tcp.hz": 5000,
    }
    static: dict[str, Any] = {"network.voq.packets": 16}
    retcp = {**_resized(150), "network.ece.before": "150us", "bulk.cc": "retcp"}
    variations: dict[str, dict[str, Any]] = {
        "tdf 20, static 16 packets": static,
        "tdf 1, static 16 packets": {**static, "tdf": 1},
        "tdf 20, reTCP, tau 150 us": retcp,
        "tdf 1, reTCP, tau 150 us": {**retcp, "tdf": 1},
        "tdf 1, reTCP, tau 150 us, timers and HZ scaled": {**retcp, **scaled, "tdf": 1},
        **{f"tdf 1, CUBIC, tau {tau} us": {**_resized(tau), "tdf": 1} for tau in TAUS},
        "tdf 1, CUBIC, tau 2400 us, minimum RTO 10 ms": {
            **_resized(2400), "tdf": 1, "tcp.min_rto": "10ms"
        },
        "tdf 1, CUBIC, tau 2400 us, HZ 5000": {**_resized(2400), "tdf": 1, "tcp.hz": 5000},
    }  # fmt: skip
    runs = et.run_many([base.replace(change) for change in variations.values()])
    for name, run in zip(variations, runs, strict=True):
        print(f"{name}: {100 * (run.circuit_utilization_nsdi20 or 0):.1f} %")


def losses_on_linux() -> None:
    """Figure 10 where hosts find losses otherwise: 600 weeks at tau = 1200 us."""
    base = et.Plan.load(PLANS / "strobe.toml")
    ways = {
        "as Linux 6.1 is": {},
        "without RACK": {"tcp_recovery": 0},
        "without RACK and probes": {"tcp_recovery": 0, "tcp_early_retrans": 0},
        "without compressed SACKs": {"tcp_comp_sack_nr": 0},
    }
    for cc in ("bic", "cubic", "dctcp", "veno", "yeah"):
        plans = [
            base.replace({
                **_resized(1200),
                "duration": "2.88s",
                "bulk.cc": cc,
                "bulk.start": "1ms",
                "program": _settings(way),
                **({"network.marking": {"threshold": 10, "threshold_big": 31}} if cc == "dctcp" else {}),
            })
            for way in ways.values()
        ]  # fmt: skip
        runs = et.run_many(plans, engine="linux")
        for name, run in zip(ways, runs, strict=True):
            print(f"figure 10, {cc}, {name}: {100 * (run.circuit_utilization_nsdi20 or 0):.1f} %")


def _settings(values: dict[str, int]) -> list[dict[str, Any]]:
    """A program on each host of the pair that sets these before flows begin."""
    writes = "; ".join(f"echo {value} > /proc/sys/net/ipv4/{key}" for key, value in values.items())
    hosts = [f"r{rack}h{host}" for rack in (0, 1) for host in range(16)]
    return [{"host": host, "command": ["sh", "-c", writes]} for host in hosts if writes]


def _resized(tau_us: int) -> dict[str, Any]:
    return {"network.voq.resize": {"packets": 50, "before": f"{tau_us}us"}}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--linux", action="store_true", help="those of real Linux")
    if parser.parse_args().linux:
        losses_on_linux()
    else:
        undilated()
        table1_16()
        uptime_1500()
