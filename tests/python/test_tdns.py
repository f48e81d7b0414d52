# SPDX-License-Identifier: MIT OR Apache-2.0
"""Networks of circuits tell hosts of TDNs: what they hear and when, against a schedule file, and the transports that listen."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import etalon as et
from etalon import engine

RACKS, SWITCHES, SLICE_US, NIGHT_US = 8, 4, 100, 10
OPERA = {"kind": "opera", "slice": "100us", "night": "10us"}
ROTOR = {"kind": "rotor", "slice": "100us", "night": "10us"}
EXPANDER = {"kind": "expander", "paths": 2}
MARKS = {"packets": 100, "ecn_threshold": 20}
LENGTH = {"tdns": "length", "longest": 3}


def plan(
    transport: Any = "tdtcp",
    notify: Any = None,
    schedule: Any = OPERA,
    routing: Any = EXPANDER,
    **keys: Any,
) -> et.Plan:
    network = {"kind": "ocs", "racks": RACKS, "hosts": 1, "circuits": {"switches": SWITCHES}}
    network |= keys.pop("network", {}) | ({} if notify is None else {"notify": notify})
    workload = {"transport": transport, "size": "10GB", **keys.pop("workload", {})}
    return et.Plan.from_dict(
        {
            "duration": "5ms",
            "tdf": 20,
            "network": network,
            "schedule": schedule,
            "routing": routing,
            "permutation": [workload],
            **keys,
        }
    )


def told(made: et.Plan, folder: Path, end: str) -> list[tuple[int, int, int, int]]:
    """Time in ns, rack of the host, rack that it is about, and TDN: ICMP messages of type 7 in a capture (pcapng, IPv4)."""
    (capture,) = et.trace(made, folder, end=end, timeline=False)
    data, place, found = capture.read_bytes(), 0, []
    while place < len(data):
        kind, length = struct.unpack_from("<II", data, place)
        if kind == 6:  # an enhanced packet block
            high, low = struct.unpack_from("<II", data, place + 12)
            packet = data[place + 28 : place + length]
            packet = packet[packet.index(b"\x45") :] if packet[0] != 0x45 else packet
            if packet[9] == 1 and packet[20] == 7:
                about = struct.unpack_from(">H", packet, 26)[0]
                found.append(((high << 32) + low, packet[18], about, packet[24]))
        place += length
    return found


def distances(peers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Circuits from rack to rack in a slice, by powers of its matrix; `peers` is by rack and switch that may be used."""
    racks = len(peers)
    one = np.zeros((racks, racks), dtype=bool)
    for switch in range(peers.shape[1]):
        one[np.arange(racks), peers[:, switch]] = peers[:, switch] >= 0
    far, reached, hops = np.full((racks, racks), 99), np.eye(racks, dtype=bool), 0
    while (far == 99).any() and hops < racks:
        far[reached & (far == 99)] = hops
        reached, hops = reached @ one | reached, hops + 1
    return far


def slices(made: et.Plan, folder: Path) -> NDArray[np.int64]:
    """By slice, rack and switch, as a schedule file has it."""
    assert made.slices is not None
    rows = np.loadtxt(made.slices.save(folder / "slices.txt"), skiprows=1, dtype=np.int64)
    return rows.reshape(len(rows), RACKS, SWITCHES)


@pytest.mark.parametrize("before_us", [0, 25])
def test_hosts_hear_how_far_other_racks_are(tmp_path: Path, before_us: int) -> None:
    """In each slice Opera uses the switches that do not change at its end."""
    made = plan(notify={**LENGTH, "before": f"{before_us}us", "delay": "3us"})
    peers = slices(made, tmp_path)
    known = np.zeros((RACKS, RACKS), dtype=int)
    heard: dict[int, list[tuple[int, int, int]]] = {}
    for time, *what in told(made, tmp_path, "3ms"):
        heard.setdefault(time, []).append((what[0], what[1], what[2]))
    count = len(peers)
    for slice in range(28):
        here, after = peers[slice % count], peers[(slice + 1) % count]
        stays = (here == after).all(axis=0)
        assert stays.sum() == SWITCHES - 1
        expected = distances(here[:, stays])
        instant = max(0, SLICE_US * slice - before_us) * 1000 + 3000
        for host, about, tdn in heard.pop(instant, []):
            assert known[host, about] != tdn, "nobody hears what is known"
            known[host, about] = tdn
        assert (known == np.minimum(expected, 3)).all(), slice
    assert all(time > 27 * SLICE_US * 1000 for time in heard), "at no other instant"
    assert set(np.unique(known)) == {0, 1, 2} or set(np.unique(known)) == {0, 1, 2, 3}


def test_hosts_hear_of_direct_circuits(tmp_path: Path) -> None:
    """Racks that meet are one circuit apart; others wait, which is TDN 0."""
    made = plan(notify=LENGTH, schedule=ROTOR, routing={"kind": "direct"})
    peers = slices(made, tmp_path)
    heard = told(made, tmp_path, "1ms")
    for slice in range(9):
        now = {(host, about): tdn for time, host, about, tdn in heard if time <= slice * 100_000}
        met = {
            (rack, int(peer)) for rack, row in enumerate(peers[slice % len(peers)]) for peer in row
        }
        for pair in ((src, dst) for src in range(RACKS) for dst in range(RACKS) if src != dst):
            assert now.get(pair, 0) == (pair in met), (slice, pair)


def test_hosts_hear_of_slices(tmp_path: Path) -> None:
    made = plan(notify={"tdns": "slice", "delay": "1us"})
    count = len(slices(made, tmp_path))
    heard = [
        (time, tdn)
        for time, host, about, tdn in told(made, tmp_path, "2ms")
        if (host, about) == (2, 5)
    ]
    assert heard == [(1000 + 100_000 * slice, slice % count) for slice in range(1, 20)]


def test_one_tdn_without_options_is_tcp() -> None:
    """Nobody hears of anything, and no header is longer."""
    tcp = et.run(plan("tcp"))
    one = et.run(plan({"kind": "tdtcp", "options": False}, notify={"tdns": "one"}))
    assert tcp.meta["digest"] == one.meta["digest"]
    assert tcp.flows.equals(one.flows)
    longer = et.run(plan("tdtcp", notify={"tdns": "one"}))
    assert longer.goodput and tcp.goodput and abs(longer.goodput / tcp.goodput - 1) < 0.25
    assert longer.meta["digest"] != tcp.meta["digest"]


@pytest.mark.parametrize("tdns", ["length", "slice"])
def test_runs_are_the_same_again(tdns: str) -> None:
    """Whatever is lost and late, and with a packet network beside circuits."""
    notify = {"tdns": tdns, "delay": "5us", "jitter": "30us", "lost": 0.1, "each": "1us"}
    push = {"kind": "tdtcp", "update": "push"}
    beside = {"packet": {"rate": "1Gbps"}, "queue": MARKS}
    made = plan(push, notify, network=beside, workload={"cc": "dctcp"})
    first, again = et.run(made), et.run(made)
    assert first.meta["digest"] == again.meta["digest"]
    assert first.goodput and first.goodput > 4e9
    assert et.run(made.replace({"seed": 2})).meta["digest"] != first.meta["digest"]
    in_time = et.run(made.replace({"network.notify": {"tdns": tdns}}))
    assert in_time.meta["digest"] != first.meta["digest"]


def test_a_transport_that_listens_is_told_by_length() -> None:
    def resolved(made: et.Plan) -> tuple[Any, Any]:
        ocs = made.resolve()["network"]["ocs"]
        return ocs.get("notify"), ocs.get("tdns")

    silent = {"before_ns": 0, "delay_ns": 0, "jitter_ns": 0, "lost_ppm": 0, "each_ns": 0}
    assert resolved(plan()) == (silent, {"length": 7})
    assert resolved(plan("tcp")) == (None, None)
    assert resolved(plan("tcp", LENGTH)) == (None, None), "nobody listens"
    mainline = {"kind": "mptcp", "scheduler": "mainline", "subflows": 4}
    assert resolved(plan(mainline)) == (None, None), "its subflows need no TDN"
    assert resolved(plan("mptcp", {"tdns": "slice"}))[1] == "slice"
    assert et.Plan.from_toml(plan(notify=LENGTH).to_toml()) == plan(notify=LENGTH)


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        (
            {"notify": {"before": "101us"}},
            r'network\.notify\.before: "101us" must not be longer than a slice of the schedule, which is 100us',
        ),
        (
            {
                "notify": {"tdns": "slice"},
                "network": {"racks": 300, "circuits": {"switches": 1}},
                "schedule": ROTOR,
                "routing": {"kind": "direct"},
            },
            r"network\.notify\.tdns: a cycle has 300 slices, and there are 255 TDNs at most; use tdns = \"length\"",
        ),
        (
            {
                "notify": {"tdns": "slice"},
                "schedule": {"kind": "asked"},
                "routing": {"kind": "direct"},
            },
            r"network\.notify\.tdns: circuits that are asked for have no slices",
        ),
        (
            {"network": {"ece": {"before": "1ms"}}},
            r'network\.ece\.before: "1ms" must not be longer than a cycle of the schedule, which is 800us',
        ),
        (
            {
                "network": {"ece": {}},
                "schedule": {"kind": "asked"},
                "routing": {"kind": "direct"},
            },
            r"network\.ece: announces circuits of a schedule",
        ),
        ({"notify": {"longest": 0}}, r"network\.notify\.longest"),
        (
            {"notify": {"tdns": "hops"}},
            r'network\.notify\.tdns: "hops" must be one of "slice", "length", "one"',
        ),
        (
            {"workload": {"cc": ["cubic", "dctcp"]}, "notify": LENGTH},
            r"must name a congestion control for each network; there are 4",
        ),
        (
            {"transport": {"kind": "mptcp", "subflows": 5}, "notify": LENGTH},
            r"transport\.subflows: 5 subflows need as many networks, but the plan has 4",
        ),
    ],
)
def test_what_cannot_be_gets_a_sentence(keys: dict[str, Any], sentence: str) -> None:
    with pytest.raises(et.PlanError, match=sentence):
        plan(**keys)


def test_linux_follows_four_tdns() -> None:
    with pytest.raises(et.PlanError, match=r"has 8: set network\.notify\.longest = 3"):
        engine.check([plan()], "linux")
    engine.check([plan(notify=LENGTH)], "linux")


def test_each_tdn_has_a_congestion_control() -> None:
    """Rack 0 sends over one circuit or two; each has a window of its own."""
    made = plan(
        notify={"tdns": "length", "longest": 2},
        workload={"cc": ["reno", "cubic", "dctcp"]},
        network={"queue": MARKS},
        measure={"flows": [0]},
    )
    senders = et.run(made).tcp
    assert senders is not None
    paths = senders.group_by("path").agg(pl.col("cwnd").max())
    assert set(paths["path"]) == {1, 2}, "there always is a way, and TDN 0 sees the handshake only"


def test_subflows_of_mptcp_take_paths_of_their_own() -> None:
    """A graph that never changes: four subflows find more than one of four paths."""
    static = {"kind": "static", "graph": "regular"}
    paths = {"kind": "ksp", "paths": 4}
    slow = {"circuits": {"rate": "2Gbps", "switches": SWITCHES}, "host": {"rate": "10Gbps"}}
    flow = [{"from": "r0h0", "to": "r5h0", "size": "10GB"}]

    def goodput(transport: Any) -> float:
        made = plan("tcp", schedule=static, routing=paths, network=slow)
        one = made.replace({"permutation": [], "flow": [{**flow[0], "transport": transport}]})
        return et.run(one).goodput or 0.0

    one = goodput("tcp")
    several = goodput({"kind": "mptcp", "scheduler": "mainline", "subflows": 4})
    assert 1.5e9 < one < 2e9
    assert several > 1.4 * one


def test_subflows_of_mptcp_follow_tdns() -> None:
    made = plan({"kind": "mptcp", "subflows": 3}, {"tdns": "length", "longest": 2})
    run = et.run(made)
    assert run.goodput and run.goodput > 4e9
    mainline = et.run(plan({"kind": "mptcp", "subflows": 3, "scheduler": "mainline"}))
    assert mainline.goodput and mainline.goodput > 4e9


def test_retcp_hears_of_circuits() -> None:
    """On Opera a direct circuit comes and goes; reTCP multiplies its window when it hears of one, and divides it after."""
    keys = {"workload": {"cc": "retcp"}, "network": {"ece": {"before": "50us"}}}
    told = plan("tcp", measure={"flows": list(range(RACKS))}, **keys)
    assert told.warnings == []
    silent = told.replace({"network.ece": None})
    assert "it will never learn of a circuit" in silent.warnings[0]

    def jumps(made: et.Plan) -> int:
        senders = et.run(made).tcp
        assert senders is not None
        doubled = pl.col("cwnd") == 2 * pl.col("cwnd").shift(1).over("flow")
        late = senders.sort("flow", "t_ns").filter(doubled & (pl.col("cwnd") > 20))
        return late.height

    with pytest.warns(et.PlanWarning):
        by_chance = jumps(silent)
    assert jumps(told) >= by_chance + RACKS
