# SPDX-License-Identifier: MIT OR Apache-2.0
"""Strangers at the OpenFlow port where no certificate tells who is who: a whole controller, and switches that only connect."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from controller_beside import ControllerBeside
from fabric import until
from model_switch import ModelSwitch, message
from networks import tables
from openvswitch import open_vswitch

from conftest import need_module

need_module("os_ken", "otcp")

from etalon_otcp.listening import SPARE


@pytest.fixture
def controller(tmp_path: Path) -> Iterator[ControllerBeside]:
    with ControllerBeside(tmp_path, tables("t1", "t2")) as made:
        yield made


def there(controller: ControllerBeside) -> set[str]:
    found: dict[str, Any] = json.loads(controller.get("/v1/topology"))
    return {one["name"] for one in found["switches"]}


def problems(controller: ControllerBeside) -> list[str]:
    found: list[str] = json.loads(controller.get("/v1/health"))["problems"]
    return found


def test_a_switch_that_answers_keeps_its_place_and_a_dead_one_makes_room(
    controller: ControllerBeside,
) -> None:
    with ModelSwitch(controller.port, 1) as first:
        until(lambda: "t1" in there(controller))
        with ModelSwitch(controller.port, 1, address="127.0.0.2") as second:
            assert second.has_ended.wait(20)
        assert not first.has_ended.is_set() and "t1" in there(controller)
        sentence = f"switch t1 is connected from {first.peer}, and another connection from {second.peer} names it too"
        assert any(sentence in problem for problem in problems(controller))
        assert sentence in controller.log.read_text()
        assert "is gone" not in controller.log.read_text()
        assert controller.metric("etalon_otcp_switches_refused_total") == 1
        assert controller.metric("etalon_otcp_problems") >= 1

        first.answers = False  # as a switch that has lost power: its connection stays open
        with ModelSwitch(controller.port, 1, ports=3, address="127.0.0.2") as third:
            assert first.has_ended.wait(20)
            until(
                lambda: f"switch t1 has connected from {third.peer}" in controller.log.read_text()
            )
            until(
                lambda: len(json.loads(controller.get("/v1/topology"))["switches"][0]["ports"]) == 3
            )
            assert not third.has_ended.is_set()
        until(lambda: "t1" not in there(controller))


def test_two_of_open_vswitch_with_one_datapath_id(
    controller: ControllerBeside, tmp_path: Path
) -> None:
    """The second one tries again every second, and gets the place when the first one hangs."""
    where = f"tcp:127.0.0.1:{controller.port}"
    with open_vswitch(tmp_path / "first") as first, open_vswitch(tmp_path / "second") as second:
        port = ("add-port", "b1", "p1", "--", "set", "interface", "p1", "type=dummy")
        first.bridge("b1", 1, where)
        first.vsctl(*port)
        until(lambda: "t1" in there(controller))
        second.bridge("b1", 1, where)
        second.vsctl(*port)
        until(lambda: controller.metric("etalon_otcp_switches_refused_total") >= 2)
        assert any("names it too" in problem for problem in problems(controller))
        assert "is gone" not in controller.log.read_text()
        with first.hanging():
            until(lambda: "answers no more, and is closed" in controller.log.read_text())
            until(lambda: "t1" in there(controller))
            assert "is gone" not in controller.log.read_text()


def test_strangers_that_name_switches_of_no_file_keep_no_switch_out(
    controller: ControllerBeside,
) -> None:
    with contextlib.ExitStack() as stack:
        strangers = [
            stack.enter_context(ModelSwitch(controller.port, 1000 + number, address="127.0.0.3"))
            for number in range(2 * 2 + SPARE)
        ]
        until(lambda: "is not in the topology file" in controller.log.read_text())
        switch = stack.enter_context(ModelSwitch(controller.port, 2))
        until(lambda: "t2" in there(controller))
        assert not switch.has_ended.is_set()
        assert strangers[0].has_ended.wait(20)
        until(lambda: all(stranger.has_ended.is_set() for stranger in strangers))
        assert not switch.has_ended.is_set() and "t2" in there(controller)


def test_a_hello_without_end_is_nobodys(controller: ControllerBeside) -> None:
    """An element of length 0, 12 bytes from anybody: os-ken would read it for ever, and take all memory."""
    with socket.create_connection(("127.0.0.1", controller.port)) as stranger:
        stranger.sendall(message(0, bytes(4)))
        until(lambda: "sends a message of type 0 that is malformed" in controller.log.read_text())
        assert controller.process
        with ModelSwitch(controller.port, 1):
            until(lambda: "t1" in there(controller))
            before = seconds(controller.process.pid)
            time.sleep(2)
            assert seconds(controller.process.pid) - before < 1


def seconds(pid: int) -> float:
    """Processor time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
