# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs on the Linux engine with its real kernel: many hosts, polling, UDP, what a call costs."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import etalon as et
from conftest import need, need_kernel, need_program
from etalon import doctor
from etalon.plan import Plan
from etalon.results import Run

RING = Path(__file__).with_name("polling.py")
COUNTER = Path(__file__).with_name("counter.c")
PAGES = Path(__file__).with_name("pages.c")
TABLES: dict[str, Any] = {
    "name": "programs",
    "duration": "60ms",
    "warmup": "0s",
    "tdf": 1,
    "network": {
        "kind": "leaf-spine",
        "racks": 2,
        "hosts": 2,
        "mtu": 9000,
        "rack": {"rate": "10Gbps", "delay": "1us", "queue": 200},
        "spine": {"rate": "40Gbps", "delay": "1us", "queue": 400, "switches": 1},
        "host": {"jitter": "0ns"},
    },
}


@pytest.fixture(autouse=True)
def _built() -> None:
    need_kernel()


def plan(*programs: dict[str, Any], **more: Any) -> Plan:
    """Four hosts at 10 Gb/s, and what runs on them."""
    return Plan.from_dict({**TABLES, "program": list(programs), **more})


@cache
def ring(how: str) -> Run:
    """The ring of polling.py."""
    command = [sys.executable, str(RING), how, "{index}", "{peer}"]
    program = {"hosts": "all", "command": command, "start": "1ms", "name": "ring"}
    return et.run(plan(program), engine="linux")


def rounds(run: Run) -> list[int]:
    """How long the rounds took, as the first host has it; the first opens the window, and wakes what slept."""
    said = run.outputs["programs/ring-r0h0.out"].split()
    assert len(said) == 8, run.outputs["programs/ring-r0h0.err"].decode()
    return [int(word) for word in said[1:]]


@pytest.mark.parametrize("how", ["recv", "poll", "select", "yield"])
def test_who_spins_measures_what_who_sleeps_measures(how: str) -> None:
    sleeping, spinning = rounds(ring("sleep")), rounds(ring(how))
    assert sum(spinning) == pytest.approx(sum(sleeping), rel=0.01)
    # Three packets a hop, the last of which cannot be faster than the links.
    assert min(sleeping) > 4 * 8 * 20_000 / 10
    assert not ring("sleep").meta.get("polled")
    polled = ring(how).meta["polled"]
    assert [one["host"] for one in polled] == ["r0h0", "r0h1", "r1h0", "r1h1"]
    assert all(one["late_ns"] <= one["waited_ns"] / 100 for one in polled)


def python(script: str, **more: Any) -> dict[str, Any]:
    """A program in Python on the first host."""
    return {"host": "r0h0", "command": [sys.executable, "-c", script], "name": "it", **more}


SENDS = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("r1h0", 7))
for _ in range(100): s.send(bytes(5000))
s.send(bytes(30_000))  # in fragments
print(s.getsockname()[1])
"""
ANSWERS = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
s.bind(("", 7))
for _ in range(101): text, sender = s.recvfrom(60_000)
for _ in range(10): s.sendto(bytes(1000), sender)
"""


def test_udp_counts_like_tcp() -> None:
    server = python(ANSWERS, host="r1h0", name="server")
    run = et.run(plan(server, python(SENDS, start="1ms"), measure={"pair": [0, 1]}), engine="linux")
    port = int(run.outputs["programs/it.out"])
    flows = run.flows.select("class", "src_rack", "dst_rack", "src_port", "dst_port", "bytes")
    assert flows.rows() == [
        ("program-udp", 0, 1, port, 7, -1),
        ("program-udp", 1, 0, 7, port, -1),
    ]
    assert run.flows["bytes_delivered"].to_list() == [530_000, 10_000]
    assert run.flows["packet_bytes"].to_list() == [530_000, 10_000]
    assert run.flows["retransmits"].to_list() == [0, 0]
    assert run.goodput == pytest.approx(540_000 * 8 / 0.06)


CALLS = """
import os, time
os.getppid()
began = time.monotonic_ns()
for _ in range(1000): os.getppid()
print(time.monotonic_ns() - began)
"""


def test_a_call_costs_what_the_plan_says() -> None:
    for cpu, each in (("100ns", 100), ("2us", 2000)):
        run = et.run(plan(python(CALLS), linux={"cpu": cpu}), engine="linux")
        took = int(run.outputs["programs/it.out"])
        assert took == pytest.approx(1000 * each, rel=0.01)


def test_a_host_that_computes_takes_no_time_of_another() -> None:
    program = {"hosts": "all", "command": [sys.executable, "-c", CALLS], "name": "it"}
    run = et.run(plan(program), engine="linux")
    took = [int(text) for name, text in run.outputs.items() if name.endswith(".out")]
    assert took == pytest.approx([100_000] * 4, rel=0.01)


SENDS_SELDOM = """
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(600):
    time.sleep(20e-6)
    s.sendto(b"x", ("r1h0", 7))
"""
COUNTS_POLLS = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 7))
s.setblocking(False)
polls = []
for _ in range(600):
    polls.append(1)
    while True:
        try:
            s.recv(10)
            break
        except BlockingIOError:
            polls[-1] += 1
print(sum(polls[300:]))
"""


def test_who_polls_for_packets_and_no_deadline_polls_seldom() -> None:
    server = python(COUNTS_POLLS, host="r1h0", name="server")
    run = et.run(plan(server, python(SENDS_SELDOM, start="1ms")), engine="linux")
    assert int(run.outputs["programs/server.out"]) < 4 * 300


DEADLINES = """
import time
for ns in (30_000, 1_000_000, 20_000_000):
    began = last = time.monotonic_ns()
    while last < began + ns:
        now = time.monotonic_ns()
        assert now >= last, (now, last)
        last = now
    print(last - began - ns)
real, monotonic = time.time_ns(), time.monotonic_ns()
time.sleep(0.001)
print((time.time_ns() - real) - (time.monotonic_ns() - monotonic))
"""


def test_who_watches_the_clock_keeps_a_deadline() -> None:
    run = et.run(plan(python(DEADLINES)), engine="linux")
    *late, apart = map(int, run.outputs["programs/it.out"].split())
    assert 0 <= late[0] < 6000, "256 reads of 20 ns"
    assert 0 <= late[1] < 10_000
    assert 0 <= late[2] < 200_000
    assert abs(apart) < 200, "both clocks are read from the same page"


COARSE = """
import ctypes, time
MONOTONIC = time.CLOCK_MONOTONIC
call, value = ctypes.CDLL(None).syscall, (ctypes.c_long * 2)()
def asked(clock):
    call(228, clock, value)
    return value[0] * 10**9 + value[1]
ticks = set()
for clock in (6, 5) * 40:  # CLOCK_MONOTONIC_COARSE, CLOCK_REALTIME_COARSE
    time.sleep(0.0003)
    read = time.clock_gettime_ns(clock)
    assert read == asked(clock)
    if clock == 6: ticks.add(read)
read = time.clock_gettime_ns
print({later - sooner for sooner, later in zip(sorted(ticks), sorted(ticks)[1:])})
one = read(MONOTONIC); read(6); two = read(MONOTONIC); read(5); three = read(MONOTONIC)
print(two - one, three - two)
began = read(MONOTONIC)
for _ in range(100): read(6)
print(read(MONOTONIC) - began)
"""


def test_a_coarse_clock_takes_what_a_call_takes_though_the_first_read_is_none() -> None:
    said = et.run(plan(python(COARSE)), engine="linux").outputs["programs/it.out"].decode()
    ticks, apart, took = said.splitlines()
    assert ticks == "{4000000}", "250 ticks a second"
    assert apart == "120 120"
    assert int(took) > 100 * 100


READS = """
import time
for _ in range(100_000): time.monotonic_ns()
print(time.monotonic_ns())
"""


def test_a_runs_programs_are_the_same_to_the_byte() -> None:
    programs = [python(READS), python(ANSWERS, host="r1h0", name="server")]
    runs = [et.run(plan(*programs), engine="linux") for _ in range(2)]
    assert runs[0].outputs == runs[1].outputs
    assert runs[0].meta["digest"] == runs[1].meta["digest"]
    assert ring("poll").meta["digest"] == et.run(ring("poll").plan, engine="linux").meta["digest"]


EVERYTHING = """
import mmap, os, signal, subprocess, threading, time

said = []
signal.signal(signal.SIGALRM, lambda *_: said.append("alarm"))
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
turn = [threading.Event() for _ in range(4)]

def sums(n):  # floating point numbers of threads that take turns
    x = float(n)
    for step in range(20):
        turn[n].wait()
        turn[n].clear()
        x = x * 1.000001 + 0.1 * step
        turn[(n + 1) % 4].set()
    said.append(repr(x))

threads = [threading.Thread(target=sums, args=(n,)) for n in range(4)]
for thread in threads:
    thread.start()
turn[0].set()
for thread in threads:
    thread.join()
while "alarm" not in said:
    time.sleep(0.0001)
signal.setitimer(signal.ITIMER_REAL, 0)
said = sorted(set(said))
with mmap.mmap(-1, 1 << 20) as memory:
    memory[1 << 19 :] = bytes([7]) * (1 << 19)
    said.append(str(sum(memory[:])))
said.append(subprocess.run(["sh", "-c", "echo $((6*7)); exit 3"], capture_output=True, text=True))
if (child := os.fork()) == 0:
    os.kill(os.getpid(), signal.SIGKILL)
said.append(os.waitpid(child, 0)[1])
print(said, time.monotonic_ns() < 10**12, time.time())
"""


def test_calls_by_ptrace_and_by_notifications_are_the_same_to_the_byte(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    need(doctor.notifies(), "a host whose seccomp notifies of system calls")
    both = plan(python(EVERYTHING), seed=5)
    by_notifications = et.run(both, engine="linux")
    monkeypatch.setenv("ETALON_CALLS", "ptrace")
    by_ptrace = et.run(both, engine="linux")
    said = by_notifications.outputs["programs/it.out"]
    assert said.startswith(b"['19."), by_notifications.outputs["programs/it.err"]
    assert b"alarm" in said
    assert b"stdout='42\\n'" in said
    assert by_ptrace.outputs == by_notifications.outputs
    assert by_ptrace.meta["digest"] == by_notifications.meta["digest"]


def test_the_counter_is_read_without_a_fault_where_its_code_may_be_replaced(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With calls by ptrace each read faults: the program reads the same either way, and virtual time is the same."""
    need(doctor.notifies(), "a host whose seccomp notifies of system calls")
    need_program("cc")
    program = tmp_path / "counter"
    subprocess.run(["cc", "-O1", "-o", program, COUNTER], check=True)
    both = plan({"host": "r0h0", "command": [str(program)], "name": "it"})
    replaced = et.run(both, engine="linux")
    monkeypatch.setenv("ETALON_CALLS", "ptrace")
    faulted = et.run(both, engine="linux")
    assert replaced.outputs["programs/it.out"] == faulted.outputs["programs/it.out"]
    assert replaced.meta["digest"] == faulted.meta["digest"]
    *lines, end = replaced.outputs["programs/it.out"].decode().splitlines()
    assert end == "entered"
    assert lines[6] == "careful 1 1 1"
    for line in (*lines[:6], *lines[7:10]):
        _, _, took, weighted = line.split()
        assert 20 * 1000 <= int(took) < 21 * 1000, "each read takes 20 ns"
        assert int(weighted) >= 20 * 500_500
    late = [int(line.split()[1]) for line in lines[10:]]
    assert late[0] < 6000, "256 reads of 20 ns"
    assert late[1] < 20_000
    assert late[2] < 1_000_000
    where = replaced.outputs["programs/it.err"].decode()
    assert where.replace("1", "0") == faulted.outputs["programs/it.err"].decode()
    assert [line.split() for line in where.splitlines()] == [
        ["plain", "1"],
        ["fenced", "1"],
        ["stored", "1"],
        ["ordered", "1"],
        ["followed", "0"],
        ["relative", "0"],
        ["careful", "1"],
        ["plain", "1"],
        ["followed", "0"],
        ["plain", "1"],
        ["entered", "0"],
    ]


MEMORY = """
import mmap, os, tempfile
PAGE, size = 4096, 100 * 4096 + 123
with tempfile.TemporaryFile() as file:
    file.write(b"f" * size)
    file.flush()
    own = mmap.mmap(-1, 200 * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    shared = mmap.mmap(-1, 200 * PAGE)
    copy = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY)
    for page in range(0, 200, 3):
        own[page * PAGE] = shared[page * PAGE] = 1
    for page in range(0, 100, 7):
        copy[page * PAGE + 5] = 1
    if (child := os.fork()) == 0:
        for memory in (own, shared, copy):
            memory[50 * PAGE + 9] = memory[99 * PAGE + 9] = 2
        os._exit(sum(own[99 * PAGE : 100 * PAGE]))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), sum(own[:]), sum(shared[:]))
    print(sum(copy[:]) - size * ord("f"), copy[-1:], file.seek(0), file.read() == b"f" * size)
"""


def test_what_a_fault_maps_beside_its_page_is_what_was_there() -> None:
    """Memory of a program's own, of a parent and its child, and a private copy of a file: as on the host."""
    outside = subprocess.run(
        [sys.executable, "-c", MEMORY], capture_output=True, check=True, text=True
    )
    inside = et.run(plan(python(MEMORY)), engine="linux").outputs
    assert inside["programs/it.out"].decode() == outside.stdout, inside["programs/it.err"]


@pytest.mark.parametrize("calls", ["notified", "ptrace"])
def test_pages_are_there_and_protected_as_on_the_host(
    calls: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Who writes to what may only be read gets SIGSEGV, and does not fault for ever."""
    need_program("cc")
    program = [str(tmp_path / "pages"), "500"]
    subprocess.run(["cc", "-O1", "-o", program[0], PAGES], check=True)
    outside = subprocess.run(program, capture_output=True, check=True, text=True)
    monkeypatch.setenv("ETALON_CALLS", calls)
    both = plan({"host": "r0h0", "command": program, "name": "it"})
    inside = et.run(both, engine="linux").outputs["programs/it.out"]
    assert inside.decode() == outside.stdout


@pytest.mark.slow
def test_a_program_with_more_pages_than_the_host_maps_is_explained() -> None:
    """Pages of zeros are one on the host, each mapped by itself: the run ends with a sentence, it does not stand still."""
    pages = 70_000
    most = int(Path("/proc/sys/vm/max_map_count").read_text())
    kind = "flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ"
    touch = f"import mmap; print(sum(mmap.mmap(-1, {pages << 12}, {kind})[::4096]))"
    touched = plan(python(touch), linux={"memory": "1GiB"})
    if most > pages:
        assert et.run(touched, engine="linux").outputs["programs/it.out"] == b"0\n"
        return
    with pytest.raises(et.EtalonError, match="more pages than this computer maps"):
        et.run(touched, engine="linux")
