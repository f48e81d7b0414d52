# SPDX-License-Identifier: MIT OR Apache-2.0
"""Prints which settings bear out the claims, of those that the paper leaves open: 15 weeks each.

python papers/powertcp/asides.py
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import etalon as et
from etalon.reproduce.paper import Paper

Changes = Mapping[str, Any]
AHEAD = (600, 1800)


def main() -> None:
    """Each circuit delay, N and number of flows, with reTCP's VOQ of several sizes."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    paper = Paper.load("powertcp")
    tail, fill = paper.measures.tail, paper.measures.fill
    also = paper.series["transports"].also
    plan = paper.point("transports", "powertcp").plans[0].replace({"duration": "117600us"})

    def run(x: str, changes: Changes, **params: float) -> et.Run:
        mine = {"bulk.params": {}, **also[x]}
        mine["bulk.params"] = {**mine["bulk.params"], **params}
        return et.run(plan.replace({**mine, **changes}))

    def setting(delay: str, flows: int, expected: int, once: int) -> None:
        network: Changes = {"network.circuit.delay": delay, "bulk.flows": flows}
        params = {"flows": expected, "once_per_rtt": once}
        power, hpcc = (run(x, network, **params) for x in ("powertcp", "hpcc"))
        used = [100 * (one.circuit_utilization or 0) for one in (power, hpcc)]
        waits = power.latency(50) - power.latency(0)
        print(
            f"circuit {delay}, {flows} flows, N = {expected}, {'once an RTT' if once else 'every ACK'}: PowerTCP uses "
            f"{used[0]:.1f} %, fills in {fill(power):.0f} us, p99 {tail(power):.1f} us, median {waits:.1f} us, "
            f"VOQ {power.voq_mean:.1f} packets; HPCC uses {used[1]:.1f} %",
            flush=True,
        )

    def prebuffered(delay: str, flows: int, big: int) -> None:
        small = round(big * 16 / 50)
        said = []
        for ahead in AHEAD:
            one = run(
                f"retcp-{ahead}",
                {
                    "network.circuit.delay": delay,
                    "bulk.flows": flows,
                    "network.voq": {
                        "packets": small,
                        "resize": {"packets": big, "before": f"{ahead}us"},
                    },
                },
            )
            used = 100 * (one.circuit_utilization or 0)
            said.append(f"{ahead} us ahead {used:.1f} %, p99 {tail(one):.1f} us")
        print(
            f"circuit {delay}, {flows} flows, reTCP, {small} to {big} packets: {'; '.join(said)}",
            flush=True,
        )

    for delay in ("10us", "2us"):
        for expected in (10, 100, 300):
            setting(delay, 10, expected, 1)
        setting(delay, 10, 100, 0)
    setting("10us", 4, 100, 1)
    for big in (143, 333, 600, 1000):
        prebuffered("10us", 10, big)
    prebuffered("2us", 10, 333)
    prebuffered("10us", 4, 333)


if __name__ == "__main__":
    main()
