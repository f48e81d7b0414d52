# SPDX-License-Identifier: MIT OR Apache-2.0
"""TDTCP and MPTCP as plans' flows on Linux: TCP, TDTCP and MPTCP side by side, notified by the switch's own messages."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import etalon as et
from conftest import SIGCOMM22, need_kernel, need_program
from etalon import tracing as trace
from etalon.plan import Plan
from etalon.results import Run
from test_tdtcp_dissector import tshark_file

PLAN = f"""
name = "transports"
duration = "42ms"
warmup = "14ms"
{SIGCOMM22}
hosts = 8
notify = {{ before = "5us" }}
"""
BULK = """
[[bulk]]
from = 0
to = 1
transport = TRANSPORT
"""
# Of three flows between two hosts each has another transport.
MIXED = """
[[flow]]
from = "r0h0"
to = "r1h0"
size = "3MB"
transport = "tdtcp"
class = "tdtcp"
[[flow]]
from = "r0h0"
to = "r1h0"
size = "3MB"
transport = "mptcp"
class = "mptcp"
[[flow]]
from = "r0h0"
to = "r1h0"
size = "3MB"
class = "tcp"
"""


# What may go wrong together: late, lost and reordered notifications, tiny queues, all switches; WARNs of the kernel are fatal.
STORM = """
name = "storm"
seed = SEED
duration = "1s"
warmup = "0ms"
end_when_done = true
tdf = 20
[network]
racks = 2
hosts = 4
packet = { rate = "10Gbps", delay = "19.675us" }
circuit = { rate = "100Gbps", delay = "16.24us" }
voq = VOQ
notify = { before = "5us", delay = "3us", jitter = "400us", lost = 0.2, each = "2us" }
[schedule]
kind = "fixed"
day = "180us"
night = "20us"
configurations = [{ circuits = [] }, { circuits = [[0, 1], [1, 0]] }, { circuits = [] }]
[[program]]
host = "r0h0"
command = "/bin/sh -c 'echo 1 > /proc/sys/kernel/panic_on_warn'"
"""
STORMED = """
[[flow]]
from = "r0hHOST"
to = "r1hHOST"
size = "1MB"
start = "0.5ms"
transport = TRANSPORT
"""
SWITCHES = (
    '"tcp"',
    '"tdtcp"',
    '{ kind = "tdtcp", update = "push", relaxed = false }',
    '{ kind = "tdtcp", options = false, pipe = "shared", rtt = "all" }',
    '{ kind = "tdtcp", pace_burst = true, downgrade_at = "3ms" }',
    '"mptcp"',
    '{ kind = "mptcp", acks = "pinned", reinject = true }',
    '{ kind = "mptcp", scheduler = "mainline" }',
)


@pytest.fixture(autouse=True)
def _built() -> None:
    need_kernel()


def run(transport: str, change: dict[str, Any] | None = None) -> Run:
    plan = Plan.from_toml(PLAN + BULK.replace("TRANSPORT", transport))
    return et.run(plan.replace(change or {}), engine="linux")


def test_what_knows_of_its_networks_carries_more() -> None:
    tcp, tdtcp = run('"tcp"'), run('"tdtcp"')
    assert tdtcp.goodput > 1.15 * tcp.goodput
    mptcp = run('"mptcp"')
    pinned = run('{ kind = "mptcp", acks = "pinned" }')
    again = run('{ kind = "mptcp", reinject = true }')
    assert again.goodput < 0.9 * mptcp.goodput, "what is sent twice counts once"
    assert 1.03 * tcp.goodput < mptcp.goodput < tdtcp.goodput
    assert pinned.goodput < 0.95 * mptcp.goodput, (
        "ACKs that wait for their network hold up the flow"
    )


def test_each_flow_has_its_own_transport_on_one_host(tmp_path: Path) -> None:
    plan = Plan.from_toml(PLAN + MIXED).replace({"warmup": "0ms"})
    flows = et.run(plan, engine="linux").flows
    assert flows["bytes_delivered"].to_list() == [3_000_000] * 3
    assert flows["end_ns"].min() > 0, "all have ended"

    need_program("tshark")
    (path,) = trace.write(plan, tmp_path, end_ns=3_000_000, timeline=False, engine="linux")
    names = ("tcp.srcport", "tcp.option_kind", "tcp.flags.syn", "tdtcp.data_tdn", "tdtcp.num_tdns")
    fields = [argument for name in names for argument in ("-e", name)]
    to_server = "frame.interface_name == tor0-in && tcp.dstport == 5001"
    lines = [
        line.split("\t") for line in tshark_file(path, "-Y", to_server, "-T", "fields", *fields)
    ]
    has_mptcp = {port: "30" in found.split(",") for port, found, *_ in lines}
    assert has_mptcp == {"40001": False, "40002": True, "20002": True, "40003": False}
    tdns = {port: {line[3] for line in lines if line[0] == port} - {""} for port in has_mptcp}
    assert tdns == {"40001": {"0", "1"}, "40002": set(), "20002": set(), "40003": set()}
    assert {(line[0], line[4]) for line in lines if line[2] == "1" and line[4]} == {("40001", "2")}


def test_the_tor_tells_its_hosts_by_real_packets(tmp_path: Path) -> None:
    need_program("tshark")
    plan = Plan.from_toml(PLAN + BULK.replace("TRANSPORT", '"tdtcp"')).replace({"warmup": "0ms"})
    (path,) = trace.write(plan, tmp_path, end_ns=2_800_000, timeline=False, engine="linux")
    names = (
        "frame.time_relative",
        "ip.src",
        "ip.dst",
        "icmp.checksum.status",
        "ip.checksum.status",
    )
    shown = ("tdtcp.active_tdn", "tdtcp.rack", "frame.interface_name", "_ws.expert")
    fields = [argument for name in (*names, *shown) for argument in ("-e", name)]
    preferences = ("-o", "ip.check_checksum:TRUE")
    lines = tshark_file(path, *preferences, "-Y", "icmp", "-T", "fields", *fields)
    told = [line.split("\t") for line in lines]
    assert {(src, dst) for _, src, dst, *_ in told} == {
        (f"169.254.0.{rack}", f"10.0.{rack}.{host}") for rack in (0, 1) for host in range(1, 9)
    }
    assert {(*checks, expert) for _, _, _, *checks, _, _, _, expert in told} == {("1", "1", "")}
    first = [(line[0], *line[5:8]) for line in told if line[2] == "10.0.0.1"]
    # Each change is told 5 us before: the circuit's day begins after 1200 us, and lasts 180.
    assert [(tdn, rack, out) for _, tdn, rack, out in first] == [
        (tdn, "1", "tor0-out") for tdn in ("1", "0", "1", "0")
    ]


def test_without_notifications_it_is_plain_tcp_on_the_packet_network() -> None:
    lost = {"network.notify.lost": 1.0}
    deaf = run('{ kind = "tdtcp", options = false }', lost)
    assert deaf.meta["digest"] == run('"tcp"', lost).meta["digest"]
    assert run('"tdtcp"', lost).goodput > 0.95 * deaf.goodput, (
        "eight bytes of each segment are options"
    )
    assert run('"mptcp"', lost).goodput > 0.8 * deaf.goodput, "all goes by the first subflow"


def test_a_connection_becomes_plain_tcp_when_the_plan_says_so() -> None:
    late = run('{ kind = "tdtcp", downgrade_at = "14ms" }')
    tcp, tdtcp = run('"tcp"'), run('"tdtcp"')
    assert abs(late.goodput / tcp.goodput - 1) < 0.05
    assert tdtcp.goodput > 1.1 * late.goodput


def test_each_network_may_have_its_own_congestion_control() -> None:
    marking = {"network.marking.threshold": 10}
    both = run('"tdtcp"\ncc = ["cubic", "dctcp"]', marking)
    assert both.goodput > 15e9
    assert both.pairs["marked"].sum() > 0, "the handshake has agreed on ECN"
    assert both.flows["recoveries"].sum() > 0, "both are metered"


@pytest.mark.parametrize(("seed", "voq"), [(1, 2), (2, 4), (5, 2), (6, 16)])
def test_whatever_goes_wrong_all_bytes_arrive(seed: int, voq: int) -> None:
    text = STORM.replace("SEED", str(seed)).replace("VOQ", str(voq))
    for host, transport in enumerate(SWITCHES):
        text += STORMED.replace("HOST", str(host % 4)).replace("TRANSPORT", transport)
    stormed = et.run(Plan.from_toml(text), engine="linux")
    assert stormed.programs["status"].to_list() == [0]
    assert stormed.flows["bytes_delivered"].to_list() == [1_000_000] * len(SWITCHES)
    # The first timeout on a network whose RTT is not known is after 50 ms, 1 s of the hosts' clocks.
    assert stormed.flows["end_ns"].max() < 150_000_000  # type: ignore[operator]


def networks(circuits: int, transport: Any) -> Plan:
    """A day of the packet network and one of each of so many kinds of circuits."""
    both: Any = [[0, 1], [1, 0]]
    week: list[Any] = [{"circuits": []}]
    for n in range(circuits):
        week.append({"circuits": both, "rate": f"{20 * (n + 1)}Gbps", "delay": f"{5 + n}us"})
    plan = Plan.from_toml(PLAN + BULK.replace("TRANSPORT", '"tcp"'))
    changes = {"schedule.configurations": week, "network.hosts": 2}
    return plan.replace({**changes, "bulk.transport": transport})


def test_finite_flows_end_that_fall_back_to_plain_tcp() -> None:
    """Each host sends to eight others at once through VOQs of 16 packets: some connections lose their whole first flight."""
    need_kernel()
    net = et.network(racks=3, hosts=4)
    flows = et.workload("shuffle", size="77kB", transport="mptcp")
    plan = et.experiment(
        net, et.strobe(net, mimic=25), flows, duration="2s", warmup="0ms", tdf=1, end_when_done=True
    )
    run = et.run(plan, engine="linux")
    assert run.fct()["fct_us"].null_count() == 0
    assert set(run.flows["bytes_delivered"]) == {77_000}


def test_four_networks_take_turns(tmp_path: Path) -> None:
    need_program("tshark")
    plan = networks(3, "tdtcp").replace({"warmup": "0ms"})
    (path,) = trace.write(plan, tmp_path, end_ns=3_000_000, timeline=False, engine="linux")
    said = tshark_file(path, "-Y", "tdtcp.data_tdn", "-T", "fields", "-e", "tdtcp.data_tdn")
    assert set(said) == {"0", "1", "2", "3"}
    mptcp = et.run(networks(3, {"kind": "mptcp", "subflows": 4}), engine="linux")
    assert mptcp.goodput > 10e9


def test_a_fifth_network_is_refused() -> None:
    for transport, sentence in (
        ("tdtcp", "on Linux, TDTCP follows at most 4 TDNs; the plan's network has 5"),
        ({"kind": "mptcp", "subflows": 5}, "on Linux MPTCP has at most 4 subflows, not 5"),
    ):
        with pytest.raises(et.PlanError, match=sentence):
            et.run(networks(4, transport), engine="linux")


@pytest.mark.parametrize("engine", ["sim", "linux"])
@pytest.mark.parametrize("transport", ["tdtcp", "mptcp"])
def test_each_path_has_its_own_state_in_tables(engine: str, transport: str) -> None:
    plan = Plan.from_toml(PLAN + BULK.replace("TRANSPORT", f'"{transport}"'))
    found = et.run(plan.replace({"measure.flows": [0, 3]}), engine=engine)
    assert set(found.tcp["path"]) == {0, 1}
    columns = {
        f"{path}_{of}" for path in ("circuit", "packet") for of in ("pipe_packets", "cwnd_packets")
    }
    assert columns <= set(found.sequence.columns)
    # Of all weeks and both flows: in one week of one flow a loss decides which window is larger.
    means = found.tcp.group_by("path").agg(pl.col("cwnd", "srtt_ns").mean()).sort("path")
    (packet, circuit), srtt = means["cwnd"], means["srtt_ns"]
    assert circuit > packet > 1
    assert srtt[1] < 0.7 * srtt[0]
    alone = et.run(plan, engine=engine)
    assert alone.meta["digest"] == found.meta["digest"]
    assert "circuit_cwnd_packets" not in alone.sequence.columns


@pytest.mark.parametrize("update", ["pull", "push"])
def test_the_first_data_are_on_the_network_that_is_there(update: str) -> None:
    """The handshake ends in a day of the circuit: so its window of ten segments goes first, and not TDN 0's before it."""
    need_kernel()
    text = f"""
    name = "opens"
    duration = "9ms"
    warmup = "0ms"
    end_when_done = true
    {SIGCOMM22}
    hosts = 1
    notify = {{}}
    [measure]
    flows = [0]
    [[flow]]
    from = "r0h0"
    to = "r1h0"
    start = "1150us"
    size = "178kB"
    transport = {{ kind = "tdtcp", update = "{update}" }}
    """
    plan = Plan.from_toml(text)
    sim, linux = (et.run(plan, engine=engine) for engine in ("sim", "linux"))
    ends = [int(run.flows["end_ns"][0]) for run in (sim, linux)]
    assert abs(ends[0] - ends[1]) < 3_000, ends
    # Two windows of ten on the circuit take a round trip more than the handshake and one.
    assert ends[0] - 1_150_000 > 180_000
    assert sim.flows["packet_bytes"][0] == linux.flows["packet_bytes"][0] == 0


COMES_BACK = """
name = "comes-back"
duration = "172ms"
warmup = "0ms"
tdf = 20
[network]
racks = 8
packet = { rate = "2.4Gbps", delay = "36us" }
circuit = { rate = "300Gbps", delay = "4us" }
voq = 6
ece = { before = "87us" }
[schedule]
kind = "strobe"
day = "175us"
night = "19us"
[measure]
flows = [0]
[[bulk]]
from = 0
to = 1
flows = 1
cc = "retcp"
transport = "tdtcp"
"""


@pytest.mark.parametrize("engine", ["sim", "linux"])
def test_a_network_that_comes_back_in_recovery_has_a_window_of_its_threshold(engine: str) -> None:
    """Its losses were found while it was away, without ACKs to pace the reduction (DEVIATIONS, 'recovery of a TDN ...')."""
    if engine == "linux":
        need_kernel()
    samples = et.run(Plan.from_toml(COMES_BACK), engine=engine).tcp
    rows = samples.select("path", "state", "cwnd", "ssthresh").rows()
    back = [
        (cwnd, ssthresh)
        for (before, *_), (path, state, cwnd, ssthresh) in itertools.pairwise(rows)
        if path == 0 != before and state == "recovery"
    ]
    equal = sum(cwnd == ssthresh for cwnd, ssthresh in back)
    print(f"{equal} of {len(back)}")
    assert len(back) > 40 and equal > 0.8 * len(back)


OPERA = """
duration = "10ms"
warmup = "2ms"
tdf = 20
[network]
kind = "ocs"
racks = 8
hosts = 1
circuits = { switches = 4 }
notify = { longest = 3, delay = "1us" }
[schedule]
kind = "opera"
[routing]
kind = "expander"
paths = 4
[[permutation]]
size = "10GB"
transport = TRANSPORT
"""


def test_circuits_tell_hosts_on_linux_what_they_tell_them_in_the_simulator(tmp_path: Path) -> None:
    need_program("tshark")
    plan = Plan.from_toml(OPERA.replace("TRANSPORT", '"tdtcp"'))
    heard = []
    for engine in ("sim", "linux"):
        folder = tmp_path / engine
        (path,) = trace.write(plan, folder, end_ns=1_000_000, timeline=False, engine=engine)
        names = ("frame.time_epoch", "ip.dst", "tdtcp.active_tdn", "tdtcp.rack")
        fields = [argument for name in names for argument in ("-e", name)]
        lines = tshark_file(path, "-Y", "icmp.type == 7", "-T", "fields", *fields)
        heard.append(sorted(set(lines)))
    assert heard[0] == heard[1]
    assert len(heard[0]) > 8 * 7
    assert {line.split("\t")[2] for line in heard[0]} == {"1", "2", "3"}


@pytest.mark.parametrize(
    "transport", ['"tdtcp"', '"mptcp"', '{ kind = "mptcp", scheduler = "mainline", subflows = 4 }']
)
def test_transports_run_over_circuits(transport: str) -> None:
    plan = Plan.from_toml(OPERA.replace("TRANSPORT", transport))
    linux, sim = (et.run(plan, engine=engine) for engine in ("linux", "sim"))
    assert linux.goodput and sim.goodput
    assert 0.7 < linux.goodput / sim.goodput < 1.4
