# SPDX-License-Identifier: MIT OR Apache-2.0
"""Switches that send damaged messages of every kind, to a whole controller: it drops the message or that switch, no other.

A second here; `python otcp/fuzz.py --minutes 10 OpenFlow` for long, with another seed each time.
"""

from __future__ import annotations

import contextlib
import logging
import random
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from test_fuzz import SEED, batches, blamed, mutated, settled

from conftest import need_module

need_module("os_ken", "otcp")

import openflow
from controller_beside import ControllerBeside
from fabric import until
from model_switch import ModelSwitch, message
from networks import tables
from openflow import EVERY, features, reply
from switches_beside import packet_in
from test_lengths import within

from etalon_otcp import channel as channel_module
from etalon_otcp import switches as switches_module
from etalon_otcp.channel import Channel
from etalon_otcp.controller import Controller
from etalon_otcp.entries import GROUPS, MOST_GROUPS, Entries
from etalon_otcp.rate import Rate
from etalon_otcp.seldom import Seldom
from etalon_otcp.switches import Switches

from os_ken.base.app_manager import AppManager  # isort: skip, `channel` chooses its threads
from os_ken.controller.handler import DEAD_DISPATCHER, MAIN_DISPATCHER
from os_ken.controller.ofp_handler import OFPHandler
from os_ken.ofproto import ofproto_v1_3_parser as parser

CONVERSATIONS = 20
"""Between two looks at what the controller does for others."""
HANDSHAKE = ["hello", "features", "groups", "flows", "ports", "queues"]


class Swallows(socket.socket):
    """A socket to nobody, which keeps all that it is to send."""

    heard = b""

    def send(self, data: Any, *_: Any) -> int:
        self.heard += bytes(data)
        return len(data)


class Conversation:
    """A connection without threads of its own: what it is told is read, and handled, in the test's thread."""

    def __init__(self) -> None:
        self.at = Swallows()
        self.channel = Channel(self.at, ("192.0.2.1", 5), SimpleNamespace(resume=lambda _: None))

    def say(self, data: bytes) -> bool:
        """Takes what a switch sends, as the reader and the connection's thread do; whether it goes on."""
        channel = self.channel
        goes_on = channel.take(data, 0)
        while not channel.inbox.is_empty:
            if not channel.inbox.handle(channel._by_os_ken, 0):
                return False
        return goes_on and channel.state != DEAD_DISPATCHER

    def shake_hands(self, dpid: int) -> None:
        said = EVERY | {"features": features(dpid)}
        assert all(self.say(said[name]) for name in HANDSHAKE)
        assert self.channel.state == MAIN_DISPATCHER and self.channel.taker

    def answers(self) -> bool:
        """Whether an echo comes back."""
        self.at.heard = b""
        self.say(message(2, b"witness"))
        return self.at.heard.endswith(b"witness")

    def close(self) -> None:
        self.channel.close()
        self.at.close()


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Controller]:
    """A controller with all that handles messages, and no thread that reads or computes."""
    controller = settled(tmp_path)
    seldom = Seldom(Rate(1_000_000, 1.0))
    for module in (channel_module, switches_module):
        monkeypatch.setattr(module, "STRANGERS", seldom)
    Switches.controller = controller
    manager = AppManager()
    for application in (OFPHandler, Switches):
        manager.instantiate(application)
    yield controller
    for name in list(manager.applications):
        manager.uninstantiate(name)
    del Switches.controller


def damaged(random_: random.Random, said: bytes) -> bytes:
    """A message with something wrong within, its length right or wrong."""
    how = random_.randrange(7)
    if how == 0:
        return mutated(random_, said)
    data = bytearray(said)
    if how == 1:
        del data[random_.randrange(8, len(data) + 1) :]
    elif how == 2:
        data += random_.randbytes(random_.choice([1, 4, 7, 8, 64, 1000]))
    elif how == 3:  # a length that is too small or too large, of the message or within it
        at = random_.choice([2, *range(8, max(9, len(data) - 1), 2)])
        there = int.from_bytes(data[at : at + 2], "big")
        wrong = random_.choice([0, 1, 4, 7, 8, there - 1, there + 1, there + 8, 0xFFFF])
        data[at : at + 2] = (wrong % 65536).to_bytes(2, "big")
    elif how == 4:  # a number that is as large or small as can be
        at, wide = 4 * random_.randrange(2, max(3, len(data) // 4)), random_.choice([1, 2, 4, 8])
        data[at : at + wide] = random_.choice([b"\0", b"\xff", b"\x7f", b"\1"]) * wide
    else:
        for _ in range(random_.randint(1, 8)):
            data[random_.randrange(len(data))] ^= 1 << random_.randrange(8)
    if how == 1 or random_.random() < 0.7:
        data[2:4] = min(len(data), 0xFFFF).to_bytes(2, "big")
    return bytes(data)


def script(random_: random.Random) -> list[bytes]:
    """What a switch says that connects, stays a while, and at some points sends nonsense."""
    names = [*HANDSHAKE, *random_.choices(list(EVERY), k=random_.randrange(20))]
    if random_.random() < 0.2:
        random_.shuffle(names)
    wrong = random_.sample(range(len(names)), random_.randint(1, 3))
    return [
        damaged(random_, EVERY[name]) if at in wrong else EVERY[name]
        for at, name in enumerate(names)
    ]


def test_openflow_messages(network: Controller, caplog: pytest.LogCaptureFixture) -> None:
    """Whoever sends them, another switch is served, and what follows from them can be computed."""
    caplog.set_level(logging.CRITICAL, logger="os_ken")  # as the command has it
    caplog.handler.setLevel(logging.NOTSET)  # but for us
    witness = Conversation()
    witness.channel.answers = lambda within_s: True
    witness.shake_hands(2)
    messages = conversations = ended = 0
    for random_ in batches():
        for _ in range(CONVERSATIONS):
            conversation, said = Conversation(), script(random_)
            with blamed(b"".join(said)), within(10):
                for one in said:
                    messages += 1
                    if not conversation.say(one):
                        ended += 1
                        break
            conversation.close()
            conversations += 1
            assert witness.channel.state == MAIN_DISPATCHER
            faults = [record for record in caplog.records if record.exc_info]
            assert not faults, b"".join(said).hex()
        with within(60):
            network._compute()
        assert witness.say(packet_in(1, bytes(60))) and witness.answers()
        caplog.clear()
    witness.close()
    print(f"OpenFlow: {messages} messages of {conversations} connections, {ended} ended")


def test_what_is_not_damaged_is_taken(
    network: Controller, caplog: pytest.LogCaptureFixture
) -> None:
    """So that what is damaged gets as far as it can."""
    conversation = Conversation()
    conversation.shake_hands(1)
    assert all(conversation.say(said) for said in EVERY.values())
    assert conversation.answers()
    conversation.close()
    logged = {one.getMessage() for one in caplog.records if one.name == "etalon_otcp"}
    refusals = {
        f"t1 refuses: error type {of}" for of in ("3 code 4", "0 code 0", "65535 code None")
    }
    assert logged - {"switch t1 is gone"} == refusals


def test_groups_without_number_are_not_looked_for_for_ever(network: Controller) -> None:
    """A switch that says that it has all 65,536 of ours: a free number for another one would never be found."""
    conversation = Conversation()
    for said in (EVERY["hello"], features(1)):
        conversation.say(said)
    groups = [
        openflow.described(GROUPS + n, struct.pack("!HHIH6x", 0, 16, n + 1, 0xFFFF))
        for n in range(1 << 16)
    ]
    goes_on = True
    while goes_on and groups:
        goes_on = conversation.say(reply(7, b"".join(groups[:1000]), more=True))
        del groups[:1000]
    assert not goes_on and len(groups) < (1 << 16) - MOST_GROUPS
    conversation.close()


def test_a_switch_is_one(network: Controller) -> None:
    """What a connection has said of itself stays; who claims to be two ends, and leaves neither occupied."""
    conversation = Conversation()
    conversation.say(EVERY["hello"])
    assert conversation.say(features(1)) and conversation.say(features(1))
    assert not conversation.say(features(2))
    other = Conversation()
    other.shake_hands(1)
    for one in (conversation, other):
        one.close()


def test_an_error_of_a_hello_in_any_alphabet_ends_nothing(network: Controller) -> None:
    conversation = Conversation()
    conversation.shake_hands(1)
    assert conversation.say(openflow.error(0, 0, "Größe".encode())) and conversation.answers()
    conversation.close()


def test_a_group_that_is_there_twice_or_does_anything_else_goes(network: Controller) -> None:
    conversation = Conversation()
    conversation.say(EVERY["hello"])
    entries = Entries(conversation.channel)
    numbers = range(GROUPS, GROUPS + 4)
    for number, ports in zip(numbers, [(1, 2), (1, 2), (), (2, 3)], strict=True):
        assert entries.group_found(number, ports)
    assert entries.group_found(GROUPS, (3, 4)), "what it says later does not count"
    sent = list(entries.write({"02:00:00:00:00:01": (1, 2)}, []))
    deleted = [one.group_id for one in sent if isinstance(one, parser.OFPGroupMod)]
    assert sorted(deleted) == [GROUPS + 1, GROUPS + 2, GROUPS + 3]
    assert sorted(deleted[:2]) == [GROUPS + 1, GROUPS + 2], "before the entries are written"
    conversation.close()


def test_beside_switches_that_send_nonsense_another_is_served(tmp_path: Path) -> None:
    """Through sockets, to a controller that is a process: no trace of an exception, and a log that stays short."""
    random_ = random.Random(SEED)
    with (
        ControllerBeside(tmp_path, tables("t1", "t2")) as controller,
        ModelSwitch(controller.port, 2) as witness,
    ):
        for _ in range(40):
            with (
                contextlib.suppress(OSError),  # it may be shown the door
                socket.create_connection(("127.0.0.1", controller.port), 20) as stranger,
            ):
                stranger.sendall(b"".join(script(random_)))
                stranger.shutdown(socket.SHUT_WR)
                while stranger.recv(65536):
                    pass
        until(lambda: '"t2"' in controller.get("/v1/topology"))
        assert not witness.has_ended.is_set()
        log = controller.log.read_text()
        assert "Traceback" not in log and len(log) < 20_000
