# SPDX-License-Identifier: MIT OR Apache-2.0
"""Jobs that MPTCP carries: a connection for each direction between two ranks, whose subflows no table shows."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import etalon as et
from conftest import need_program
from etalon import tracing

MPTCP = {"transport": "mptcp"}


def hybrid(*jobs: Any, **settings: Any) -> et.Plan:
    """Four racks of a host each; the circuits of a ring are up, and packets go everywhere."""
    net = et.network(
        racks=4,
        hosts=1,
        packet=("10Gbps", "1us"),
        circuit=("100Gbps", "500ns"),
        host={"rate": "100Gbps"},
        voq=256,
    )
    more = {"duration": "1s", "warmup": "0s", "tdf": 1, "end_when_done": True, **settings}
    return et.experiment(net, et.asked(initial="ring"), *jobs, **more)


def ring(**more: Any) -> et.Job:
    deeds = et.all_reduce("1MB", algorithm="ring"), et.all_to_all("400kB")
    return et.job(*deeds, iterations=3, circuits="none", **more)


def sent(run: et.Run, job: int) -> dict[tuple[int, int], int]:
    steps = run.steps.filter((pl.col("job") == job) & (pl.col("peer") >= 0))
    sums = steps.group_by("rank", "peer").agg(pl.col("bytes").sum())
    return {(rank, peer): bytes for rank, peer, bytes in sums.rows()}


def test_each_direction_has_a_connection_and_each_byte_arrives_once() -> None:
    """Beside a job over TCP, whose connections are numbered after its subflows."""
    other = et.job(et.all_reduce("1MB", algorithm="swing"), iterations=2, start="1ms")
    run = et.run(hybrid(ring(**MPTCP), other))
    assert (run.iterations["end_ns"] > 0).all()
    flows = run.flows.select("src_rack", "dst_rack", "bytes_delivered").rows()
    assert run.flows["flow"].to_list() == list(range(len(flows)))
    mptcp, tcp = flows[:12], flows[12:]
    assert {(src, dst): bytes for src, dst, bytes in mptcp} == sent(run, 0)
    both_ways = sent(run, 1)
    assert {(src, dst): bytes for src, dst, bytes in tcp} == {
        (src, dst): both_ways[src, dst] for src, dst, _ in tcp
    }
    assert len(tcp) == len(both_ways) / 2
    assert et.run(hybrid(ring(**MPTCP), other)).meta["digest"] == run.meta["digest"]


def test_data_goes_by_the_subflow_of_the_network(tmp_path: Path) -> None:
    """Once both are open, the first has the packet network's, the second that of circuits. A capture shows each on its
    port, and tshark finds nothing malformed in MPTCP's options."""
    need_program("tshark")
    work = et.send("2MB", 0, 1), et.send("200kB", 0, 2)
    plan = hybrid(
        et.job(*work, iterations=2, circuits="none", connect="0us", start="100us", **MPTCP)
    )
    (path,) = tracing.write(plan, tmp_path, end_ns=2_000_000, timeline=False)

    def tshark(*arguments: str) -> list[list[str]]:
        command = ["tshark", "-r", str(path), *arguments]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return [line.split("\t") for line in told.splitlines()]

    assert tshark("-Y", "_ws.malformed || _ws.expert.severity == error") == []
    fields = [word for name in ("ip.dst", "tcp.srcport", "tcp.len") for word in ("-e", name)]
    lines = tshark(
        "-Y", 'tcp.len > 0 && frame.interface_name matches "-out$"', "-T", "fields", *fields
    )
    payload: dict[tuple[str, int], int] = {}
    for host, port, length in lines:
        subflow = 0 if int(port) > 40_000 else 1
        payload[host, subflow] = payload.get((host, subflow), 0) + int(length)
    assert payload["10.0.1.1", 1] > 0.9 * 4_000_000
    assert payload["10.0.1.1", 0] + payload["10.0.1.1", 1] == 4_000_000
    assert payload["10.0.2.1", 0] == 400_000
    assert ("10.0.2.1", 1) not in payload


@pytest.mark.parametrize(
    "keys",
    [
        {"scheduler": "mainline"},
        {"scheduler": "mainline", "subflows": 4},
        {"reinject": True},
    ],
)
def test_jobs_end_whatever_gives_subflows_their_data(keys: dict[str, Any]) -> None:
    job = et.job(
        et.compute("100us"),
        et.all_reduce("1MB", algorithm="swing"),
        iterations=4,
        circuits="each",
        connect="0us",
        start="50us",
        transport={"kind": "mptcp", **keys},
    )
    run = et.run(hybrid(job))
    assert (run.iterations["end_ns"] > 0).all()
    assert (run.steps["sent_ns"] <= run.steps["received_ns"]).all()


def test_a_trace_in_goal_over_mptcp(tmp_path: Path) -> None:
    goal = tmp_path / "two.goal"
    goal.write_text(
        "num_ranks 2\n"
        "rank 0 {\na: send 100000b to 1 tag 1\nb: recv 50000b from 1 tag 2\nb requires a\n}\n"
        "rank 1 {\na: recv 100000b from 0 tag 1\nb: send 50000b to 0 tag 2\nb requires a\n}\n"
    )
    job = et.job(file=str(goal), ranks=["r0h0", "r1h0"], iterations=2, **MPTCP)
    run = et.run(hybrid(job))
    assert run.flows["bytes_delivered"].to_list() == [200_000, 100_000]
    assert (run.iterations["end_ns"] > 0).all()


def test_where_demand_is_announced_mptcp_carries_no_jobs() -> None:
    week = {"kind": "solstice", "estimator": "adu"}
    plan = hybrid(ring(**MPTCP)).replace({"schedule": week})
    with pytest.raises(et.PlanError, match="ranks announce no demand of what MPTCP carries"):
        et.run(plan)
