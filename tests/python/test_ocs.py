# SPDX-License-Identifier: MIT OR Apache-2.0
"""Plans of networks of circuits: schedules as rotations, routing by class, graphs and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

import etalon as et
from etalon import circuits, graphs, timeflow
from etalon.errors import PlanError
from etalon.plan.ways import Ways
from etalon.plan.workloads.flow_sizes import FLOW_SIZES

OPERA: dict[str, Any] = {
    "duration": "2ms",
    "network": {
        "kind": "ocs",
        "racks": 12,
        "hosts": 2,
        "circuits": {"rate": "10Gbps", "delay": "500ns", "switches": 4},
        "queue": {"low": {"packets": 8, "trim": "64B"}, "bulk": {"packets": 64}},
    },
    "schedule": {"kind": "opera", "slice": "99us", "night": "10us"},
    "routing": {
        "low": {"kind": "expander", "paths": 5, "spread": "packet"},
        "bulk": {"kind": "rotorlb"},
        "cutoff": "15MB",
    },
    "poisson": [{"sizes": "opera-websearch", "load": 0.1, "transport": "ndp"}],
}


def plan(**changes: Any) -> et.Plan:
    return et.Plan.from_dict({**OPERA, **changes})


def ocs(made: et.Plan) -> dict[str, Any]:
    found: dict[str, Any] = made.resolve()["network"]["ocs"]
    return found


def met_at(uplink: dict[str, Any], time: int) -> tuple[int, ...]:
    """The sources that a switch joins at a time, all -1 in a night: read off its rotation alone."""
    week = sum(one["day_ns"] + one["night_ns"] for one in uplink["rotation"])
    into = (time - uplink["offset_ns"]) % week
    for one in uplink["rotation"]:
        if into < one["day_ns"]:
            return tuple(one["sources"])
        into -= one["day_ns"]
        if into < one["night_ns"]:
            return (-1,) * len(one["sources"])
        into -= one["night_ns"]
    raise AssertionError("a week is full")


def test_a_plan_says_what_the_issue_has() -> None:
    made = plan()
    resolved = ocs(made)
    low, bulk = resolved["classes"]
    assert low["queue"]["full"]["trim"]["room_bytes"] == 8 * 1500
    assert low["routing"] == {"expander": {"paths": 5, "equal": False, "spray": True}}
    assert (
        bulk["routing"] == {"rotorlb": {"two_hops": True, "margin_ns": None}}
        and resolved["cutoff_bytes"] == 15_000_000
    )
    assert et.Plan.from_toml(made.to_toml()) == made
    assert made.replace({"schedule.slice": "198us"}).slices is not None
    assert made.setting().packet_rate == 20 * 10**9, "the hosts of a rack together"


@pytest.mark.parametrize("kind", ["opera", "rotor"])
def test_rotations_are_the_slices_drawn(kind: str) -> None:
    made = plan(schedule={"kind": kind, "slice": "99us", "night": "10us"}, routing={"kind": "vlb"})
    net = getattr(circuits, kind)(12, 4, seed=made.seed)
    for slot in range(net.slices):
        for switch, uplink in enumerate(ocs(made)["uplinks"]):
            sources = met_at(uplink, slot * 99_000 + 50_000)
            met = [int(peer) for peer in net.peers[slot, :, switch]]
            expected = [-1 if peer == rack else peer for rack, peer in enumerate(met)]  # symmetric
            assert list(sources) == expected
            dark = set(met_at(uplink, slot * 99_000 + 95_000)) == {-1}
            assert dark == (kind == "rotor" or net.ending[slot] == switch)


def test_racks_of_a_cube_meet_their_lines() -> None:
    net = circuits.shale(27, 2, dimensions=3)
    met = net.meetings()
    for one in range(27):
        for other in range(27):
            apart = sum(one // 3**d % 3 != other // 3**d % 3 for d in range(3))
            assert met[one, other] == (2 if apart == 1 else 0)
    round_robin = circuits.shale(8, 1, dimensions=1)
    assert (round_robin.meetings() == 1 - np.eye(8)).all()
    made = plan(
        network={"kind": "ocs", "racks": 9, "circuits": {"switches": 2}},
        schedule={"kind": "shale", "slice": "1us", "night": "50ns"},
        routing={"kind": "earliest"},
    )
    assert met_at(ocs(made)["uplinks"][0], 10)[1] == 0, "rack 0 leads to rack 1: one way"
    with pytest.raises(PlanError, match="27 racks do not form a cube of 2 dimensions: take 25"):
        circuits.shale(27, 1, 2)


@pytest.mark.parametrize(("racks", "switches"), [(2, 1), (8, 1), (12, 4), (16, 15)])
def test_in_a_round_robin_all_meet_equally_often(racks: int, switches: int) -> None:
    net = circuits.round_robin(racks, switches)
    assert net.slices == racks - 1
    assert (net.meetings() == switches * (1 - np.eye(racks))).all()
    everyone = np.arange(racks)
    for slot, switch in np.ndindex(net.slices, switches):
        met = net.peers[slot, :, switch]
        assert (met[met] == everyone).all() and (met != everyone).all()
    assert len(set(net.peers[0, 0].tolist())) == switches


def test_a_plan_has_a_round_robin() -> None:
    made = plan(
        schedule={"kind": "round-robin", "slice": "99us", "night": "10us"}, routing={"kind": "vlb"}
    )
    net = circuits.round_robin(12, 4)
    for switch, uplink in enumerate(ocs(made)["uplinks"]):
        assert list(met_at(uplink, 50_000)) == net.peers[0, :, switch].tolist()
        assert set(met_at(uplink, 95_000)) == {-1}
    with pytest.raises(PlanError, match="7 racks cannot all meet in pairs: take an even number"):
        plan(network={**OPERA["network"], "racks": 7}, schedule={"kind": "round-robin"})
    with pytest.raises(PlanError, match="a cycle has 3 slices: take 1 to 3 switches, not 4"):
        circuits.round_robin(4, 4)


def test_a_clos_network_is_the_authors() -> None:
    graph = graphs.clos(12, 3)
    assert (graph.racks, graph.nodes, graph.uplinks) == (72, 72 + 36 + 18, 12)
    degrees = list(map(len, graph.neighbours))
    assert degrees[:72] == [3] * 72 and degrees[72:] == [12] * 54
    assert graph.neighbours[72 + 1][6:] == tuple(range(72 + 36 + 6, 72 + 36 + 12))  # aggregation 1
    net = graphs.as_circuits(graph)
    hops = net.hops()[0]
    assert hops[0, 5] == 2 and hops[0, 6] == 4
    again = graphs.given(graph.neighbours, 72)
    assert again.neighbours == graph.neighbours
    made = plan(
        network={"kind": "ocs", "racks": 72, "hosts": 9},
        schedule={"kind": "static", "graph": "clos", "oversubscription": 3},
        routing={"kind": "ksp", "paths": 18, "equal": True},
    )
    resolved = ocs(made)
    assert resolved["relays"] == 54 and len(resolved["uplinks"]) == 12
    found = [
        (source, node)
        for uplink in resolved["uplinks"]
        for node, source in enumerate(uplink["rotation"][0]["sources"])
        if source >= 0
    ]
    links = [(one, peer) for one, row in enumerate(graph.neighbours) for peer in row]
    assert sorted(found) == sorted(links), "each link once, each way"


def test_files_come_back_and_stand_in_the_plan(tmp_path: Path) -> None:
    net = circuits.rotor(8, 2, seed=3)
    net.save(tmp_path / "slices.txt")
    table = timeflow.of_earliest(net)
    timeflow.save(table, tmp_path / "table.txt")
    assert timeflow.load(tmp_path / "table.txt") == table
    network = {"kind": "ocs", "racks": 8, "hosts": 1, "circuits": {"switches": 2}}
    (tmp_path / "plan.toml").write_text(
        'duration = "1ms"\n[network]\nkind = "ocs"\nracks = 8\nhosts = 1\ncircuits = { switches = 2 }\n'
        '[schedule]\nkind = "file"\nfile = "slices.txt"\n'
        '[routing]\nlow = { kind = "table", file = "table.txt" }\n[[bulk]]\nfrom = 0\nto = 1\n'
    )
    made = et.Plan.load(tmp_path / "plan.toml")
    assert made.slices is not None and (made.slices.peers == net.peers).all()
    assert len(ocs(made)["classes"][0]["routing"]["table"]) == len(table)
    assert et.Plan.from_toml(made.to_toml()) == made, "without the files"
    graph = graphs.regular(8, 3, seed=2)
    graph.save(tmp_path / "graph.txt")
    assert graphs.load(tmp_path / "graph.txt").neighbours == graph.neighbours
    static = et.Plan.from_dict(
        {
            "network": {**network, "circuits": {"rate": "1Gbps"}},
            "schedule": {"kind": "static", "file": str(tmp_path / "graph.txt")},
            "routing": {"kind": "ksp"},
            "bulk": [{"from": 0, "to": 1}],
        }
    )
    assert len(ocs(static)["uplinks"]) == 3


def test_the_table_of_earliest_arrivals_is_that_of_a_slow_search() -> None:
    net = circuits.rotor(8, 2, seed=5)
    entries = {entry[:3]: entry[3:] for entry in timeflow.of_earliest(net)}
    for start in range(net.slices):
        for source in range(8):
            # Racks that a packet can be at, slice by slice, one hop each.
            reached, when = {source}, {source: 0}
            for slot in range(start, start + 2 * net.slices):
                near = {
                    int(net.peers[slot % net.slices, rack, u]) for rack in reached for u in (0, 1)
                }
                reached |= near
                for rack in near:
                    when.setdefault(rack, slot - start)
            for to in set(range(8)) - {source}:
                here, slot = source, start
                for _ in range(8):
                    after, _, departure = entries[here, slot % net.slices, to]
                    slot += (departure - slot) % net.slices
                    here = after
                    if here == to:
                        break
                    slot += 1
                assert here == to and slot - start == when[to]


def neighbours(net: circuits.Circuits, slot: int, rack: int, staying: bool) -> set[int]:
    """Racks that one hop leads to: by the table of slices alone."""
    found = set()
    for uplink, peer in enumerate(net.peers[slot % net.slices, rack]):
        after = net.peers[(slot + 1) % net.slices, :, uplink]
        stays = (net.peers[slot % net.slices, :, uplink] == after).all()
        if peer >= 0 and peer != rack and (stays or not staying):
            found.add(int(peer))
    return found


@pytest.mark.parametrize(("kind", "staying"), [("expander", True), ("ksp", False)])
def test_paths_are_the_shortest_of_a_slow_search(kind: str, staying: bool) -> None:
    made = plan(routing={"low": {"kind": kind, "paths": 4}})
    net, ways = made.slices, Ways(made)
    assert net is not None
    for slot in range(net.slices):
        near = [neighbours(net, slot, rack, staying) for rack in range(net.racks)]
        for source in range(net.racks):
            # Simple paths of racks, shorter ones first, until there are more than enough.
            paths = [[source]]
            lengths: dict[int, list[int]] = {rack: [] for rack in range(net.racks)}
            while paths and any(len(lengths[to]) < 4 for to in lengths if to != source):
                paths = [
                    [*path, peer] for path in paths for peer in near[path[-1]] if peer not in path
                ]
                for path in paths:
                    lengths[path[-1]].append(len(path) - 1)
            for to in set(range(net.racks)) - {source}:
                taken = {tuple(ways.of(source, to, slot, label)) for label in range(4)}
                assert sorted(map(len, taken)) == sorted(lengths[to])[:4]
                for way in taken:
                    here = source
                    for hop in way:
                        assert hop.slice == slot and hop.rack in near[here]
                        here = hop.rack


@pytest.mark.parametrize("hops_per_slice", [1, 2])
def test_earliest_arrivals_are_those_of_a_slow_search(hops_per_slice: int) -> None:
    way = {"kind": "earliest", "hops_per_slice": hops_per_slice}
    made = plan(schedule={"kind": "rotor"}, routing={"low": way})
    net, ways = made.slices, Ways(made)
    assert net is not None
    for start in range(net.slices):
        for source in range(net.racks):
            reached, when = {source}, {source: start}
            for slot in range(start, start + net.slices):
                for _ in range(hops_per_slice):
                    reached |= {
                        peer for rack in reached for peer in neighbours(net, slot, rack, False)
                    }
                for rack in reached:
                    when.setdefault(rack, slot)
            for to in set(range(net.racks)) - {source}:
                taken = [ways.of(source, to, start, label) for label in range(3)]
                arrivals = {hops[-1].slice for hops in taken}
                # Each rack on the way counts on two more hops in the slice, so that packets may be early.
                assert max(arrivals) <= when[to]
                assert hops_per_slice > 1 or arrivals == {when[to]}


def test_rotor_schedules_carry_the_published_shares() -> None:
    """inet-tub rdcn-throughput (829d756): one hop, and the best over several, from a linear program here."""
    published = {8: (0.875, 0.875, 0.125, 0.5), 16: (0.9375, 0.9375, 0.0625, 0.5)}
    for racks, (one, best, one_of_permutation, best_of_permutation) in published.items():
        net = circuits.rotor(racks, 4, seed=1)
        uniform = (1 - np.eye(racks)) / (racks - 1)
        permutation = np.roll(np.eye(racks), 1, axis=1)
        assert net.throughput(uniform) == pytest.approx(one)
        assert net.throughput(permutation) == pytest.approx(one_of_permutation)
        capacity = net.meetings() / (net.slices * net.switches)
        assert best_share(capacity, uniform) == pytest.approx(best)
        assert best_share(capacity, permutation) == pytest.approx(best_of_permutation)


def best_share(capacity: np.ndarray, demand: np.ndarray) -> float:
    """The largest share of a demand that fits over any number of hops: concurrent flows, by source."""
    racks = len(demand)
    edges = [(a, b) for a in range(racks) for b in range(racks) if a != b]
    size = racks * len(edges) + 1
    rows, columns, values = [], [], []
    for source in range(racks):
        for number, (a, b) in enumerate(edges):
            for end, sign in ((b, 1), (a, -1)):
                if end != source:
                    rows.append(source * racks + end)
                    columns.append(source * len(edges) + number)
                    values.append(sign)
        for end in range(racks):
            if end != source:
                rows.append(source * racks + end)
                columns.append(size - 1)
                values.append(-demand[source, end])
    balance = csr_array((values, (rows, columns)), shape=(racks * racks, size))
    load = csr_array(
        (
            np.ones(size - 1),
            (np.tile(np.arange(len(edges)), racks), np.arange(size - 1)),
        ),
        shape=(len(edges), size),
    )
    goal = np.zeros(size)
    goal[-1] = -1
    room = [capacity[a, b] for a, b in edges]
    found = linprog(goal, load, room, balance, np.zeros(racks * racks))
    return float(-found.fun)


def test_operas_sizes_are_steps_with_the_published_means() -> None:
    for name, mean in (("opera-datamining", 7.862e6), ("opera-websearch", 1.876e6)):
        sizes = FLOW_SIZES[name]
        assert sizes.mean == pytest.approx(mean, rel=1e-3)
        points = {size for size, _ in sizes.points}
        assert {sizes.at(share / 1000) for share in range(1, 1001)} <= points
    datamining = FLOW_SIZES["opera-datamining"]
    assert (datamining.at(0.085), datamining.at(0.0851)) == (180, 250)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"schedule": {"kind": "strobe"}}, 'schedule.kind: "strobe" needs one circuit switch'),
        ({"schedule": {"kind": "opera", "slice": "10us"}}, "schedule.night: 10us leaves nothing of a slice"),
        ({"schedule": {"kind": "rotor", "slice": "49ns", "night": "0s"}}, "slices are 50ns at least"),
        ({"schedule": {"kind": "rotor"}}, "several switches change at the end of slice 0"),
        ({"schedule": {"kind": "shale"}}, "12 racks do not form a cube of 2 dimensions"),
        ({"schedule": {"kind": "file", "slices": [[1, 0]]}}, "has 2 numbers, not 48"),
        ({"schedule": {"kind": "static", "graph": "clos"}}, "the graph has 72 racks, not 12"),
        ({"routing": {"low": {"kind": "direct"}, "cutoff": "1MB"}}, "routing.cutoff: separates the classes low and bulk"),
        ({"routing": {"low": {"kind": "teleport"}}}, '"teleport" must be one of'),
        ({"routing": {"low": {"kind": "packet"}}}, "the plan has no packet network"),
        ({"routing": {"low": {"kind": "ksp", "paths": 65}}}, "65 must be at most 64"),
        ({"network": {**OPERA["network"], "racks": 13}}, "4 switches cannot share out evenly"),
        ({"network": {**OPERA["network"], "guard": "45us"}}, "guard bands of 45us leave nothing of a day of 89us"),
        ({"network": {**OPERA["network"], "queue": {"low": {"trim": "2kB"}}}}, "cannot be trimmed to 2000"),
        ({"network": {**OPERA["network"], "failure": [{"from": "1ms"}]}}, "must name exactly one part that fails"),
        (
            {"network": {**OPERA["network"], "failure": [{"rack": 12, "from": "1ms"}]}},
            "there is no rack 12",
        ),
        ({"network": {"kind": "rdcn"}}, '"opera" is for networks of kind "ocs"'),
        ({"network": {"kind": "tree"}, "schedule": {}}, 'only a network of kind "ocs" has routing'),
    ],
)  # fmt: skip
def test_what_cannot_be_gets_a_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PlanError) as caught:
        plan(**changes)
    assert sentence in str(caught.value)


def test_a_bad_file_of_a_plan_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "slices.txt").write_text("12 4\n1 2\n")
    (tmp_path / "plan.toml").write_text(
        '[network]\nkind = "ocs"\nracks = 12\n[schedule]\nkind = "file"\nfile = "slices.txt"\n'
    )
    with pytest.raises(PlanError) as caught:
        et.Plan.load(tmp_path / "plan.toml")
    assert 'schedule.file: "slices.txt", line 2: has 2 numbers, not 48' in str(caught.value)


def test_priority_needs_two_classes() -> None:
    flows = [{"from": 0, "to": 1, "priority": "bulk", "transport": "rotorlb"}]
    assert plan(bulk=flows, poisson=[]).resolve()["flows"][0]["priority"] == 1
    with pytest.raises(
        PlanError, match=r"bulk\.priority: chooses between the classes low and bulk"
    ):
        plan(bulk=flows, poisson=[], routing={"kind": "vlb"}, schedule={"kind": "rotor"})


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"bulk": [{"from": 0, "to": 1, "priority": "bulk"}]},
            r"carries class bulk, which TCP cannot use",
        ),
        (
            {"permutation": [{"size": "20MB"}], "poisson": []},
            r"carries class bulk, which TCP cannot use",
        ),
        (
            {"bulk": [{"from": 0, "to": 1, "transport": "rotorlb", "priority": "low"}]},
            r"bulk\.priority: RotorLB carries the class bulk",
        ),
        (
            {"poisson": [{"load": 0.1, "transport": "rotorlb"}], "routing": {"kind": "direct"}},
            r'needs a network of kind "ocs" with routing of kind "rotorlb"',
        ),
    ],
)
def test_rotorlb_has_a_class_to_itself(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PlanError, match=sentence):
        plan(**changes)


def test_rotorlb_carries_long_flows_and_ndp_short_ones() -> None:
    """Short flows cross at once; long ones wait for circuits, arrive whole, and cross one circuit: no tax on bandwidth."""
    long = [{"src": 0, "dst": 1, "size": "3MB"}, {"src": 0, "dst": 1, "size": "20kB"}]
    made = plan(
        poisson=[],
        duration="40ms",
        flow=[
            {
                "from": f"r{f['src']}h0",
                "to": f"r{f['dst']}h0",
                "size": f["size"],
                "transport": "ndp",
            }
            for f in long
        ],
        routing={**OPERA["routing"], "bulk": {"kind": "rotorlb", "hops": 1}, "cutoff": "1MB"},
        measure={"ports": True},
        end_when_done=True,
        warmup=0,
    )
    run = et.run(made)
    times = dict(run.fct().select("bytes", "fct_us").iter_rows())
    assert times[20_000] < 60 and times[3_000_000] > 1000
    over = run.ports.filter(run.ports["to"].str.contains("^o"))
    bulk, low = 3_000_000 + 64 * 2090, 20_000 + 64 * 14
    share = (over["bytes"].sum() - bulk) / low
    assert 1 <= share < 5, "short flows cross one circuit or more"


def test_flows_of_a_run_come_back_from_a_file(tmp_path: Path) -> None:
    """In the format of Opera's authors, which test_workloads.py describes line by line."""
    run = et.run(plan(duration="20ms"))
    path = run.save_flows(tmp_path / "flows.txt")
    text = path.read_text()
    assert not text.endswith("\n") and len(text.split("\n")) == run.flows.height > 10
    again = et.run(
        plan(duration="20ms", poisson=[], trace=[{"file": str(path), "transport": "ndp"}])
    )
    columns = ["src_rack", "src_host", "dst_rack", "dst_host", "bytes", "start_ns"]
    assert again.flows.select(columns).rows() == run.flows.sort("start_ns").select(columns).rows()
    with pytest.raises(PlanError, match="already exists"):
        run.save_flows(path)
    run.save_flows(path, force=True)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("graph", "1\n0 2\n1\n", None),
        (
            "graph",
            "# a graph\n1\n2\n1\n",
            "graph.txt:2: node 0 has more links to node 1 than node 1 has back",
        ),
        ("graph", "1\n0\n\n3\n2\n", "graph.txt:4: node 2 is not reached from node 0"),
        ("graph", "1 4\n0\n", "graph.txt:1: node 0 cannot have the neighbour 4"),
        ("graph", "1 x\n0\n", "graph.txt:1: contains something other than whole numbers"),
        ("table", "0 0 1 1 0 0\n0 0 1\n", "table.txt:2: an entry has 6 whole numbers"),
    ],
)
def test_bad_files_get_a_sentence(
    tmp_path: Path, name: str, text: str, sentence: str | None
) -> None:
    path = tmp_path / f"{name}.txt"
    path.write_text(text)
    read = graphs.load if name == "graph" else timeflow.load
    if sentence is None:
        read(path)
        return
    with pytest.raises(PlanError) as caught:
        read(path)
    assert sentence in str(caught.value)


WAYS_OF_PACKETS = [
    ({"kind": "rotor"}, {"kind": "direct"}),
    ({"kind": "rotor"}, {"kind": "vlb"}),
    ({"kind": "opera"}, {"kind": "expander", "paths": 5}),
    ({"kind": "opera"}, {"kind": "earliest", "hops_per_slice": 3}),
    ({"kind": "rotor"}, {"kind": "ucmp"}),
    ({"kind": "static"}, {"kind": "ksp", "paths": 4, "equal": True}),
]


@pytest.mark.parametrize("cc", ["cubic", "dctcp"])
@pytest.mark.parametrize(("schedule", "way"), WAYS_OF_PACKETS)
def test_tcp_crosses_networks_of_circuits(
    schedule: dict[str, Any], way: dict[str, Any], cc: str
) -> None:
    made = plan(
        duration="1s",
        warmup="0s",
        tdf=1,
        end_when_done=True,
        network={**OPERA["network"], "queue": {"packets": 100, "ecn_threshold": 30}},
        schedule=schedule,
        routing=way,
        poisson=[{"sizes": "opera-websearch", "load": 0.05, "period": "1ms", "cc": cc}],
    )
    flows = et.run(made).flows
    assert len(flows) > 0 and flows["end_ns"].null_count() == 0, "all are done"
    ways, slots = Ways(made), 100_000
    for flow in flows.iter_rows(named=True):
        begin, time = flow["start_ns"], flow["end_ns"] - flow["start_ns"]
        assert time >= flow["bytes"] * 8 // 10, "the host's link"
        # The handshake waits for its circuits: the tables' first way there, if no packet is faster than light.
        net = made.slices
        assert net is not None
        hops = ways.of(flow["src_rack"], flow["dst_rack"], begin // slots)
        if way["kind"] == "direct":
            assert flow["end_ns"] >= hops[-1].slice * slots
