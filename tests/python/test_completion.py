# SPDX-License-Identifier: MIT OR Apache-2.0
"""Completion times, slowdown and results by class, checked by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import etalon as et
from etalon.plan import Plan

NETWORK = """
duration = "200ms"
warmup = "0ms"
end_when_done = true
tdf = 1
[network]
racks = 2
hosts = 4
host = { rate = "40Gbps", delay = "2us", jitter = "0us" }
[schedule]
kind = "none"
"""
FLOW = """
[[flow]]
from = "r0h{host}"
to = "r1h{host}"
size = "{size}B"
class = "{name}"
cc = "reno"
"""


def test_a_small_flow_alone_takes_its_ideal_time() -> None:
    run = et.run(Plan.from_toml(NETWORK + FLOW.format(host=0, size=8948, name="one")))
    row = run.fct().row(0, named=True)
    # SYN, SYN-ACK and data take 12 us each (2 us in the host, two links of 5 us), and 9014 bytes 7.2 us at 10 Gb/s.
    assert row["ideal_us"] == pytest.approx(36 + 9014 * 8 / 10_000)
    # What the ideal leaves out: short packets, and that a packet is sent again by each of three links.
    assert row["fct_us"] - row["ideal_us"] == pytest.approx(7.2 + 1.8 + 4 * 0.06, abs=0.5)
    assert row["slowdown"] == row["fct_us"] / row["ideal_us"]


def test_the_run_ends_with_its_last_flow() -> None:
    run = et.run(Plan.from_toml(NETWORK + FLOW.format(host=0, size=8948, name="one")))
    assert run.meta["simulated_ns"] == run.flows["end_ns"][0]
    assert not run.partial
    whole = et.run(run.plan.replace({"end_when_done": False}))
    assert whole.meta["simulated_ns"] == 200_000_000
    assert whole.flows["end_ns"].to_list() == run.flows["end_ns"].to_list()


def test_bulk_flows_never_end_a_run() -> None:
    text = (
        NETWORK + "[[bulk]]\nfrom = 0\nto = 1\nflows = 1\n" + FLOW.format(host=1, size=9, name="")
    )
    assert et.run(Plan.from_toml(text)).meta["simulated_ns"] == 200_000_000


def test_what_was_delivered_in_the_warm_up_is_not_unfinished() -> None:
    """The same flow measured from its start and from its middle: what is left over at the end is one number."""
    text = NETWORK.replace("200ms", "2ms") + FLOW.format(host=3, size=10_000_000, name="big")
    whole, half = (et.run(Plan.from_toml(text).replace(warmup=w)) for w in ("0ms", "1ms"))
    assert whole.flows["bytes_warmup"][0] == 0
    (before,) = half.flows["bytes_warmup"]
    assert before > 100_000
    assert before + half.flows["bytes_delivered"][0] == whole.flows["bytes_delivered"][0]
    assert half.bytes_unfinished == whole.bytes_unfinished > 5_000_000


def test_results_are_given_by_class(tmp_path: Path) -> None:
    text = NETWORK.replace("200ms", "2ms")
    text += "".join(FLOW.format(host=host, size=10_000, name="small") for host in range(3))
    text += FLOW.format(host=3, size=10_000_000, name="big")
    run = et.run(Plan.from_toml(text))
    big, small = run.by_class().iter_rows(named=True)
    assert (big["class"], big["flows"], big["finished"]) == ("big", 1, 0)
    assert (small["class"], small["flows"], small["finished"]) == ("small", 3, 3)
    assert big["fct_us_p50"] is None
    assert big["lasted_us_p50"] == 2000
    assert big["bytes_unfinished"] == 10_000_000 - big["bytes_delivered"] > 5_000_000
    assert run.bytes_unfinished == big["bytes_unfinished"]
    assert small["bytes_unfinished"] == 0
    times = sorted(run.fct().filter(run.fct()["class"] == "small")["fct_us"].to_list())
    assert small["fct_us_p50"] == times[1] == run.fct_percentile(50, "small")
    assert small["fct_us_p99.9"] == times[2]
    assert run.fct_percentile(50, "big") is None
    assert run.fct_percentile(50, "big", unfinished=True) == 2000
    assert small["packet_bytes"] == 30_000
    again = et.Run.load(run.save(tmp_path / "run"))
    assert again.by_class().equals(run.by_class())


def test_a_killed_flow_lasts_until_it_was_killed() -> None:
    text = NETWORK + '[[rings]]\nperiod = "1us"\nlimit = "1ms"\nbig = ["90MB", "90MB"]\n'
    run = et.run(Plan.from_toml(text))
    assert run.fct()["fct_us"].null_count() == 2
    assert run.fct()["lasted_us"].to_list() == [1000, 1000]
    assert run.meta["simulated_ns"] == 1_000_000


def test_files_are_written_to_hdfs(tmp_path: Path) -> None:
    text = NETWORK.replace("racks = 2", "racks = 3").replace("200ms", "2s")
    text += '[[dfsio]]\nwriters = 3\nsize = "1MB"\nblock = "600kB"\npacket = "64KiB"\n'
    text += 'placement = "rehdfs"\n'
    run = et.run(Plan.from_toml(text))
    assert run.writes["bytes_written"].to_list() == [1_000_000] * 3
    # Two blocks a file over two connections each; the second of each stays in its rack.
    assert len(run.flows) == 12
    hops = set(zip(run.flows["src_rack"], run.flows["dst_rack"], strict=True))
    assert hops == {(0, 1), (1, 2), (2, 0), (0, 0), (1, 1), (2, 2)}
    crossing = run.flows.filter(run.flows["src_rack"] != run.flows["dst_rack"])
    assert crossing["bytes_delivered"].sum() == 3 * (1_000_000 + 2 * 512)
    ends = run.writes["end_ns"].to_list()
    assert run.job_time == max(ends) / 1e6
    assert run.write_throughput == pytest.approx(3_000_000 * 8e9 / max(ends))
    # 8 Mbit take 0.8 ms at 10 Gb/s at the least, two handshakes and answers a block come on top.
    assert 0.8 < run.write_time(50) < 3
    again = et.Run.load(run.save(tmp_path / "run"))
    assert again.writes.equals(run.writes)
