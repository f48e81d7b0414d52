# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs on emulated hosts that ask for circuits, by hand and to the nanosecond."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import etalon as et
from conftest import Answer, need_kernel
from etalon import _core, asking
from etalon.engine import mpi
from etalon.engine.linux import Linux
from etalon.errors import EtalonError
from etalon.plan import Plan
from etalon.plan.program import Program

REQUEST, CHANGE, HOLD = 2_000, 10_000, 50_000
DATAGRAM = 1250
"""Bytes on the wire: a microsecond at 10 Gb/s."""
HEADERS = 14 + 20 + 8
DELAY = 500


def plan(*programs: dict[str, Any], **schedule: Any) -> Plan:
    """Four racks of one host, and circuits that are asked for."""
    asked = {"request": "2us", "reconfiguration": "10us", "hold": "50us", "initial": "none"}
    return Plan.from_dict(
        {
            "name": "ask",
            "duration": "8ms",
            "warmup": "0s",
            "tdf": 1,
            "network": {
                "racks": 4,
                "hosts": 1,
                "circuits_only": True,
                "ack_bypass": "1us",
                "circuit": {"rate": "10Gbps", "delay": "500ns"},
                "voq": 256,
                "host": {"rate": "10Gbps", "delay": "0us", "jitter": "0us"},
            },
            "schedule": {"kind": "asked", **asked, **schedule},
            "program": [{"start": "1ms", **program} for program in programs],
        }
    )


def circuits(run: et.Run) -> list[tuple[Any, ...]]:
    """Source, destination, and when each circuit was asked for, granted and up."""
    table = run.cross_connects
    return table.select("src", "dst", "asked_ns", "granted_ns", "up_ns").rows()


def said(run: et.Run, number: int = 0) -> str:
    """What a program wrote to its standard error."""
    return run.outputs[run.programs["err"][number]].decode()


def test_data_cross_a_circuit_after_the_request_and_the_change() -> None:
    """A datagram that is sent meanwhile waits in its VOQ until the circuit is up, to the nanosecond."""
    need_kernel()
    send = f"printf %{DATAGRAM - HEADERS}s x > /dev/udp/{{r1h0}}/9"
    command = ["etalon", "ask", "--no-wait", "r0>r1", "--", "bash", "-c", send]
    made = plan({"host": "r0h0", "command": command}, reconfiguration="1ms")
    engine = Linux()
    engine.prepare([made])
    events = engine.trace(made, _core.Control(), 0, made.duration, None)["events"]
    table = pl.DataFrame(dict(events)).filter(pl.col("src") == 0, pl.col("dst") == 1)
    at = dict(table.group_by("kind").agg("t_ns").rows())
    (up,) = at["circuit_up"]
    asked = up - REQUEST - 1_000_000
    assert circuits(et.run(made, engine=engine)) == [(0, 1, asked, asked + REQUEST, up)]
    (joined,) = at["enqueue"]
    assert asked < joined < up
    assert at["dequeue"] == [up]
    # Its transmission takes a microsecond, and the way half of one.
    assert at["depart"] == [up + 1_000 + DELAY]


def test_etalon_ask_waits_until_its_circuits_are_up() -> None:
    """It takes exactly as much longer as circuits are dark; what is there changes nothing."""
    need_kernel()
    program = {"host": "r0h0", "command": "etalon ask r0>r1 r2>r3"}
    new, there = (
        et.run(plan(program, initial=initial), engine="linux") for initial in ("none", "ring")
    )
    ends = [int(run.programs["end_ns"][0]) for run in (new, there)]
    assert ends[0] - ends[1] == CHANGE
    asked = circuits(new)[0][2]
    times = (asked, asked + REQUEST, asked + REQUEST + CHANGE)
    assert circuits(new) == [(0, 1, *times), (2, 3, *times)]
    assert new.cross_connects["asked_by"].to_list() == ["r0h0", "r0h0"]
    assert circuits(there) == [(rack, (rack + 1) % 4, -1, 0, 0) for rack in range(4)]
    again = et.run(plan(program), engine="linux")
    assert again.meta["digest"] == new.meta["digest"]


def test_a_command_keeps_its_circuits_and_an_exit_gives_them_back() -> None:
    """Rack 1's port is taken for 2 ms. Who waits for it has it after the release, its way, and the change."""
    need_kernel()
    keeps = {"host": "r0h0", "command": "etalon ask r0>r1 -- sleep 0.002"}
    waits = {"host": "r2h0", "command": "etalon ask r2>r1", "start": "1500us"}
    brief = {"host": "r3h0", "command": "etalon ask r3>r1", "start": "4ms"}
    run = et.run(plan(keeps, waits, brief), engine="linux")
    assert run.programs["status"].to_list() == [0, 0, 0]
    _, second, third = circuits(run)
    end = int(run.programs["end_ns"][0])
    assert end >= 3_000_000 > second[2]
    assert (
        0 <= end + REQUEST - second[3] < 20_000
    )  # the file closes a little before the end is seen
    assert second[4] == second[3] + CHANGE
    assert run.cross_connects["down_ns"].to_list() == [second[3], third[3], -1]
    # What nobody keeps gives way at once, as it has been up for long enough.
    assert third[3] == third[2] + REQUEST


def test_who_never_gets_its_circuits_is_told_with_who_keeps_them(
    tmp_path: Path, etalon: Any
) -> None:
    """Rack 1's port is kept to the end of the run: a row, and a sentence."""
    need_kernel()
    keeps = {"host": "r0h0", "command": "etalon ask r0>r1 -- sleep 1"}
    waits = {"host": "r2h0", "command": "etalon ask r2>r1 r3>r2", "start": "2ms"}
    run = et.run(plan(keeps, waits), engine="linux")
    waiting = run.cross_connects.filter(pl.col("granted_ns") < 0)
    rows = waiting.select("src", "dst", "asked_by", "up_ns", "down_ns", "kept_by").rows()
    # Nobody has what the second circuit needs, but a request is granted whole.
    assert rows == [(2, 1, "r2h0", -1, -1, "r0h0"), (3, 2, "r2h0", -1, -1, "")]
    asked = set(waiting["asked_ns"])
    assert len(asked) == 1 and 2_000_000 < asked.pop() < 3_000_000
    file = tmp_path / "keep.toml"
    file.write_text(plan(keeps, waits).to_toml())
    answer: Answer = etalon("run", str(file), "--engine", "linux", "--out", str(tmp_path / "run"))
    said = " ".join(answer.out.split())
    assert answer.code == 0
    assert "r2h0 asked for r2>r1 r3>r2 at 2" in said
    assert "and never got them, because r0h0 did not give back its circuits" in said


def test_a_circuit_stays_for_its_least_time() -> None:
    need_kernel()
    ask = "etalon ask 'r0>r1'; etalon ask 'r0>r2'"
    run = et.run(plan({"host": "r0h0", "command": ["sh", "-c", ask]}, hold="1ms"), engine="linux")
    first, second = circuits(run)
    assert second[3] == first[4] + 1_000_000


BAD = [
    ("r0>r9", "there is no rack or host r9: racks are r0 to r3, hosts r0h0 to r3h0"),
    ("r0-r1", "'r0-r1' is no circuit; write it like r0>r1, or like 0>1 for ranks of MPI programs"),
    ("r0>r1 r0>r2", "r0>r1 and r0>r2 both begin at one rack, which has one circuit at a time"),
    ("0>1", "0 is a rank, which only programs of MPI have; name racks, like r0>r1"),
    ("r1>r1", "r1>r1 leads from a rack to itself"),
]


def test_what_is_wrong_with_a_request_is_said_in_a_sentence() -> None:
    need_kernel()
    programs = [{"host": "r0h0", "command": f"etalon ask {text}"} for text, _ in BAD]
    run = et.run(plan(*programs), engine="linux")
    for number, (_, why) in enumerate(BAD):
        assert said(run, number) == f"etalon ask: {why}\n"
    assert run.programs["status"].to_list() == [1] * len(BAD)
    week = {"kind": "tournament", "day": "100us", "night": "10us"}
    fixed = plan(programs[0]).replace({"schedule": week})
    assert "circuits follow the schedule here" in said(et.run(fixed, engine="linux"))


FILE = """
import errno, os
file = os.open("/dev/circuits", os.O_RDWR)
os.write(file, b"r0>r1")
try:
    os.write(file, b"r0>r2")
except OSError as error:
    print(error.errno == errno.EBUSY)
print(os.read(file, 1), os.read(file, 8), os.read(file, 8))
"""


def test_a_file_has_one_request_at_a_time_and_an_answer_may_be_read_in_pieces() -> None:
    need_kernel()
    run = et.run(plan({"host": "r0h0", "command": ["python3", "-c", FILE]}), engine="linux")
    assert run.outputs[run.programs["out"][0]].decode() == "True\nb'1' b'\\n' b''\n"
    assert [row[0] for row in circuits(run)] == [0]


FUNCTION = """
import os
import etalon as et
first = et.ask("r0>r1", wait=False)
print(first.wait(), first.wait())
with et.ask("r0>r1", "r1>r0") as both:
    print(both.wait())
os.environ["ETALON_RANKS"] = "r0h0 r0h0 r3h0"
print(et.ask("2>0", "0>1").wait())
try:
    et.ask("r0>r1", "r2>r1")
except et.EtalonError as error:
    print(error)
"""


def test_the_function_asks_as_the_command_does(tmp_path: Path) -> None:
    need_kernel()
    place = tmp_path / "asks.py"
    place.write_text(FUNCTION)
    made = plan({"host": "r0h0", "command": [sys.executable, str(place)]}, hold="0us")
    run = et.run(made, engine="linux")
    assert run.outputs[run.programs["out"][0]].decode().splitlines() == [
        "1 1",
        "1",
        "1",
        "r0>r1 and r2>r1 both end at one rack, which has one circuit at a time",
    ], said(run)


def test_elsewhere_nobody_is_there_to_ask(etalon: Any) -> None:
    with pytest.raises(EtalonError, match="only programs on an emulated host"):
        et.ask("r0>r1")
    with pytest.raises(EtalonError, match="name circuits"):
        et.ask()
    answer: Answer = etalon("ask", "r0>r1")
    assert (answer.code, answer.out) == (1, "")
    assert "only programs on an emulated host" in answer.err


def test_requests_know_where_ranks_are() -> None:
    """Launchers fill one host after the other: five ranks on two hosts are three and two."""
    found = mpi.Mpi(mpi.MPICH, "1", Path("/bin/true"))

    def known(*hosts: str, ranks: int, **more: Any) -> list[str]:
        one = Program(command=("prog",), ranks=ranks, hosts=hosts, **more)
        return found.circuits(next(one.each(3, 1)), "7")

    assert known("r0h0", "r1h0", "r2h0", ranks=2) == [f"{asking.RANKS}=r0h0 r1h0"]
    assert known("r0h0", "r1h0", ranks=5) == [f"{asking.RANKS}=r0h0 r0h0 r0h0 r1h0 r1h0"]
    asks = {"bcast": "none", "all": "ring"}
    assert known("r0h0", ranks=1, ask=asks, ask_from="1kB")[1:] == [
        *("ETALON_ASK=ring;bcast=none", "ETALON_ASK_FROM=1000", "ETALON_PROGRAM=7"),
    ]
