# SPDX-License-Identifier: MIT OR Apache-2.0
"""How long iterations of jobs take on the simulator, and with real Linux TCP: the table of docs/jobs.md."""

import argparse
from typing import Any

import etalon as et
from etalon import kernel

MPTCP = {"kind": "mptcp", "scheduler": "mainline"}
CASES: list[tuple[str, int, str, str | dict[str, Any]]] = [
    ("ring", 4, "4MB", "tcp"),
    ("ring", 16, "8MB", "tcp"),
    ("recursive-doubling", 4, "2MB", "tcp"),
    ("recursive-doubling", 16, "1MB", "tcp"),
    ("swing", 8, "4MB", "tcp"),
    ("halving-doubling", 16, "4MB", "tcp"),
    ("ring", 4, "4MB", {**MPTCP, "subflows": 1}),
    ("ring", 4, "1MB", {**MPTCP, "subflows": 2}),
    ("ring", 4, "4MB", {**MPTCP, "subflows": 2}),
]


def times(
    algorithm: str, ranks: int, size: str, transport: str | dict[str, Any], engine: str
) -> list[float]:
    """Iterations in microseconds, on a star of links of 10 Gb/s."""
    host = {"rate": "10Gbps", "delay": "0us", "jitter": "0us"}
    net = et.network(racks=ranks, hosts=1, packet=("10Gbps", "500ns"), voq=1000, host=host)
    job = et.job(et.all_reduce(size, algorithm=algorithm), iterations=3, transport=transport)
    settings = {"duration": "1s", "warmup": "0s", "tdf": 1, "end_when_done": True}
    plan = et.experiment(net, et.packet_only(net), job, tcp={"max_cwnd": 128}, **settings)
    rows = et.run(plan, engine=engine).iterations
    return [(end - start) / 1e3 for start, end in rows.select("start_ns", "end_ns").rows()]


def main() -> None:
    """A row for each case."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    if kernel.find(250) is None:
        raise SystemExit("this table needs the Linux engine's kernel: etalon kernel build")
    print("| algorithm | ranks | size | transport | simulator | Linux | difference, iteration 3 |")
    print("|---|---:|---:|---|---:|---:|---:|")
    for algorithm, ranks, size, transport in CASES:
        sim, linux = (
            times(algorithm, ranks, size, transport, engine) for engine in ("sim", "linux")
        )
        many = transport["subflows"] if isinstance(transport, dict) else 0
        carries = f"MPTCP, {many} subflow{'s' * (many > 1)}" if many else "TCP"
        said = [", ".join(f"{one:.0f}" for one in all_of) for all_of in (sim, linux)]
        far = f"{round((linux[2] / sim[2] - 1) * 100, 2) or 0.0:+.2f} %"
        print(f"| {algorithm} | {ranks} | {size} | {carries} | {said[0]} | {said[1]} | {far} |")


if __name__ == "__main__":
    main()
