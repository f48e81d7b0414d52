# SPDX-License-Identifier: MIT OR Apache-2.0
"""Records what the Linux engine's kernel sends, for `../linux.rs`: `python record.py [NAME...]`. Needs the kernel and tshark.

Flows over a bottleneck of 20 Mb/s with a short queue. TSO deferral is switched off on every
host (`tcp_tso_win_divisor` = 100). A line is one data segment as it leaves its host: flow, time in us, offset of its
first byte, length.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import etalon as et

HERE = Path(__file__).parent
KEPT = {"burst": 60, "cubic": 60, "nosack": 60, "nots": 60, "queue2": 60}  # lines; all of others

NETWORK = """
duration = "1.9s"
warmup = "1us"
tdf = 1
[network]
kind = "dumbbell"
mtu = 1500
path = [{rate = "20Mbps", queue = %d, delay = "1ms"}]
return_path = [{delay = "1ms"}]
host = {rate = "10Gbps", delay = "0us", jitter = "0us"}
hosts = %d
[tcp]
%s
"""
FLOW = """
[[flow]]
from = "r0h%d"
to = "r1h%d"
start = "%dms"
size = "%dB"
cc = "%s"
"""
PROGRAM = """
[[program]]
host = "r%dh%d"
command = ["/bin/sh", "-c", "echo 100 > /proc/sys/net/ipv4/tcp_tso_win_divisor"]
"""

TWO = ((28, 140_000), (24, 200_000))
THREE = ((24, 90_000), (27, 90_000), (30, 90_000))
CASES: dict[str, tuple[str, int, tuple[tuple[int, int], ...], str]] = {
    "burst": ("reno", 4, ((20, 200_000),), ""),
    "cubic": ("cubic", 6, ((20, 200_000),), ""),
    "nosack": ("reno", 4, ((20, 200_000),), "sack = false"),
    "nots": ("reno", 4, ((20, 200_000),), "timestamps = false"),
    "queue1": ("reno", 1, ((20, 200_000),), ""),
    "queue2": ("reno", 2, ((20, 200_000),), ""),
    "iw40": ("reno", 1, ((20, 200_000),), "initial_cwnd = 40"),
    "minrto5": ("reno", 1, ((20, 200_000),), 'min_rto = "5ms"'),
    "minrto5q2": ("reno", 2, TWO, 'min_rto = "5ms"'),
    "cubic_long": ("cubic", 1, ((20, 600_000),), ""),
    "rto": ("reno", 1, TWO, ""),
    "two_cubic": ("cubic", 1, TWO, ""),
    "three": ("reno", 2, THREE, ""),
    "scalable3": ("scalable", 1, THREE, ""),
}


def plan(name: str) -> et.Plan:
    """The experiment of a case."""
    cc, queue, flows, tcp = CASES[name]
    text = NETWORK % (queue, len(flows), tcp)
    for host, (start, size) in enumerate(flows):
        text += FLOW % (host, host, start, size, cc)
    for rack in (0, 1):
        text += "".join(PROGRAM % (rack, host) for host in range(len(flows)))
    return et.Plan.from_toml(text)


def record(name: str) -> list[str]:
    """The lines of a case."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "kept"
        (capture,) = et.trace(plan(name), kept, end="1900ms", timeline=False, engine="linux")
        fields = ("frame.interface_id", "tcp.srcport", "frame.time_epoch", "tcp.seq", "tcp.len")
        command = ["tshark", "-r", str(capture), "-T", "fields"]
        command += [word for field in fields for word in ("-e", field)]
        rows = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = []
    for row in rows.splitlines():
        interface, port, at, offset, length = row.split("\t")
        if interface == "0" and port.startswith("40") and int(length) > 0:
            lines.append((port, round(float(at) * 1e6), int(offset), int(length)))
    lines.sort(key=lambda line: line[0])  # within a flow as they were sent
    return [" ".join(map(str, line)) for line in lines[: KEPT.get(name)]]


if __name__ == "__main__":
    for case in sys.argv[1:] or CASES:
        (HERE / f"{case}.txt").write_text("\n".join(record(case)) + "\n")
