# SPDX-License-Identifier: MIT OR Apache-2.0
"""Networks of circuits: topologies, paths, files; against published numbers and a search that shares no code with the core."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import etalon as et
from conftest import Answer
from etalon import circuits
from etalon.circuits import Circuits
from etalon.errors import PlanError

Command = Callable[..., Answer]

BY_HAND = Circuits(  # switch 0: 0-1, 2-3, then 0-2, 1-3; switch 1: 0-3, 1-2 all the time
    "by hand",
    np.array([[[1, 3], [0, 2], [3, 1], [2, 0]], [[2, 3], [3, 2], [0, 1], [1, 0]]]),
    (0, 0),
)


def slow_hops(net: Circuits, slot: int, source: int) -> dict[int, int]:
    """Breadth first, by the definition."""
    found, waiting = {source: 0}, deque([source])
    while waiting:
        rack = waiting.popleft()
        for switch in range(net.switches):
            peer = int(net.peers[slot, rack, switch])
            if peer >= 0 and switch != net.ending[slot] and peer not in found:
                found[peer] = found[rack] + 1
                waiting.append(peer)
    return found


def test_by_hand() -> None:
    hops = BY_HAND.hops()
    assert hops[0].tolist() == [
        [0, 255, 255, 1],
        [255, 0, 1, 255],
        [255, 1, 0, 255],
        [1, 255, 255, 0],
    ]
    assert not BY_HAND.is_connected and BY_HAND.paths == {1: 8, 255: 16}
    stays = Circuits("stays", BY_HAND.peers, (None, None))
    assert stays.paths == {1: 16, 2: 8} and stays.mean_path == pytest.approx(4 / 3)
    assert stays.hops(links=[(0, 0)])[0, 0, 1] == 3
    assert BY_HAND.meetings()[0].tolist() == [0, 1, 1, 2]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("draw", [circuits.rotor, circuits.regular, circuits.opera])
def test_distances_are_those_of_a_slow_search(draw: Callable[..., Circuits], seed: int) -> None:
    net = draw(24, 4, seed)
    hops = net.hops()
    for slot in range(net.slices):
        for source in range(net.racks):
            found = slow_hops(net, slot, source)
            expected = [found.get(target, circuits.NO_WAY) for target in range(net.racks)]
            assert hops[slot, source].tolist() == expected


def test_operas_network_is_the_papers() -> None:
    """NSDI 2020, sections 3 and 6.2."""
    net = circuits.opera(108, 6)
    assert (net.slices, net.longest_path, net.routing_entries) == (108, 5, 12_096)
    assert (net.meetings() == 6).all(), "six slices with each, a cycle"
    assert list(net.ending[:8]) == [0, 1, 2, 3, 4, 5, 0, 1]


def test_failures_that_opera_survives() -> None:
    """NSDI 2020, figure 11: 4 % of links, 7 % of ToRs, 2 of 6 switches."""
    links = [(rack, switch) for rack in range(108) for switch in range(6)]
    for seed in range(1, 6):
        net, draw = circuits.opera(108, 6, seed), random.Random(seed)
        dead = draw.sample(range(108), round(0.07 * 108))
        live = np.setdiff1d(np.arange(108), dead)
        assert (
            net.hops(links=draw.sample(links, round(0.04 * len(links)))) < circuits.NO_WAY
        ).all()
        assert (net.hops(switches=draw.sample(range(6), 2)) < circuits.NO_WAY).all()
        assert (net.hops(racks=dead)[:, live][:, :, live] < circuits.NO_WAY).all()


def test_a_file_gives_the_network_back(tmp_path: Path) -> None:
    for net in (circuits.opera(12, 4), circuits.rotor(12, 3), circuits.regular(10, 3)):
        again = circuits.load(net.save(tmp_path / net.name))
        assert (again.peers == net.peers).all()
        assert again.ending == net.ending
    with pytest.raises(PlanError, match="already exists; force=True replaces it"):
        net.save(tmp_path / net.name)


def test_matchings_of_operas_generator_are_read(tmp_path: Path) -> None:
    net = circuits.rotor(12, 3)
    lines = ["72 6 3 12", "4 2000000000000 10000"]
    lines += [" ".join(map(str, one.ravel().tolist())) for one in net.peers]
    (tmp_path / "dyn_topo.txt").write_text("\n".join(lines) + "\n")
    read = circuits.load(tmp_path / "dyn_topo.txt")
    assert (read.peers == net.peers).all()
    staggered = read.staggered()
    assert staggered.slices == 12 and staggered.ending[:4] == (0, 1, 2, 0)
    assert (staggered.meetings() == 3).all()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "its first line must be: racks switches"),
        ("4 2\n", "needs two racks, a switch and a slice at least"),
        ("2 1\n1\n", ":2: has 1 numbers, not 2: one for each of 2 racks and 1 switches"),
        ("2 1\n1 x\n", ":2: contains something other than whole numbers"),
        ("2 1\n1 2\n", ":2: a rack is a number from 0 to 1"),
        ("2 1\n1 -1\n", "slice 0: switch 0 joins rack 0 to rack 1, but leads rack 1 nowhere"),
    ],
)
def test_bad_files_get_a_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "schedule.txt"
    path.write_text(text)
    with pytest.raises(PlanError) as error:
        circuits.load(path)
    assert str(error.value).endswith(sentence), str(error.value)


def test_networks_that_there_are_not_get_a_sentence() -> None:
    with pytest.raises(
        PlanError, match="7 racks have 7 matchings, which 2 switches cannot share out evenly"
    ):
        circuits.rotor(7, 2)
    with pytest.raises(PlanError, match="no connected graph of 5 racks with 3 neighbours each"):
        circuits.regular(5, 3)
    with pytest.raises(PlanError, match="only by chance: take more switches"):
        circuits.opera(40, 2)
    with pytest.raises(PlanError, match="there is no switch 6: they are 0 to 5"):
        circuits.opera(12, 6).hops(switches=[6])


def test_from_the_shell(etalon: Command, tmp_path: Path) -> None:
    answer = etalon(
        "circuits", "opera", "--racks", 12, "--switches", 4, "--json", "--out", tmp_path / "a.txt"
    )
    assert answer.json["slices"] == 12 and answer.json["pairs_without_way"] == 0
    assert etalon("circuits", tmp_path / "a.txt", "--json").json == answer.json
    assert "longest path" in etalon("circuits", "rotor", "--racks", 12, "--switches", 4).out
    rounds = etalon("circuits", "round-robin", "--racks", 12, "--switches", 4, "--json").json
    assert rounds["slices"] == 11
    cube = etalon("circuits", "shale", "--racks", 27, "--switches", 1, "--dimensions", 3, "--json")
    assert cube.json["slices"] == 6
    (tmp_path / "dark.txt").write_text("2 1\n-1 -1\n")
    dark = etalon("circuits", tmp_path / "dark.txt", "--json").json
    assert (dark["longest_path"], dark["mean_path"], dark["pairs_without_way"]) == (0, 0, 2)
    neither = etalon("circuits", "shail")
    assert (
        '"shail" is neither a kind of network (opera, rotor, regular, round-robin, shale) nor a file'
        in neither.err
    )
    again = etalon("circuits", "opera", "--racks", 12, "--switches", 4, "--out", tmp_path / "a.txt")
    assert (again.code, "already exists" in again.err) == (2, True)
    assert et.circuits is circuits
