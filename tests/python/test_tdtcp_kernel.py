# SPDX-License-Identifier: MIT OR Apache-2.0
"""TDTCP in the kernel: programs on emulated hosts that speak it, told of the network by real ICMP messages.

Every program makes warnings of the kernel fatal.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tdtcp_hosts as hosts
from conftest import SIGCOMM22, Answer, need_kernel, need_program
from etalon import tracing as trace
from etalon.plan import Plan
from test_tdtcp_dissector import tshark_file

Command = Callable[..., Answer]

PLAN = f"""
name = "tdtcp"
duration = "30ms"
warmup = "0ms"
{SIGCOMM22}
hosts = 2
"""
WEEK = "--steps 1:0.0036 0:0.0244"
TO_RACK_1 = ("r0h0", f"tor --rack 1 {WEEK}", "1.19ms")
TO_RACK_0 = ("r1h0", f"tor --rack 0 {WEEK}", "1.19ms")
TORS = (TO_RACK_1, TO_RACK_0)
Program = tuple[str, str, str]
RTO = 0.2 + 0.1
"""The smallest retransmission timeout, and what a segment may have waited for it, in seconds of hosts' clocks."""


@pytest.fixture(autouse=True)
def _built() -> None:
    need_kernel()


def plan(*programs: Program, change: str = "") -> str:
    """The plan with programs: host, arguments of tdtcp_hosts.py, start."""
    text = PLAN.replace("voq = 16", change) if change else PLAN
    for host, arguments, start in programs:
        command = (
            f"{sys.executable} -I -S {shlex.quote(hosts.__file__)} {arguments}"  # starts quickly
        )
        text += f"\n[[program]]\nhost = {json.dumps(host)}\ncommand = {json.dumps(command)}\nstart = {json.dumps(start)}\n"
    return text


def pair(client: int | str, server: int | str = "", *more: str) -> tuple[Program, Program]:
    """A server, and a client that writes to it."""
    value = client if server == "" else server
    return (
        ("r1h0", f"server --value {value}", "0ms"),
        ("r0h0", " ".join(["client", "--value", str(client), *more]), "0.5ms"),
    )


@pytest.fixture
def ran(tmp_path: Path, etalon: Command) -> Callable[..., tuple[list[Any], dict[str, Any]]]:
    """Runs programs: what each of those printed that ended, and the run."""

    def run(*programs: Program, change: str = "") -> tuple[list[Any], dict[str, Any]]:
        path = tmp_path / "plan.toml"
        path.write_text(plan(*programs, change=change))
        answer = etalon("run", path, "--engine", "linux", "--no-figures", "--json", "--force")
        assert answer.code == 0, answer.err
        folder = tmp_path / answer.json["folder"]
        said = []
        for program in answer.json["programs"]:
            assert program["status"] in (0, None), (folder / program["err"]).read_text()
            text = (folder / program["out"]).read_text() if program["status"] == 0 else ""
            said.append(json.loads(text) if text else None)
        return said, answer.json

    return run


def capture(folder: Path, *programs: Program, until_ms: int = 6) -> Callable[..., list[str]]:
    """tshark on what the same run's packets were."""
    need_program("tshark")
    asked = Plan.from_toml(plan(*programs))
    (path,) = trace.write(
        asked, folder, end_ns=until_ms * 1_000_000, timeline=False, engine="linux"
    )
    return lambda *arguments: tshark_file(path, *arguments)


def test_a_connection_has_a_path_for_each_network(ran: Callable[..., Any]) -> None:
    (server, client, *_), _ = ran(*pair(2), *TORS)
    assert (client["value"], server["value"]) == (2, 2)
    assert server["received"] == client["sent"]
    assert client["used"] == [0, 1]
    packet, circuit = client["info"]["paths"]
    assert circuit["srtt_us"] < 0.7 * packet["srtt_us"], "40 us against 100 us and a queue"
    assert packet["delivered"] > 0 and circuit["delivered"] > 0
    assert {path["cc"] for path in (packet, circuit)} == {"cubic"}


def test_the_options_are_on_the_wire(tmp_path: Path) -> None:
    told = ("r1h1", f"tor --host r0h1 --rack 1 {WEEK}", "1.19ms")
    tshark = capture(tmp_path, *pair(2), *TORS, told)
    names = (
        *("frame.interface_name", "ip.len", "tcp.flags.syn", "tcp.flags.fin", "tcp.len"),
        *("tdtcp.num_tdns", "tdtcp.data_tdn", "tdtcp.ack_tdn", "tdtcp.active_tdn", "tdtcp.rack"),
        *("tcp.options.sack_le", "_ws.expert.group", "_ws.expert.severity"),
    )
    lines = tshark("-T", "fields", *(argument for name in names for argument in ("-e", name)))
    frames = [dict(zip(names, line.split("\t"), strict=True)) for line in lines]
    malformed, error = "117440512", "8388608"
    assert not [frame for frame in frames if malformed in frame["_ws.expert.group"]]
    assert not [frame for frame in frames if error in frame["_ws.expert.severity"]]

    syns = [frame for frame in frames if frame["tcp.flags.syn"] == "1"]
    assert {frame["frame.interface_name"] for frame in syns} >= {"tor0-in", "tor1-in"}
    assert {frame["tdtcp.num_tdns"] for frame in syns} == {"2"}
    segments = [frame for frame in frames if frame["tcp.flags.syn"] == "0"]
    assert {frame["tdtcp.ack_tdn"] for frame in segments} == {"0", "1"}
    data = [frame for frame in segments if frame["tcp.len"] != "0"]
    assert {frame["tdtcp.data_tdn"] for frame in data} == {"0", "1"}
    acks = [frame for frame in segments if frame["tcp.len"] == frame["tcp.flags.fin"] == "0"]
    assert acks and {frame["tdtcp.data_tdn"] for frame in acks} == {""}

    largest = max(int(frame["ip.len"]) for frame in data)
    assert largest == 9000, "the option takes its eight bytes of the segment, not of the MTU"
    sacks = [frame["tcp.options.sack_le"].split(",") for frame in acks]
    assert max(len(blocks) for blocks in sacks) <= 2, "there is no room for more"
    notified = {(frame["tdtcp.active_tdn"], frame["tdtcp.rack"]) for frame in frames}
    assert notified - {("", "")} == {("1", "1"), ("0", "1")}


@pytest.mark.parametrize(("client", "server"), [(2, 3), (2, 0), (0, 2), (2, 2 | hosts.NO_OPTIONS)])
def test_both_ends_agree_or_it_is_plain_tcp(
    ran: Callable[..., Any], client: int, server: int
) -> None:
    (served, asked, *_), _ = ran(*pair(client, server, "--seconds 0.05"), *TORS)
    assert asked["value"] == 0
    assert served["value"] in (0, 2 | hosts.NO_OPTIONS)
    assert asked["info"]["tdns"] == 0
    assert served["received"] == asked["sent"] > 1e6


def test_plain_tcp_has_none_of_it(tmp_path: Path) -> None:
    tshark = capture(tmp_path, *pair(0, 2), *TORS, until_ms=3)
    assert tshark("-Y", "tcp.len > 0")
    assert tshark("-Y", "tdtcp.num_tdns || tdtcp.ack_tdn") == []


def test_without_notifications_and_options_it_is_plain_tcp_to_the_packet(
    ran: Callable[..., Any],
) -> None:
    digests = []
    for value in (0, 2 | hosts.NO_OPTIONS):
        (_, client), run = ran(*pair(value))
        assert client["value"] == value
        digests.append(run["digest"])
    assert digests[0] == digests[1]


@pytest.mark.parametrize(
    "flags",
    [
        hosts.STRICT | hosts.SHARED_PIPE | hosts.ALL_RTTS,
        hosts.PUSH | hosts.PACE_BURST,
        hosts.NO_OPTIONS,
    ],
)
def test_its_parts_can_be_left_out(ran: Callable[..., Any], flags: int) -> None:
    (server, client, *_), _ = ran(*pair(2 | flags), *TORS)
    assert client["value"] == 2 | flags
    assert client["used"] == [0, 1]
    assert server["received"] == client["sent"] > 1e6


def test_each_network_may_have_its_own_congestion_control(ran: Callable[..., Any]) -> None:
    cc = "--value 2 --cc reno,dctcp"
    programs = (("r1h0", f"server {cc}", "0ms"), ("r0h0", f"client {cc}", "0.5ms"))
    (server, client, *_), _ = ran(*programs, *TORS)
    assert [path["cc"] for path in client["info"]["paths"]] == ["reno", "dctcp"]
    assert server["received"] == client["sent"] > 1e6


def test_what_no_tor_would_say_changes_nothing(ran: Callable[..., Any]) -> None:
    bad = ("r0h0", "bad_notifications --count 20", "0.4ms")
    (server, client, told), _ = ran(*pair(2), bad)
    assert told == {"told": 160}
    assert client["used"] == [0]
    assert server["received"] == client["sent"] > 1e6


def test_a_network_that_does_not_come_back_and_small_queues(ran: Callable[..., Any]) -> None:
    once = ("r0h0", "tor --rack 1 --steps 0:0.05 1:0.01 0:1 --count 3", "0.4ms")
    (server, client, *_), _ = ran(*pair(4), once, change="voq = 3")
    assert client["used"] == [0, 1]
    assert server["received"] == client["sent"] > 1e6
    assert client["stall"] < RTO


def test_a_network_that_is_left_for_good(ran: Callable[..., Any]) -> None:
    away = ("r0h0", "tor --rack 1 --steps 0:0.05 1:100 --count 2", "0.4ms")
    (server, client, *_), _ = ran(*pair(2), away, change="voq = 3")
    assert client["used"] == [0, 1] and client["info"]["tdn"] == 1
    assert server["received"] == client["sent"] > 1e6
    assert client["stall"] < RTO


def test_a_connection_can_become_plain_tcp_in_recovery(ran: Callable[..., Any]) -> None:
    programs = (*pair(2, "", "--seconds 0.4 --downgrade 0.05 --in-recovery"), *TORS)
    (server, client, *_), _ = ran(*programs, change="voq = 3")
    assert client["after"] == 0 and client["sent_before_downgrade"]
    assert client["sent"] > client["sent_before_downgrade"] + 1e6
    assert server["received"] == client["sent"]
    assert client["stall"] < RTO


def test_networks_that_take_turns_within_a_round_trip(ran: Callable[..., Any]) -> None:
    turns = " ".join(f"{tdn}:0.0008" for tdn in range(4))
    storm = ("r0h0", f"tor --rack 1 --steps {turns}", "0.55ms")
    (server, client, *_), _ = ran(*pair(4, "", "--seconds 0.08"), storm, change="voq = 3")
    assert client["used"] == [0, 1, 2, 3]
    assert server["received"] == client["sent"] > 1e5


def test_a_connection_can_become_plain_tcp(ran: Callable[..., Any], tmp_path: Path) -> None:
    programs = (*pair(2, "", "--seconds 0.2 --downgrade 0.06"), *TORS)
    (server, client, *_), _ = ran(*programs, change="voq = 3")
    assert client["value"] == 2 and client["after"] == 0
    assert client["late"] == "EISCONN"
    assert client["sent"] > client["sent_before_downgrade"] + 1e6
    assert server["received"] == client["sent"]
    tshark = capture(tmp_path, *programs)
    names = ("-T", "fields", "-e", "ip.src", "-e", "tdtcp.ack_tdn")
    late = {
        tuple(line.split("\t")) for line in tshark("-Y", "frame.time_relative > 0.0045", *names)
    }
    assert ("10.0.0.1", "") in late and {tdn for host, tdn in late if host == "10.0.0.1"} == {""}
    assert {tdn for host, tdn in late if host == "10.0.1.1"} <= {"0", "1"}, "the peer goes on"


def test_options_that_make_no_sense_are_ignored(ran: Callable[..., Any]) -> None:
    bad = ("r0h0", "bad_options --count 300", "0.45ms")
    (server, client, *_, sent), _ = ran(*pair(2), *TORS, bad)
    assert sent == {"sent": 300}
    assert client["used"] == [0, 1]
    assert server["received"] == client["sent"] > 1e6


def test_syns_with_options_that_make_no_sense_do_no_harm(ran: Callable[..., Any]) -> None:
    bad = ("r0h1", "bad_syns --host r0h1 --count 130", "0.1ms")
    (server, client, *_, sent), _ = ran(*pair(2), *TORS, bad)
    assert sent == {"sent": 130}
    assert client["used"] == [0, 1]
    assert server["value"] == 2 and server["received"] == client["sent"] > 1e6


def test_a_connection_that_is_told_knows_when_it_sends(ran: Callable[..., Any]) -> None:
    for flags in (0, hosts.PUSH):
        value = 2 | flags
        (_, seen), _ = ran(
            ("r1h0", f"server --value {value}", "0ms"),
            ("r0h0", f"push --value {value} --seconds 0.02", "0.5ms"),
        )
        assert seen == {"seen": [0, 1, 1, 0]}


def test_values_that_are_no_good_are_refused(ran: Callable[..., Any]) -> None:
    ((said),), _ = ran(("r0h0", "refusals", "0ms"))
    assert said.pop("info") == {"tdns": 0, "tdn": 0, "paths": []}
    assert said == {
        "0x5": "ERANGE",
        "0xff": "ERANGE",
        "0x1000": "EINVAL",
        "0x4002": "EINVAL",
        "-0x1": "EINVAL",
        "cubic": "EINVAL",
        "cubic,cubic,cubic": "EINVAL",
        "cubic,nonsense": "ENOENT",
        "": "EINVAL",
        ",": "ENOENT",
        "no TDTCP": "EINVAL",
    }
