# SPDX-License-Identifier: MIT OR Apache-2.0
"""The controller without sockets: switches are played by a small model of a network."""

from __future__ import annotations

import time
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

import pytest
from fabric import CABLES, FILE, HOSTS, running, until

from etalon.errors import PlanError
from etalon_otcp import arp, ndp
from etalon_otcp.answering import RELAYED_PER_S
from etalon_otcp.api import metrics, views
from etalon_otcp.api.events import Hub
from etalon_otcp.config import Config
from etalon_otcp.controller import REMEMBERING, Controller
from etalon_otcp.forwarding import OTHERS
from etalon_otcp.network import Known, PortId, Source
from etalon_otcp.publication import Route
from etalon_otcp.remembered import Remembered
from etalon_otcp.state import State
from etalon_otcp.topology import PortDescription, Topology


def way(controller: Controller, host: str) -> str:
    """Which upper switch the window towards the other host speaks of; empty before there is one, "another" while it is wrong.

    By a1 it is 1200 us x 1 Gb/s = 102 segments, by a2 1600 us = 136.
    """
    document = controller.view.documents.get(host)
    if not document or not document.routes:
        return ""
    return {102: "a1", 136: "a2"}.get(document.routes[0].max_cwnd, "another")


def test_from_nothing_to_documents_and_entries(tmp_path: Path) -> None:
    with running(tmp_path) as (controller, fabric):
        fabric.connect("t1", "t2", "a1", "a2")
        until(lambda: way(controller, "h1"))
        document = controller.view.documents["h1"]
        assert [route.prefix for route in document.routes] == ["10.0.0.2/32"]
        assert way(controller, "h1") == "a1"
        until(lambda: fabric.tables.get("t1", {}).get("02:00:00:00:00:02") == (1,))
        entries = {"02:00:00:00:00:01": (1,), "02:00:00:00:00:02": (2,)}
        until(lambda: fabric.tables["a1"] == {**entries, OTHERS: (1, 2)})


def test_a_link_down_moves_the_way_from_known_measurements(tmp_path: Path) -> None:
    with running(tmp_path) as (controller, fabric):
        fabric.connect("t1", "t2", "a1", "a2")
        until(lambda: way(controller, "h1") == "a1")
        measured, began = controller.events.measurements, time.monotonic()
        fabric.set_port("t1", 1, up=False)
        until(lambda: way(controller, "h1") == "a2")  # 300 us instead of 200, four times
        assert time.monotonic() - began < 5
        assert controller.events.measurements == measured
        until(lambda: fabric.tables["t1"]["02:00:00:00:00:02"] == (2,))
        fabric.set_port("t1", 1, up=True)
        until(lambda: way(controller, "h1") == "a1")


def test_a_dead_switch_moves_the_way_and_two_leave_none(tmp_path: Path) -> None:
    with running(tmp_path) as (controller, fabric):
        fabric.connect("t1", "t2", "a1", "a2")
        until(lambda: way(controller, "h1") == "a1")
        for switch, expected in (("a1", "a2"), ("a2", "")):
            fabric.up.discard(switch)
            controller.switch_down(switch)
            until(lambda expected=expected: way(controller, "h1") == expected)  # type: ignore[misc]
        assert any("no way from h1" in problem for problem in controller.view.problems)


def test_a_silent_link_is_dropped(tmp_path: Path) -> None:
    with running(tmp_path) as (controller, fabric):
        fabric.connect("t1", "t2", "a1", "a2")
        until(lambda: way(controller, "h1") == "a1")
        fabric.up.discard("a1")  # its ports are up, but nothing passes
        until(lambda: way(controller, "h1") == "a2")


def test_a_silent_link_is_dropped_while_all_is_measured(tmp_path: Path) -> None:
    text = FILE.replace("samples = 2", "samples = 10_000").replace('gap = "0s"', 'gap = "1ms"')
    with running(tmp_path, text) as (controller, fabric):
        fabric.connect("t1", "t2", "a1", "a2")
        until(lambda: way(controller, "h1") == "a1")
        measured = controller.events.measurements
        fabric.up.discard("a1")
        until(lambda: way(controller, "h1") == "a2")
        assert controller.events.measurements == measured, "it still measures"


def test_a_host_with_ipv6_alone_is_found_and_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(HOSTS, ("t2", 3), ("fd00::2", HOSTS["t2", 3][1]))
    with running(tmp_path, FILE.replace('"10.0.0.2"', '"fd00::2"')) as (controller, fabric):
        fabric.connect("t1", "t2", "a1", "a2")
        until(lambda: way(controller, "h1") == "a1")
        assert [route.prefix for route in controller.view.documents["h1"].routes] == ["fd00::2/128"]
        known = controller.view.network.hosts["h2"]
        assert (known.delay_ns.value, known.delay_ns.source) == (100_000, Source.NDP)


def test_broadcasts_take_a_tree_once_no_switch_shows_at_a_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Port 4 has nobody who is known: a client of DHCP may be there, or a cable to a switch that LLDP has not crossed yet."""
    with running(tmp_path) as (controller, fabric):
        began = controller.events.computed
        fabric.connect("t1", "t2", "a1", "a2")
        until(lambda: fabric.tables.get("t1", {}).get(OTHERS) == (1, 2, 3, 4))
        until(lambda: controller.events.computed > began)
        trees = {switch: table[OTHERS] for switch, table in fabric.tables.items()}
        assert trees == {"t1": (1, 2, 3, 4), "t2": (1, 3, 4), "a1": (1, 2), "a2": (1,)}
        fabric.set_port("t2", 4, up=False)
        until(lambda: fabric.tables["t2"][OTHERS] == (1, 3))
        asked = controller.topology.watch
        monkeypatch.setattr(controller.topology, "watch", lambda: ([], False))
        computed = controller.events.computed
        fabric.set_port("t2", 4, up=True)
        until(lambda: controller.events.computed > computed)
        assert 4 not in fabric.tables["t2"][OTHERS]
        monkeypatch.setattr(controller.topology, "watch", asked)
        until(lambda: fabric.tables["t2"][OTHERS] == (1, 3, 4))


def test_after_a_restart_nothing_is_measured_anew_and_the_epoch_grows(tmp_path: Path) -> None:
    with running(tmp_path) as (before, fabric):
        fabric.connect("t1", "t2", "a1", "a2")
        until(lambda: way(before, "h1") == "a1")
        tables = fabric.tables
    before.save()
    began = time.monotonic()
    with running(tmp_path) as (after, fabric):
        fabric.tables = {switch: dict(table) for switch, table in tables.items()}
        fabric.tables["t1"]["02:00:00:00:00:99"] = (1,)  # of a host that is no more
        fabric.connect("t1", "t2", "a1", "a2")
        until(lambda: way(after, "h1") == "a1")
        assert time.monotonic() - began < 3 and after.events.measurements == 0
        assert after.publication.epoch > before.publication.epoch
        until(lambda: "02:00:00:00:00:99" not in fabric.tables["t1"])


QUICK = FILE.replace('settle = "5s"', 'settle = "100ms"')


def served(controller: Controller) -> dict[str, tuple[Route, ...]]:
    return {host: found.routes for host, found in controller.view.documents.items()}


def tell(folder: Path) -> dict[str, tuple[Route, ...]]:
    """What a controller has told, which then ends as if it were killed."""
    with running(folder, QUICK) as (controller, fabric):
        fabric.connect("t1", "t2", "a1", "a2")
        until(lambda: way(controller, "h1") == way(controller, "h2") == "a1")
        told = served(controller)
        until(lambda: State.load(folder / "state.json").rollout.told == told)
    return told


def test_after_a_restart_hosts_keep_what_they_had_until_the_network_is_back(tmp_path: Path) -> None:
    told = tell(tmp_path)
    with running(tmp_path, QUICK) as (controller, fabric):
        until(lambda: controller.view.settled)
        assert served(controller) == told and REMEMBERING in controller.view.problems
        fabric.connect("t1")  # h1 is back, h2 is not
        computed = controller.events.computed
        until(lambda: controller.events.computed > computed)
        assert served(controller) == told
        fabric.connect("t2", "a2")  # what is found counts at once
        until(lambda: way(controller, "h1") == way(controller, "h2") == "a2")
        assert REMEMBERING in controller.view.problems
        fabric.connect("a1")
        until(lambda: REMEMBERING not in controller.view.problems)
        until(lambda: served(controller) == told)
        fabric.connect("t1", "t2")
        for upper in (1, 2):
            fabric.set_port("t1", upper, up=False)
        until(lambda: way(controller, "h1") == "", 5)  # from now on what is gone is gone


def test_a_controller_that_is_killed_while_it_starts_forgets_nothing(tmp_path: Path) -> None:
    """It keeps its epoch before it has computed anything, and with it what the one before has told."""
    told = tell(tmp_path)
    Controller(Config.load(tmp_path / "controller.toml"))
    assert State.load(tmp_path / "state.json").rollout.told == told
    with running(tmp_path, QUICK) as (controller, _):
        until(lambda: controller.view.settled)
        assert served(controller) == told


def test_what_hosts_had_before_a_restart_lasts_no_longer_than_their_lifetime(
    tmp_path: Path,
) -> None:
    told = tell(tmp_path)
    with running(tmp_path, f'{QUICK}[api]\nlifetime = "5s"\n') as (controller, _):
        until(lambda: controller.view.settled)
        assert served(controller) == told
        until(lambda: not any(served(controller).values()))
        assert REMEMBERING not in controller.view.problems


def test_what_was_told_before_fills_only_what_is_not_known_now() -> None:
    def to(*prefixes: str, rto: int = 1) -> tuple[Route, ...]:
        return tuple(Route(prefix, rto, 4, 5, 1, 10) for prefix in prefixes)

    before = {"h1": to("10.0.1.0/24", "10.0.2.7/32", "fd00::/64"), "gone": to("10.0.1.0/24")}
    found = Remembered(before, until=10)
    computed = {"h1": to("10.0.2.0/24", "fd00::/64", rto=2), "h2": ()}
    wanted = found.beside(computed, ["h1", "h2"])
    assert wanted == {"h1": (*computed["h1"], *to("10.0.1.0/24")), "h2": ()}
    assert not found.is_over(9, is_back=False) and found.is_over(10, is_back=False)
    assert found.beside(computed, ["h1", "h2"]) == computed


def move_cables(monkeypatch: pytest.MonkeyPatch) -> None:
    """At t1, h1 and the link to a1 change places."""
    monkeypatch.setitem(CABLES, ("t1", 3), ("a1", 1))
    monkeypatch.setitem(CABLES, ("a1", 1), ("t1", 3))
    monkeypatch.delitem(CABLES, ("t1", 1))
    monkeypatch.setitem(HOSTS, ("t1", 1), HOSTS["t1", 3])
    monkeypatch.delitem(HOSTS, ("t1", 3))


def cables_are_as_moved(controller: Controller) -> bool:
    seat = controller.topology.seat("h1")
    link = controller.topology.neighbour(PortId("t1", 3))
    return (
        seat is not None
        and seat[0] == PortId("t1", 1)
        and controller.topology.is_edge(seat[0])
        and link == PortId("a1", 1)
        and way(controller, "h1") == "a1"
    )


def test_cables_moved_while_the_controller_was_away_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path) as (before, fabric):
        fabric.connect("t1", "t2", "a1", "a2")
        until(lambda: way(before, "h1") == "a1")
    before.save()
    move_cables(monkeypatch)
    with running(tmp_path) as (after, fabric):
        fabric.connect("t1", "t2", "a1", "a2")
        until(lambda: cables_are_as_moved(after))


def test_cables_moved_while_a_switch_was_away_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path) as (controller, fabric):
        fabric.connect("t1", "t2", "a1", "a2")
        until(lambda: way(controller, "h1") == "a1")
        fabric.up.discard("t1")
        controller.switch_down("t1")
        move_cables(monkeypatch)
        fabric.connect("t1")
        until(lambda: cables_are_as_moved(controller))


THIEF = ("10.0.0.1", "02:00:00:00:00:04")


def place(controller: Controller, host: str) -> PortId | None:
    seat = controller.topology.seat(host)
    return seat[0] if seat else None


def complaints(controller: Controller) -> list[str]:
    found = views.health(controller, 0, "", operator=True)
    assert found.problems is not None
    assert found.status == ("problems" if found.problems else "ok")
    return found.problems


def test_an_address_cannot_be_kept_by_who_took_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """h1's port is down for a while, and another host answers the probes for it."""
    with running(tmp_path) as (controller, fabric):
        fabric.connect("t1", "t2", "a1", "a2")
        until(lambda: way(controller, "h1") == "a1")
        assert complaints(controller) == []
        monkeypatch.setitem(HOSTS, ("t2", 4), THIEF)
        fabric.set_port("t1", 3, up=False)
        until(lambda: place(controller, "h1") == PortId("t2", 4))
        until(lambda: any("at first it was" in one for one in complaints(controller)))
        fabric.set_port("t1", 3, up=True)
        until(lambda: place(controller, "h1") == PortId("t1", 3))
        until(lambda: way(controller, "h1") == "a1")
        until(lambda: any("host h1 is claimed by" in one for one in complaints(controller)))
        monkeypatch.delitem(HOSTS, ("t2", 4))
        until(lambda: complaints(controller) == [])


def test_a_host_that_moves_while_its_old_port_stays_up_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path) as (controller, fabric):
        fabric.connect("t1", "t2", "a1", "a2")
        until(lambda: way(controller, "h1") == "a1")
        monkeypatch.setitem(HOSTS, ("t2", 4), HOSTS["t1", 3])
        monkeypatch.delitem(HOSTS, ("t1", 3))
        until(lambda: place(controller, "h1") == PortId("t2", 4))
        until(lambda: complaints(controller) == [])


def test_a_host_that_says_where_it_is_now_is_believed_once_it_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gratuitous ARP is followed by a probe, which another host's would fail."""
    with running(tmp_path, FILE + 'mac = "02:00:00:00:00:02"\n') as (controller, fabric):
        fabric.connect("t1", "t2", "a1", "a2")
        until(lambda: way(controller, "h1") == "a1")
        address, mac = IPv4Address("10.0.0.1"), bytes.fromhex("020000000001")
        gratuitous = arp.Packet(arp.BROADCAST, mac, arp.REQUEST, mac, address, bytes(6), address)
        asked = controller.prober.counters["arp_accepted"]
        controller.packet_in(PortId("t2", 4), arp.encode(gratuitous), 0)
        assert controller.prober.counters["arp_accepted"] == asked, "nobody is there"
        assert place(controller, "h1") == PortId("t1", 3)
        monkeypatch.setitem(HOSTS, ("t2", 4), HOSTS["t1", 3])
        controller.packet_in(PortId("t2", 4), arp.encode(gratuitous), 0)
        assert PortId("t2", 4) in controller.topology.seats.ports("h1")


def test_noise_leaves_a_delay_as_it_was_but_a_better_measurement_counts() -> None:
    topology, ends = Topology({}), (PortId("t1", 1), PortId("a1", 1))

    def learn(delay_ns: int, better: bool = False) -> tuple[bool, int]:
        changed = topology.link_delay(*ends, Known(delay_ns, Source.LLDP), better)
        known = topology.delay(*ends)
        assert known
        return changed, known.value

    assert learn(215_000) == (True, 215_000)
    assert learn(200_000) == (False, 215_000)
    assert learn(200_000, better=True) == (True, 200_000)
    assert learn(221_000) == (True, 221_000)


def test_a_switch_that_does_not_come_back_holds_up_nobody_for_longer_than_settle(
    tmp_path: Path,
) -> None:
    text = FILE.replace('settle = "5s"', 'settle = "300ms"')
    with running(tmp_path, text) as (controller, fabric):
        fabric.connect("t1", "t2", "a2")
        until(lambda: way(controller, "h1") == "a2")


def test_a_switch_that_comes_back_with_a_port_less_is_no_puzzle(tmp_path: Path) -> None:
    """Its older connection is not over yet when the newer one tells of its ports."""
    with running(tmp_path) as (controller, fabric):
        fabric.connect("t1", "t2", "a1", "a2")
        until(lambda: way(controller, "h1") == "a1")
        ports = [PortDescription(n, f"t1-{n}", True, 10**9) for n in (2, 3, 4)]
        controller.switch_up("t1", ports, fabric.tables["t1"])
        until(lambda: way(controller, "h1") == "a2")
        assert controller.events.failed == 0


def test_what_cannot_be_computed_shows_in_health_and_metrics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path) as (controller, fabric):
        fabric.connect("t1", "t2", "a1", "a2")
        until(lambda: way(controller, "h1") == "a1" and complaints(controller) == [])
        told = controller.view.documents

        def broken(*_: object) -> None:
            raise KeyError("t1:7")

        with monkeypatch.context() as patched:
            patched.setattr(controller.topology, "network", broken)
            controller.changed()
            until(lambda: any("KeyError('t1:7')" in one for one in complaints(controller)))
            text = metrics.text(controller, Hub(), {}, len(complaints(controller)))
            assert "etalon_otcp_problems 1\n" in text
            assert "etalon_otcp_computing_failed_total 1\n" in text
            assert controller.view.documents is told
        controller.changed()
        until(lambda: complaints(controller) == [])


def test_arp_is_answered_in_a_hosts_stead(tmp_path: Path) -> None:
    with running(tmp_path) as (controller, fabric):
        fabric.connect("t1", "t2", "a1", "a2")
        until(lambda: way(controller, "h1"))
        frames: list[bytes] = []
        fabric.send = lambda action: frames.append(getattr(action, "frame", b""))  # type: ignore[method-assign]
        mac = bytes.fromhex("020000000001")
        request = arp.Packet(
            arp.BROADCAST,
            mac,
            arp.REQUEST,
            mac,
            IPv4Address("10.0.0.1"),
            bytes(6),
            IPv4Address("10.0.0.2"),
        )
        controller.packet_in(PortId("t1", 3), arp.encode(request), 0)
        replies = [arp.decode(frame) for frame in frames if frame[:6] == mac and arp.is_arp(frame)]
        assert [reply.sender_mac.hex(":") for reply in replies] == ["02:00:00:00:00:02"]


def test_arp_for_an_address_that_is_not_in_the_file_reaches_all_ports_without_a_switch(
    tmp_path: Path,
) -> None:
    with running(tmp_path) as (controller, fabric):
        fabric.connect("t1", "t2", "a1", "a2")
        until(lambda: len(controller.view.network.edges) == 4)
        sent: list[tuple[str, tuple[int, ...]]] = []
        fabric.send = lambda action: sent.append((action.switch, action.ports))  # type: ignore
        mac, gateway = bytes.fromhex("020000000001"), IPv4Address("10.0.0.254")
        asker = IPv4Address("10.0.0.1")
        request = arp.Packet(arp.BROADCAST, mac, arp.REQUEST, mac, asker, bytes(6), gateway)
        for _ in range(100):
            controller.packet_in(PortId("t1", 3), arp.encode(request), 0)
        relayed = [one for one in sent if one in (("t1", (4,)), ("t2", (3, 4)))]
        assert 2 * RELAYED_PER_S <= len(relayed) < 180, "a busy machine takes a while"
        # One that asks for more than that leaves others theirs.
        other = request._replace(
            source=b"\2" * 6, sender_mac=b"\2" * 6, sender=IPv4Address("10.0.0.9")
        )
        controller.packet_in(PortId("t2", 4), arp.encode(other), 0)
        assert ("t2", (3,)) in sent


def test_arp_that_claims_anothers_address_goes_no_further(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Hosts believe any ARP: a broadcast answer with h1's address would bring its traffic to whoever sends it."""
    with running(tmp_path) as (controller, fabric):
        fabric.connect("t1", "t2", "a1", "a2")
        until(lambda: len(controller.view.network.edges) == 4 and way(controller, "h1"))
        until(lambda: place(controller, "h1") and place(controller, "h2"))
        sent: list[tuple[str, tuple[int, ...], bytes]] = []
        fabric.send = lambda action: sent.append((action.switch, action.ports, action.frame))  # type: ignore
        h1, h2, liar = (bytes.fromhex(f"02000000000{n}") for n in (1, 2, 9))
        victim, gateway = IPv4Address("10.0.0.1"), IPv4Address("10.0.0.254")

        def says(port: PortId, packet: arp.Packet) -> list[tuple[str, tuple[int, ...]]]:
            """Where that goes; probes, and what else the controller does meanwhile, left out."""
            sent.clear()
            controller.packet_in(port, arp.encode(packet), 0)
            return [one[:2] for one in list(sent) if one[2] == arp.encode(packet)]

        from_liar = PortId("t2", 4)
        reply = arp.Packet(arp.BROADCAST, liar, arp.REPLY, liar, victim, bytes(6), victim)
        assert says(from_liar, reply) == []
        assert says(from_liar, reply._replace(destination=h2, target_mac=h2)) == []
        assert says(from_liar, reply._replace(operation=arp.REQUEST, target=gateway)) == []
        assert controller.prober.counters["claims_forged"] == 3
        assert (
            "port 4 of t2 claims that host h1 has the hardware address 02:00:00:00:00:09"
            in caplog.text
        )

        # A host's own answers arrive: for a host of the file where it sits, for others everywhere.
        own = arp.Packet(
            h2,
            h1,
            arp.REPLY,
            h1,
            victim,
            h2,
            IPv4Address("10.0.0.2"),
        )
        assert says(PortId("t1", 3), own) == [("t2", (3,))]
        foreign = own._replace(destination=liar, target_mac=liar, target=gateway)
        assert says(PortId("t1", 3), foreign) == [("t1", (4,)), ("t2", (3, 4))]


def test_neighbour_discovery_that_claims_anothers_address_goes_no_further(tmp_path: Path) -> None:
    text = FILE.replace('["10.0.0.1"]', '["10.0.0.1", "fd00::1"]')
    text = text.replace('["10.0.0.2"]', '["10.0.0.2", "fd00::2"]')
    with running(tmp_path, text) as (controller, fabric):
        fabric.connect("t1", "t2", "a1", "a2")
        until(lambda: len(controller.view.network.edges) == 4)
        until(lambda: place(controller, "h1") and place(controller, "h2"))
        sent: list[tuple[str, tuple[int, ...], bytes]] = []
        fabric.send = lambda action: sent.append((action.switch, action.ports, action.frame))  # type: ignore
        h1, h2, liar = (bytes.fromhex(f"02000000000{n}") for n in (1, 2, 9))
        at = PortId("t2", 4)

        def says(port: PortId, frame: bytes) -> list[tuple[str, tuple[int, ...]]]:
            sent.clear()
            controller.packet_in(port, frame, 0)
            return [one[:2] for one in list(sent) if one[2] == frame]

        def frame(mac: bytes, to: bytes, kind: int, sender: str, target: str) -> bytes:
            option = bytes([1 if kind == ndp.SOLICITATION else 2, 1]) + mac
            ends = IPv6Address(sender), IPv6Address("ff02::1")
            return ndp._frame(to, mac, *ends, kind, 0x2000_0000, IPv6Address(target), option)

        everybody = bytes.fromhex("333300000001")
        tells = frame(liar, everybody, ndp.ADVERTISEMENT, "fe80::9", "fd00::1")
        asks = frame(liar, everybody, ndp.SOLICITATION, "fd00::1", "fd00::2")
        assert says(at, tells) == [] == says(at, asks)
        assert controller.prober.counters["claims_forged"] == 2
        # The host's own pass: to whom they are for, or to all.
        everywhere = [("t1", (4,)), ("t2", (3, 4))]
        own = frame(h1, everybody, ndp.ADVERTISEMENT, "fd00::1", "fd00::1")
        assert says(PortId("t1", 3), own) == everywhere
        to_h2 = frame(h1, h2, ndp.ADVERTISEMENT, "fd00::1", "fd00::1")
        assert says(PortId("t1", 3), to_h2) == [("t2", (3,))]
        asks = frame(h1, everybody, ndp.SOLICITATION, "fd00::1", "fd00::2")
        assert says(PortId("t1", 3), asks) == [("t2", (3,))]
        asks = frame(h1, everybody, ndp.SOLICITATION, "fd00::1", "fd00::99")
        assert says(PortId("t1", 3), asks) == everywhere


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (('dpid = "2"', 'dpid = "1"'), "dpid 1 is there twice"),
        (('dpid = "2"', 'dpid = "-2"'), 'dpid: "-2" must be 1 to 16 hexadecimal digits'),
        (('"10.0.0.2"', '"224.0.0.1"'), '"224.0.0.1" is no address by which others reach a host'),
        (('"10.0.0.2"', '"::ffff:10.0.0.2"'), "is no address by which others reach a host"),
        (("[network]", '[rollout]\ncanary = "nan%"\n[network]'), '"nan%" must be a list of hosts'),
        (("[network]", '[tcp]\nalpha = "many"\n[network]'), 'tcp.alpha: "many" must be a whole'),
        (("[network]", f"[tcp]\nalpha = {'9' * 5000}\n[network]"), "too many digits"),
        (
            ("[network]", '[api]\nlisten = "127.0.0.1:6653"\n[network]'),
            'api.listen: "127.0.0.1:6653" is openflow.listen too',
        ),
        (
            ("[network]", '[api]\nlifetime = "3601s"\n[network]'),
            "time is at most",
        ),
        (('"10.0.0.2"', '"10.0.0.1"'), "address 10.0.0.1 is there twice"),
        (('queue = "90kB"', "queue = 90"), "queue"),
        (
            ("[measure]", '[api]\nlisten = "0.0.0.0:80"\nplain_text = true\n[measure]'),
            "loopback only",
        ),
        (("[measure]", '[api]\nlisten = "0.0.0.0:80"\n[measure]'), "api.plain_text = true"),
        (
            ("[measure]", '[openflow]\nlisten = "[::]:6653"\n[measure]'),
            "openflow.plain_text = true",
        ),
        (("samples = 2", "sample = 2"), "sample"),
        (('dpid = "2"', 'dpid = "2"\nprefixes = ["10.0.0.1/24"]'), "host bits set"),
    ],
)
def test_a_bad_file_gets_a_sentence(tmp_path: Path, change: tuple[str, str], sentence: str) -> None:
    file = tmp_path / "controller.toml"
    file.write_text(FILE.replace(*change))
    with pytest.raises(PlanError, match=sentence) as caught:
        Config.load(file)
    assert str(file) in str(caught.value)


def test_a_bad_state_gets_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text('{"epoch": 1, "links": [[["t1", 1], ["a1", 1], -5, 0]], "hosts": []}')
    with pytest.raises(PlanError, match="remove it to start without measurements"):
        State.load(path)


def test_a_port_to_a_switch_that_has_lost_the_controller_is_no_edge(tmp_path: Path) -> None:
    """It may forward as before: broadcasts that left to it would come back by another way, for ever."""
    with running(tmp_path) as (controller, fabric):
        fabric.connect("t1", "t2", "a1", "a2")
        until(lambda: way(controller, "h1") == "a1")
        until(lambda: PortId("t1", 4) in controller.view.network.edges)  # nobody is there
        fabric.leave("a1")
        until(lambda: way(controller, "h1") == "a2")
        for _ in range(3):  # a link is silent before its port can be an edge
            fabric.set_port("t2", 4, up=False)
            fabric.set_port("t2", 4, up=True)
            assert PortId("t2", 4) not in controller.topology.network().edges
            until(lambda: PortId("t2", 4) in controller.topology.network().edges)
        assert not {PortId("t1", 1), PortId("t2", 1)} & controller.topology.network().edges
        fabric.set_port("t1", 1, up=False)  # the cable may be moved
        fabric.set_port("t1", 1, up=True)
        until(lambda: PortId("t1", 1) in controller.topology.network().edges)
