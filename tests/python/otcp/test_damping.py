# SPDX-License-Identifier: MIT OR Apache-2.0
"""Ports that flap, in virtual time, and a whole controller that they leave in peace."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path

import pytest
from fabric import FILE, Fabric, running, until
from hypothesis import given
from hypothesis import strategies as st
from networks import tree
from test_controller import complaints, way

from etalon_otcp.api import metrics
from etalon_otcp.connections import Connections
from etalon_otcp.controller import Controller
from etalon_otcp.damping import Damping
from etalon_otcp.forwarding import OTHERS
from etalon_otcp.network import PortId
from etalon_otcp.topology import KnownHost, PortDescription, Topology

PLACE = PortId("t1", 1)
UP, DOWN = (PortDescription(1, "p1", up, 10**9) for up in (True, False))
HALF_LIFE_S = 5.0


class Port:
    """What a controller believes of a port."""

    def __init__(self, half_life_s: float = HALF_LIFE_S) -> None:
        self.damping = Damping(half_life_s)
        self.believed, self.is_there = UP, True

    @property
    def is_up(self) -> bool:
        return self.is_there and self.believed.up

    def say(self, up: bool, now: float, deleted: bool = False) -> None:
        said = UP if up else DOWN
        self.believed, gone = self.damping.take(PLACE, said, deleted, self.is_up, now)
        self.is_there = not gone

    def wait(self, now: float) -> None:
        for place, port, deleted in self.damping.over(now):
            assert place == PLACE
            self.believed, self.is_there = port, not deleted

    def flap(self, times: int, now: float) -> None:
        for _ in range(times):
            self.say(False, now)
            assert not self.is_up, "what goes down counts as down at once"
            self.say(True, now)


def test_what_fails_twice_is_used_again_at_once() -> None:
    port = Port()
    port.flap(2, 100.0)
    assert port.is_up and port.damping.due() is None and not port.damping.problems(100.0)
    port.flap(1, 100.0 + 2 * HALF_LIFE_S)
    assert port.is_up, "that is long ago"


@pytest.mark.parametrize("times", [3, 4, 8, 16, 1000])
def test_what_flaps_waits_longer_the_oftener(times: int) -> None:
    port = Port()
    port.flap(times, 100.0)
    assert not port.is_up and port.damping.damped() == 1 and port.damping.flaps == times
    due = port.damping.due()
    expected_s = HALF_LIFE_S * math.log2(min(times, 16))
    assert due == pytest.approx(100.0 + expected_s)
    assert port.damping.problems(100.0) == [
        f"port 1 of t1 flaps: it counts as down for another {expected_s:.0f} s, longer if it goes down again"
    ]
    port.wait(due - 0.01)
    assert not port.is_up
    port.wait(due)
    assert port.is_up and port.damping.damped() == 0
    port.flap(1, due + 0.01)
    assert port.is_up, "a penalty of 2 is not above the limit"
    port.flap(1, due + 0.01)
    assert not port.is_up, "what it did before counts for a while"


def test_a_port_that_is_down_when_its_time_is_over_stays_down() -> None:
    port = Port()
    port.flap(3, 0.0)
    port.say(False, 1.0)
    port.wait(1000.0)
    assert not port.is_up
    port.say(True, 1000.0)
    assert port.is_up


def test_a_port_that_is_deleted_again_and_again_flaps_too() -> None:
    port = Port()
    for _ in range(5):
        port.say(True, 0.0, deleted=True)
        port.say(True, 0.0)
    assert port.is_there and not port.is_up
    port.say(True, 0.0, deleted=True)
    assert port.is_there, "nothing changes while it flaps"
    port.wait(100.0)
    assert not port.is_there


def test_a_switch_that_connects_again_frees_no_port() -> None:
    port = Port()
    port.flap(3, 0.0)
    port.damping.switch_down("t1")
    assert port.damping.over(3.0) == []
    believed, _ = port.damping.take(PLACE, UP, False, False, 4.0)
    assert not believed.up
    port.wait(100.0)
    assert port.is_up


def test_nothing_is_damped_without_a_half_life() -> None:
    port = Port(0.0)
    port.flap(1000, 0.0)
    assert port.is_up and port.damping.flaps == 1000


@given(
    st.lists(st.tuples(st.sampled_from(["up", "down", "delete"]), st.floats(0, 30)), max_size=60)
)
def test_what_is_believed_is_what_was_said_once_it_is_quiet(said: list[tuple[str, float]]) -> None:
    port, now, is_up = Port(), 0.0, True
    for what, pause in said:
        now += pause
        port.wait(now)
        is_up = what == "up"
        port.say(what != "down", now, deleted=what == "delete")
        assert not port.is_up or is_up
    port.wait(now + 4 * HALF_LIFE_S + 0.001)
    assert port.is_up == is_up
    port.wait(now + 6 * HALF_LIFE_S)
    assert not port.damping._penalties._flaps and not port.damping._held


def test_a_port_that_flaps_leaves_the_controller_in_peace(tmp_path: Path) -> None:
    """A thousand times up and down: the way is moved at once, hosts hear of a few changes, and of none after that."""
    with running(tmp_path, FILE.replace("[network]", '[network]\ndamping = "100ms"')) as (
        controller,
        fabric,
    ):
        fabric.connect("t1", "t2", "a1", "a2")
        until(lambda: way(controller, "h1") == "a1")
        until(lambda: not controller.topology.unmeasured()[0])
        computed, version = controller.events.computed, controller.publication.version
        for _ in range(1000):
            fabric.set_port("t1", 1, up=False)
            fabric.set_port("t1", 1, up=True)
        assert controller.damping.damped() == 1
        assert any("port 1 of t1 flaps" in problem for problem in complaints(controller))
        text = metrics.text(controller, _Nobody(), {}, 0)  # type: ignore[arg-type]
        assert "\netalon_otcp_ports_damped 1\n" in text
        assert "\netalon_otcp_port_flaps_total 1000\n" in text
        until(lambda: way(controller, "h1") == "a2")
        until(lambda: way(controller, "h1") == "a1")  # 400 ms after the last time
        assert controller.publication.version <= version + 8
        assert controller.events.computed <= computed + 20
        assert not any("flaps" in problem for problem in complaints(controller))


def test_who_is_at_a_switch_that_flaps_keeps_its_routes(tmp_path: Path) -> None:
    """Only the first two times t1's host is lost; once t1 stays away, for good."""
    with running(tmp_path, FILE.replace("[network]", '[network]\ndamping = "1s"')) as (c, fabric):
        fabric.connect("t1", "t2", "a1", "a2")
        until(lambda: way(c, "h1") == "a1" and not any(c.topology.unmeasured()))
        for _ in range(2):
            flap(c, fabric, "t1", lambda: "h1" not in c.view.network.hosts)
            until(lambda: way(c, "h1") == "a1")
        version = c.publication.version
        for _ in range(20):
            flap(c, fabric, "t1", lambda: True)
        assert c.connections.damped() == 1
        assert any("connection of switch t1 comes and goes" in one for one in complaints(c))
        text = metrics.text(c, _Nobody(), {}, 0)  # type: ignore[arg-type]
        assert "\netalon_otcp_switches_damped 1\n" in text
        assert "\netalon_otcp_switches_lost_total 22\n" in text
        fabric.leave("t1")
        text = metrics.text(c, _Nobody(), {}, 0)  # type: ignore[arg-type]
        assert "\netalon_otcp_switches 3\n" in text
        assert "switch t1 is not connected" in complaints(c)
        assert c.publication.version == version and way(c, "h1") == "a1"
        until(lambda: "h1" not in c.view.network.hosts)
        until(lambda: "t1" not in c.topology.switches())
        fabric.connect("t1")
        until(lambda: way(c, "h1"))


def test_others_traffic_avoids_a_switch_that_flaps_but_it_has_its_entries(tmp_path: Path) -> None:
    with running(tmp_path, FILE.replace("[network]", '[network]\ndamping = "1s"')) as (c, fabric):
        fabric.connect("t1", "t2", "a1", "a2")
        until(lambda: way(c, "h1") == "a1" and not any(c.topology.unmeasured()))
        for _ in range(2):
            flap(c, fabric, "a1", lambda: way(c, "h1") == "a2")
            until(lambda: way(c, "h1") == "a1")
        fabric.leave("a1")
        until(lambda: way(c, "h1") == "a2")
        fabric.tables["a1"].clear()  # as after a restart of it
        fabric.connect("a1")
        assert c.connections.damped() == 1
        until(lambda: len(fabric.tables["a1"]) == 3)  # two hosts, and what is for all
        assert fabric.tables["a1"][OTHERS] == ()
        assert way(c, "h1") == "a2" and fabric.tables["a1"]["02:00:00:00:00:01"]
        until(lambda: way(c, "h1") == "a1")
        assert c.connections.damped() == 0
        assert fabric.tables["a1"][OTHERS] == (1, 2)


def flap(c: Controller, fabric: Fabric, switch: str, is_noticed: Callable[[], bool]) -> None:
    fabric.leave(switch)
    until(is_noticed)
    fabric.connect(switch)


def damped(connections: Connections, *switches: str) -> None:
    for switch in switches:
        for _ in range(3):
            connections.down(switch, 0.0)
            connections.up(switch, [], 0.0, 0.0)


@pytest.mark.parametrize(
    ("uppers", "flapping", "away", "spared"),
    [
        (2, ["a1"], [], {"a1"}),
        (2, ["t1"], [], set()),  # hosts are there
        (1, ["a1"], [], set()),  # there is no other way
        (2, ["a1", "a2"], [], set()),
        (2, ["a1", "a2"], ["a1"], {"a1"}),
        (2, ["a1", "a2"], ["a1", "a2"], set()),
        (3, ["a1", "a2"], ["a1"], {"a1", "a2"}),
    ],
)
def test_no_pair_of_hosts_is_parted(
    uppers: int, flapping: list[str], away: list[str], spared: set[str]
) -> None:
    network = tree(uppers=uppers, upper_us=(200, 300, 400))
    connections = Connections(Topology({}), HALF_LIFE_S)
    for switch in {place.switch for place in network.ports}:
        connections.up(switch, [], 0.0, 0.0)
    damped(connections, *flapping)
    for switch in away:
        connections.down(switch, 0.0)
    left = connections.usable(network).links
    assert {
        link.target.switch for link in network.links.values() if link.source not in left
    } == spared
    assert all(
        link.source in left for link in network.links.values() if link.target.switch not in spared
    )


def test_a_switch_with_a_spare_port_is_spared_and_one_with_a_host_there_is_not() -> None:
    network, spare = tree(uppers=2, upper_us=(200, 300)), PortId("a1", 9)
    network = replace(network, edges=network.edges | {spare})
    topology = Topology({"h": KnownHost("h", (ip_address("10.0.9.9"),))})
    connections = Connections(topology, HALF_LIFE_S)
    for switch in {place.switch for place in network.ports}:
        connections.up(switch, [], 0.0, 0.0)
    damped(connections, "a1")

    def targets() -> set[str]:
        return {link.target.switch for link in connections.usable(network).links.values()}

    assert targets() == {"t1", "t2", "a2"}
    topology.host_seen("h", spare, "02:00:00:00:00:09", 0.0)  # its delay is not known yet
    assert targets() == {"t1", "t2", "a1", "a2"}


def test_a_switch_that_flaps_is_gone_when_its_time_is_over() -> None:
    topology = Topology({})
    connections = Connections(topology, HALF_LIFE_S)
    connections.up("t1", [UP], 0.0, 0.0)
    for number in range(3):
        assert connections.down("t1", 0.0) == (True, number == 2)
        assert connections.down("t1", 0.0) == (False, False), "it is gone already"
        assert (topology.switches() == ["t1"]) == (number == 2)
        connections.up("t1", [UP] if number < 2 else [replace(UP, rate_bps=1)], 0.0, 0.0)
    assert topology.ports_up("t1")[0].rate_bps == 1
    connections.up("t1", [], 0.0, 0.0)
    assert topology.ports_up("t1") == [], "the port is there no more"
    connections.down("t1", 0.0)
    due = connections.due()
    assert due and connections.over(due - 0.01) == [] and topology.switches() == ["t1"]
    assert connections.over(due) == ["t1"] and topology.switches() == []


class _Nobody:
    """A hub of event streams without any."""

    pushed = displaced = 0

    def count(self) -> int:
        return 0
