# SPDX-License-Identifier: MIT OR Apache-2.0
"""In-band telemetry and the congestion controls that need it, against their control laws; packets that spread over all ways."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import etalon as et
from etalon.engine import named
from etalon.errors import PlanError

WIRE, MTU = 14, 1500
RATE = 10e9
DELAY = 8e-6
"""Of the path, each way."""
FLOWS = 4


def queue(cc: str, **params: float) -> et.Plan:
    """Four hosts, one queue, all of it as fast as a host's NIC."""
    return et.Plan.from_dict(
        {
            "name": cc,
            "duration": "30ms",
            "warmup": "10ms",
            "tdf": 1,
            "network": {
                "kind": "dumbbell",
                "hosts": FLOWS,
                "mtu": MTU,
                "path": [{"rate": "10Gbps", "queue": 1000, "delay": "8us"}],
                "return_path": [{"delay": "8us"}],
                "host": {"rate": "10Gbps", "delay": "500ns", "jitter": "0ns"},
            },
            "tcp": {"hz": 1000},
            "bulk": [{"from": 0, "to": 1, "cc": cc, "params": params}],
        }
    )


def span(octets: int) -> float:
    """Transmission time on each link in seconds."""
    return octets * 8 / RATE


def base_rtt(option: int) -> float:
    """A full segment and its ACK through empty queues: two transmissions there, one back, and two hosts' delays."""
    return 2 * DELAY + 2 * 0.5e-6 + 2 * span(WIRE + MTU) + span(WIRE + 52 + option)


def waits(run: et.Run) -> float:
    """Mean queueing time of a packet in the path, in seconds."""
    bins = run.latency_histogram
    middle = (bins["lower_ns"].to_numpy() + bins["upper_ns"].to_numpy()) / 2
    mean = float(np.average(middle, weights=bins["count"].to_numpy())) / 1e9
    return mean - DELAY - span(WIRE + MTU)


OPTION = 12
"""Bytes of an option with room for one hop."""


@pytest.mark.parametrize("expected", [8, 32])
@pytest.mark.parametrize("cc", ["powertcp", "theta-powertcp"])
def test_the_queue_settles_where_powertcps_law_says(cc: str, expected: int) -> None:
    """Without a gradient the window is w = w / power + beta, power = (q + b tau) / (b tau), and all windows make b tau + q:
    so q is the sum of beta, HostBw tau / N a flow. Each flow's window is up to a segment longer, which is what TCP sends."""
    option = OPTION if cc == "powertcp" else 0
    tau = base_rtt(option)
    run = et.run(queue(cc, base_rtt=tau * 1e6, flows=expected))
    beta = RATE / 8 * tau / expected * FLOWS
    assert run.drops == 0 and run.meta["digest"]
    full = RATE * (MTU - 52 - option) / (WIRE + MTU)
    assert 0.97 * full < (run.goodput or 0) <= 1.001 * full
    queued = waits(run) * RATE / 8
    packet = WIRE + MTU  # a queue has whole packets
    assert 0.85 * beta - packet / 2 < queued < 1.15 * beta + FLOWS * packet, (queued, beta)


def test_hpcc_leaves_a_share_of_the_link_and_no_queue() -> None:
    """The target is eta of what the link holds (SIGCOMM 2019, section 3.3), and a little for each flow."""
    for eta in (0.95, 0.8):
        tau = base_rtt(OPTION)
        run = et.run(queue("hpcc", base_rtt=tau * 1e6, eta=eta, flows=100))
        used = (run.goodput or 0) / (RATE * (MTU - 52 - OPTION) / (WIRE + MTU))
        assert eta - 0.05 < used < eta + 0.05
        assert waits(run) < 2 * span(WIRE + MTU)


@pytest.mark.parametrize(
    ("cc", "option"),
    [("cubic", 0), ("theta-powertcp", 0), ("powertcp", OPTION), ("hpcc", OPTION)],
)
def test_the_option_takes_its_bytes_from_the_payload(cc: str, option: int, tmp_path: Path) -> None:
    """Of flows that ask for telemetry alone. Full segments are as long as the MTU; pure ACKs echo."""
    plan = queue(cc).replace({"bulk.flows": 1, "duration": "3ms", "warmup": "1ms"})
    data = segments(plan, tmp_path / "data", 5001)
    assert {header for _, total, header in data if total > header} == {52 + option}
    assert max(total for _, total, _ in data) == MTU
    acks = segments(plan, tmp_path / "acks", None)
    assert {(total, header) for _, total, header in acks[5:]} == {(52 + option, 52 + option)}


@pytest.mark.parametrize("cc", ["powertcp", "theta-powertcp", "hpcc"])
@pytest.mark.parametrize(
    "network",
    [
        {"kind": "rdcn", "mtu": 1500, "host": {"downlink_queue": 100}},
        {"kind": "leaf-spine"},
        {"kind": "tree"},
        {"kind": "ocs", "racks": 8, "hosts": 2, "circuits": {"switches": 2}},
    ],
    ids=lambda network: network["kind"],
)
def test_they_carry_flows_on_every_network(network: dict[str, Any], cc: str) -> None:
    """A window of one segment meets a delayed ACK, 40 ms."""
    plan = et.Plan.from_dict(
        {
            "duration": "100ms",
            "warmup": "0s",
            "tdf": 1,
            "network": network,
            **({"schedule": {"kind": "rotor"}} if network["kind"] == "ocs" else {}),
            "flow": [
                {"from": f"r0h{host}", "to": f"r1h{host}", "size": "200kB", "cc": cc}
                for host in range(2)
            ],
        }
    )
    flows = et.run(plan).flows
    assert (flows["end_ns"] > 0).all(), "an unfinished flow has -1"


@pytest.mark.parametrize("cc", ["powertcp", "theta-powertcp", "hpcc"])
def test_linux_has_none_of_them(cc: str) -> None:
    problems = list(named("linux").problems(queue(cc)))
    assert any(f'the kernel has no "{cc}"' in str(problem) for problem in problems)
    with pytest.raises(PlanError, match="host_rate"):
        queue(cc, host_rate=-1.0).resolve()


@pytest.mark.parametrize("spread", ["flow", "packet"])
def test_packets_of_a_flow_spread_over_all_ways_if_that_is_asked_for(
    spread: str, tmp_path: Path
) -> None:
    """Three uplinks lead to rack 1, one at once and two over another rack: only packets that spread overtake each other."""
    plan = et.Plan.from_dict(
        {
            "duration": "3ms",
            "warmup": "0s",
            "tdf": 1,
            "network": {
                "kind": "ocs",
                "racks": 4,
                "hosts": 1,
                "circuits": {"rate": "10Gbps", "delay": "2us", "switches": 3},
            },
            "schedule": {"kind": "static"},
            "routing": {"kind": "ksp", "paths": 3, "spread": spread},
            "flow": [{"from": "r0h0", "to": "r1h0", "size": "1MB"}],
            "measure": {"pair": [0, 1]},
        }
    )
    arrived = [seq for seq, *_ in segments(plan, tmp_path / "data", 5001)]
    overtaken = int((np.diff(arrived) < 0).sum())
    assert len(arrived) > 200
    assert (overtaken > 20) == (spread == "packet"), overtaken


def segments(plan: et.Plan, folder: Path, port: int | None) -> list[tuple[int, int, int]]:
    """Sequence number, length, and length of both headers of what goes to that port, or to any in rack 0: read off a capture
    (pcapng, Ethernet, IPv4)."""
    at = f"tor{0 if port is None else 1}"
    (capture,) = et.trace(plan, folder, at=at, end="1ms", timeline=False)
    data, place, found = capture.read_bytes(), 0, []
    while place < len(data):
        kind, length = struct.unpack_from("<II", data, place)
        packet = data[place + 28 + 14 : place + length]
        place += length
        if kind != 6:  # an enhanced packet block
            continue
        rack, total = packet[18], struct.unpack_from(">H", packet, 2)[0]
        to, seq = struct.unpack_from(">HI", packet, 22)
        if (port is None and rack == 0) or to == port:
            found.append((seq, total, 20 + (packet[32] >> 4) * 4))
    return found
