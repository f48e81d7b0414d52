# SPDX-License-Identifier: MIT OR Apache-2.0
"""A switch that sends more than it may: budgets in virtual time, and a whole controller beside which another is served."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from ipaddress import IPv6Address, ip_address
from pathlib import Path

import pytest
from controller_beside import ControllerBeside
from fabric import until
from model_switch import ModelSwitch, message
from networks import tables
from openflow import OUTPUT, entry, error, port_status, reply
from switches_beside import packet_in

from conftest import need_module

need_module("os_ken", "otcp")

from etalon_otcp import arp, floods, inbox, ndp
from etalon_otcp.floods import Budget, Floods
from etalon_otcp.inbox import ASKED_S, BURST_S, CHANGES_PER_S, LEAST_CHANGES, Inbox
from etalon_otcp.network import PortId
from etalon_otcp.probing import PacketOut, Prober

ERROR, ECHO, REPLY = error(3, 4), message(2, b"are you there"), reply(1)


def test_a_budget_is_a_burst_and_so_much_a_second() -> None:
    now = [0.0]
    budget = Budget(2.0, 10.0, lambda: now[0])
    budget.spend(10.0)
    assert not budget.wait_s()
    budget.spend(4.0)
    assert budget.wait_s() == pytest.approx(2.0)
    now[0] = 1.5
    assert budget.wait_s() == pytest.approx(0.5)
    now[0] = 100.0
    budget.spend(11.0)
    assert budget.wait_s() == pytest.approx(0.5), "what is not spent is no larger burst"


class Box:
    """An inbox in virtual time; handling takes none, but of replies `reply_s`."""

    def __init__(self) -> None:
        self.now = self.reply_s = 0.0
        self.dropped: Counter[str] = Counter()
        self.late = 0
        self.handled: list[bytes] = []
        self.inbox = Inbox(
            lambda kind: self.dropped.update([kind]),
            self._be_late,
            lambda: self.now,
            self._sleep,
        )

    def _sleep(self, seconds: float) -> None:
        self.now += seconds + 1e-6  # no sleep is shorter

    def _be_late(self) -> None:
        self.late += 1

    def put(self, *messages: bytes) -> list[bool]:
        return [self.inbox.put(one) for one in messages]

    def work(self) -> list[bytes]:
        """What is handled now."""
        self.handled = []
        for _ in range(50):
            self.inbox.handle(self.handle, 0)
        return self.handled

    def handle(self, message: bytes) -> None:
        self.handled.append(message)
        if message[1] == REPLY[1]:
            self.inbox._share.spend(self.reply_s)


def test_beyond_its_share_only_what_tells_how_something_is_is_kept() -> None:
    box = Box()
    old = [ERROR, port_status(1), port_status(1, 1), port_status(2, 1), ECHO]
    assert box.put(*old) == [True] * 5
    box.inbox._share.spend(BURST_S + 0.1)
    assert box.put(ERROR, packet_in(1, b"x"), port_status(1), ECHO, ECHO) == [False] * 5
    assert box.dropped == {"error": 1, "packet-in": 1, "echo": 1}
    assert box.work() == [] and not box.inbox.waiting
    assert box.inbox.put_off == sum(map(len, old)), "reading these counts too"
    assert box.dropped == {"error": 2, "packet-in": 1, "port-status": 2, "echo": 2}
    box.now = 1.1
    assert box.put(port_status(1, 1)) == [False], "it overtakes none that waits"
    assert box.put(ERROR, port_status(3)) == [True, True]
    assert box.work() == [ERROR, port_status(3), port_status(1, 1), ECHO, port_status(2, 1)]
    assert box.inbox.is_empty and not box.inbox.waiting and not box.late


def test_of_what_waits_the_newest_is_kept() -> None:
    box = Box()
    box.put(port_status(1, 0), port_status(1, 1), port_status(1, 2))
    box.inbox._share.spend(BURST_S + 0.1)
    assert box.work() == []
    box.now = 1.1
    assert box.work() == [port_status(1, 2)]


def test_ports_change_so_often_and_no_more() -> None:
    box = Box()
    for number in range(1000):
        box.put(port_status(1 + number % 2, number % 3))
        box.inbox.handle(box.handled.append, 0)
    assert len(box.handled) == LEAST_CHANGES + 1
    last = [port_status(2, 999 % 3), port_status(1, 998 % 3)]
    for one in last:
        box.now += 1 / CHANGES_PER_S + 0.001
        assert box.work() == [one]
    assert box.dropped["port-status"] == 1000 - len(last) - (LEAST_CHANGES + 1)
    box.inbox.told(48 * LEAST_CHANGES, False)
    for number in range(LEAST_CHANGES * 2):
        assert box.put(port_status(number)) == [True]
        box.inbox.handle(box.handled.append, 0)


def test_replies_wait_unless_they_were_asked_for() -> None:
    box = Box()
    box.inbox._share.spend(BURST_S + 0.001)
    box.inbox.free_replies_s = 5.0
    assert box.put(reply(1)) == [True] and box.work() == [reply(1)] and not box.late
    box.inbox.told(4, False)
    box.put(reply(1))
    assert box.work() == [reply(1)] and box.late == 1


@pytest.mark.parametrize(
    ("told", "free"), [(None, ASKED_S), (False, 0.0), (True, 1000.0)], ids=["asked", "told", "asks"]
)
def test_replies_are_free_once_while_a_switch_tells_of_itself(
    told: bool | None, free: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that never ends its ports takes no more than that, and then its share."""
    box, taken = Box(), [0.0]
    monkeypatch.setattr(inbox.time, "thread_time", lambda: taken[0])
    box.inbox.free_replies_s = ASKED_S
    if told is not None:
        box.inbox.told(4, told)

    def handle(message: bytes) -> None:
        taken[0] += 0.1

    for _ in range(100):
        box.put(REPLY)
        box.inbox.handle(handle, 0)
    assert taken[0] == pytest.approx(10.0), "none is lost"
    over_s = max(0.0, 10.0 - free - BURST_S - 0.1)
    assert box.now == pytest.approx(over_s / inbox.SHARE, abs=2.0)


@pytest.mark.parametrize("are_free", [False, True])
def test_what_was_put_off_has_its_turn_beside_replies_without_end(are_free: bool) -> None:
    """The queue is never empty, so that nothing would be handled that waits for it to be."""
    box = Box()
    box.inbox.free_replies_s, box.reply_s = (5.0, 0.0) if are_free else (0.0, 0.01)
    box.put(REPLY, REPLY, port_status(1), REPLY, port_status(2))
    box.inbox._share.spend(BURST_S + 0.05)
    gone = [port_status(1, 1), ECHO, port_status(3, 1)]
    assert box.put(*gone) == [False] * 3
    for _ in range(60):
        box.put(REPLY)
        box.inbox.handle(box.handle, 0)
        box.now += 0.02
    assert [one for one in box.handled if one != REPLY] in (
        [*gone, port_status(2)],
        [gone[0], port_status(2), *gone[1:]],
    ), "each once, and none that is older than one before it"
    assert box.handled.count(REPLY) >= 50 and box.inbox.waiting, "replies are handled too"


def test_floods_are_named_for_a_while() -> None:
    now = [0.0]
    found = Floods(lambda: now[0])
    assert not found.problems()
    found.drop("t1", "packet-in", 5)
    found.late("t2")
    now[0] = 10.0
    found.drop("t1", "error")
    assert found.problems() == [
        "switch t1 sends more messages than it may: 1 of error, 5 of packet-in were dropped; last 0 s ago",
        "switch t2 sends more messages than it may: they wait; last 10 s ago",
    ]
    now[0] = floods.NAMED_S + 5
    assert len(found.problems()) == 1
    now[0] = 2 * floods.NAMED_S
    assert not found.problems()
    found.drop("t1", "error")
    assert "1 of error were dropped" in found.problems()[0], "this is another flood"
    assert found.dropped() == {("t1", "packet-in"): 5, ("t1", "error"): 2}


@pytest.mark.parametrize("address", ["10.0.0.1", "2001:db8::1"])
def test_an_answer_to_a_probe_is_awaited_once_and_to_the_byte(address: str) -> None:
    prober, place, mac = Prober({"t1": 1, "t2": 2}, 1), PortId("t1", 3), b"\2\0\0\0\0\1"
    asked = prober.host("h1", ip_address(address), "t1", (3,), 0)
    assert isinstance(asked, PacketOut)
    if isinstance(ip_address(address), IPv6Address):
        answer, other = ndp.answer(asked.frame, mac), b""
    else:
        request = arp.decode(asked.frame)
        answer = arp.encode(arp.answer(request, mac))
        other = arp.encode(arp.answer(request, mac)._replace(sender=ip_address("10.0.0.2")))
    assert prober.awaits(place, answer) and not prober.awaits(PortId("t2", 3), answer)
    assert not any(prober.awaits(place, one) for one in (b"", asked.frame, other, answer[:-20]))
    assert prober.packet_in(place, answer, 1, lambda _: False)
    assert not prober.awaits(place, answer)


def test_lldp_is_awaited_once() -> None:
    prober, place = Prober({"t1": 1, "t2": 2}, 1), PortId("t2", 1)
    one = prober.link(PortId("t1", 1), 0)
    many = prober.links("t1", (1, 2), {place: PortId("t1", 1), PortId("t2", 2): PortId("t1", 2)}, 0)
    assert isinstance(one, PacketOut) and isinstance(many, PacketOut)
    for frame in (one.frame, many.frame):
        assert prober.awaits(place, frame)
        assert not prober.awaits(place, frame[:-1] + bytes([frame[-1] ^ 1]))
        prober.packet_in(place, frame, 1, lambda _: False)
        assert not prober.awaits(place, frame)
    assert prober.awaits(PortId("t2", 2), many.frame)


def asks(number: int) -> bytes:
    """ARP for a host that nobody knows."""
    mac = b"\2\0\0" + number.to_bytes(3, "big")
    sender, target = (ip_address(f"10.9.{number}.{n}") for n in (1, 2))
    return arp.encode(arp.Packet(b"\xff" * 6, mac, arp.REQUEST, mac, sender, bytes(6), target))


FLOODS = {
    "packet-in": [packet_in(1 + number % 2, asks(number)) for number in range(200)],
    "port-status": [port_status(2, 1 + number % 2) for number in range(200)],
    "error": [ERROR] * 200,
    "replies": [reply(1, entry(OUTPUT) * 100)] * 10,
}


@pytest.mark.parametrize("kind", FLOODS)
def test_beside_a_switch_that_floods_others_are_served(tmp_path: Path, kind: str) -> None:
    """What is dropped is counted and named; another switch's port goes, and the one that floods stays."""
    with (
        ControllerBeside(tmp_path, tables("t1", "t2")) as controller,
        ModelSwitch(controller.port, 1) as flooding,
        ModelSwitch(controller.port, 2) as other,
    ):

        def ports() -> dict[str, list[int]]:
            found = json.loads(controller.get("/v1/topology"))["switches"]
            return {one["name"]: [port["number"] for port in one["ports"]] for one in found}

        until(lambda: ports() == {"t1": [1, 2], "t2": [1, 2]})
        stop = threading.Event()
        began = time.monotonic()

        def flood() -> None:
            while not stop.is_set():
                flooding.say(b"".join(FLOODS[kind]))

        thread = threading.Thread(target=flood, daemon=True)
        thread.start()
        try:
            named = "switch t1 sends more messages than it may"
            until(lambda: named in controller.get("/v1/health"), 60)
            if kind != "replies":  # they wait
                counted = f'etalon_otcp_dropped_total{{switch="t1",what="{kind}"}}'
                until(lambda: counted in controller.get("/metrics"), 60)
            other.say(port_status(2, 1))
            until(lambda: ports()["t2"] == [1])
            said = json.loads(controller.get("/v1/health"))["problems"]
            assert any(named in one for one in said), said
            assert not any("switch t2" in one for one in said), said
            frames = controller.metric("etalon_otcp_frames_total")
            assert frames <= 1000 * (time.monotonic() - began + 1) + 200
        finally:
            stop.set()
            thread.join(60)
        assert not thread.is_alive() and not flooding.has_ended.is_set()
        assert 'etalon_otcp_dropped_total{switch="t2"' not in controller.get("/metrics")
