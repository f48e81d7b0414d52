# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs are traffic: the connections that they make are flows, with what packets tell of them."""

from __future__ import annotations

import json
import sys
from typing import Any

import polars as pl
import pytest

import etalon as et
from conftest import need_kernel, need_program
from etalon.plan import Plan
from etalon.results import Run

SHORT = 120
"""Connections, one after the other."""
SERVER = f"""
import socket
listener = socket.create_server(("", 9000))
for number in range({SHORT}):
    with listener.accept()[0] as peer:
        left = 100 * number
        while left:
            left -= len(peer.recv(left))
        peer.sendall(b"y" * 7)
"""
CLIENT = f"""
import socket
for number in range({SHORT}):
    with socket.create_connection(("10.0.1.1", 9000)) as peer:
        peer.sendall(b"x" * (100 * number))
        peer.shutdown(socket.SHUT_WR)
        while peer.recv(100):
            pass
"""

REFUSED = "import socket; socket.socket().connect_ex(('10.0.1.2', 1))"


def run(*programs: tuple[str, Any, str], **more: Any) -> Run:
    """Programs by host, command and start on three racks of two hosts."""
    need_kernel()
    tables = [
        {"host": host, "command": command, "start": start} for host, command, start in programs
    ]
    values = {"duration": "200ms", "warmup": "0ms", "network": {"racks": 3, "hosts": 2}, **more}
    return et.run(Plan.from_dict({"name": "programs", "program": tables, **values}), engine="linux")


def flows(result: Run) -> pl.DataFrame:
    """Those of programs."""
    return result.flows.filter(pl.col("class") == "program")


def ends(row: dict[str, Any]) -> tuple[int, ...]:
    names = ("src_rack", "src_host", "src_port", "dst_rack", "dst_host", "dst_port")
    return tuple(row[name] for name in names)


@pytest.fixture(scope="module")
def iperf() -> Run:
    """A transfer there, one back, and two flows of the plan beside them."""
    need_program("iperf3")
    return run(
        ("r1h0", "iperf3 -s -1", "0ms"),
        ("r0h0", "iperf3 -c 10.0.1.1 -n 3M -J", "5ms"),
        ("r1h1", "iperf3 -s -1", "0ms"),
        ("r0h1", "iperf3 -c 10.0.1.2 -n 2M -R -J", "5ms"),
        bulk=[{"from": 0, "to": 1, "start": "30ms"}],
        duration="50ms",
    )


def said(result: Run, program: int) -> dict[str, Any]:
    """What iperf3 said of its streams."""
    document = json.loads(result.outputs[result.programs["out"][program]])
    sums: dict[str, Any] = document["end"]
    return sums


def test_a_transfer_is_a_row_with_iperf3s_own_numbers(iperf: Run) -> None:
    to_server = flows(iperf).filter(pl.col("src_rack") == 0, pl.col("src_host") == 0)
    forth = to_server.row(by_predicate=pl.col("bytes_delivered") > 100_000, named=True)
    assert ends(forth)[:2] + ends(forth)[3:] == (0, 0, 1, 0, 5201)
    # iperf3 ends the test when it has written all, and what its server has read by then is less than what came later.
    sums = said(iperf, 1)
    assert sums["sum_received"]["bytes"] <= forth["bytes_delivered"] <= sums["sum_sent"]["bytes"]
    assert forth["retransmits"] >= sums["sum_sent"]["retransmits"] > 0
    # What travels is counted where it travels: sent again included, and more than what is delivered.
    assert forth["packet_bytes"] + forth["circuit_bytes"] >= forth["bytes_delivered"]
    assert forth["cwnd"] > 1
    assert forth["srtt_ns"] > 30_000


def test_what_a_server_sends_is_a_row_from_the_server(iperf: Run) -> None:
    (back,) = (
        flows(iperf)
        .filter(pl.col("src_rack") == 1, pl.col("bytes") == 2 << 20)
        .iter_rows(named=True)
    )
    assert ends(back)[:5] == (1, 1, 5201, 0, 1)
    assert back["bytes_delivered"] == 2 << 20
    assert back["retransmits"] == said(iperf, 3)["sum_sent"]["retransmits"] > 0
    assert 5_000_000 < back["start_ns"] < back["end_ns"] < 30_000_000
    # The client said nothing on that connection but the 37 bytes of iperf3's cookie.
    opposite = tuple(ends(back)[at] for at in (3, 4, 5, 0, 1, 2))
    (asked,) = (row for row in flows(iperf).iter_rows(named=True) if ends(row) == opposite)
    assert (asked["bytes"], asked["bytes_delivered"]) == (37, 37)


def test_totals_count_programs_and_the_plans_flows_are_as_before(iperf: Run) -> None:
    assert iperf.flows["flow"].to_list() == list(range(iperf.flows.height))
    assert iperf.flows["class"].to_list()[:2] == ["", ""]
    assert iperf.flows.row(0, named=True)["src_port"] == 40_001
    assert iperf.goodput == pytest.approx(iperf.flows["bytes_delivered"].sum() * 8 / 0.05)
    assert iperf.counted("retransmits") == iperf.flows["retransmits"].sum()
    # Nobody counts programs' timeouts; those of the plan's flows are still told.
    assert flows(iperf)["rtos"].null_count() == flows(iperf).height
    assert iperf.counted("rtos") == iperf.flows["rtos"][:2].sum()
    # Each byte between racks is one flow's.
    carried = iperf.flows.select(pl.col("packet_bytes").sum(), pl.col("circuit_bytes").sum()).row(0)
    pairs = iperf.pairs.select(
        pl.col("packet_payload_bytes").sum(), pl.col("circuit_payload_bytes").sum()
    ).row(0)
    assert carried == pairs


def test_many_short_connections_are_as_many_rows() -> None:
    result = run(
        ("r1h0", [sys.executable, "-c", SERVER], "0ms"),
        ("r0h0", [sys.executable, "-c", CLIENT], "100ms"),
        duration="3s",
    )
    assert result.programs["status"].to_list() == [0, 0], result.failed_programs
    table = flows(result)
    there = table.filter(pl.col("src_rack") == 0).sort("start_ns")
    back = table.filter(pl.col("src_rack") == 1)
    assert there["bytes"].to_list() == [100 * number for number in range(SHORT)]
    assert there["bytes_delivered"].to_list() == there["bytes"].to_list()
    assert back["bytes_delivered"].to_list() == [7] * SHORT
    for side in (there, back):
        assert (side["end_ns"] >= side["start_ns"]).all()
        assert (side["stop_ns"] == -1).all()
    # They come one after the other.
    assert (there["start_ns"][1:] > there["end_ns"][:-1]).all()


def test_what_the_warm_up_saw_is_not_counted_and_a_refusal_is_a_reset() -> None:
    need_program("sockperf")
    programs = (
        ("r1h0", "sockperf server --tcp -i 10.0.1.1 -p 7000", "0ms"),
        ("r0h0", "sockperf ping-pong --tcp -i 10.0.1.1 -p 7000 -m 200 -t 2", "10ms"),
        ("r0h1", [sys.executable, "-c", REFUSED], "50ms"),
    )
    # The connection begins before the warm-up ends, but some time after sockperf starts: its polls wait (`linux.polling`).
    whole, part = (run(*programs, warmup=warmup) for warmup in ("0ms", "160ms"))
    all_, there = (
        flows(one).row(by_predicate=pl.col("dst_port") == 7000, named=True) for one in (whole, part)
    )
    back = flows(part).row(by_predicate=pl.col("src_port") == 7000, named=True)
    # Messages of 200 bytes and as long answers.
    assert 0 < there["bytes_delivered"] < all_["bytes_delivered"]
    assert abs(there["bytes_delivered"] - back["bytes_delivered"]) <= 200
    assert there["start_ns"] == all_["start_ns"] < 100_000_000
    refused = flows(whole).row(by_predicate=pl.col("dst_port") == 1, named=True)
    assert (refused["bytes"], refused["end_ns"], refused["bytes_delivered"]) == (-1, -1, 0)
    assert refused["stop_ns"] > refused["start_ns"] > 50_000_000
