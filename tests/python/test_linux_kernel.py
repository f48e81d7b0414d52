# SPDX-License-Identifier: MIT OR Apache-2.0
"""The Linux engine with its real kernel, which `make test` builds once."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import etalon as et
from conftest import ROOT, Answer, need_kernel, need_program
from etalon import kernel
from etalon.controls import controls
from etalon.plan import Plan
from etalon.results import Run
from etalon.tracing import count

IMAGE = kernel.find(250)
Command = Callable[..., Answer]
LINUX = ("--engine", "linux")


@pytest.fixture(autouse=True)
def _built() -> None:
    need_kernel()


def processes() -> dict[int, tuple[int, bool]]:
    """The parent of each process, and whether it is a kernel of ours."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                command = (entry / "cmdline").read_bytes()
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parent = int(stat.rpartition(")")[2].split()[1])
            found[int(entry.name)] = parent, command.startswith(str(IMAGE).encode() + b"\0")
    return found


def kernels(of: int) -> set[int]:
    """Kernels that process `of` has started, itself or through others. Other tests have theirs."""
    there = processes()
    found = set()
    for pid, (_, ours) in there.items():
        at = pid
        while ours and at in there and at != of:
            at = there[at][0]
        if ours and at == of:
            found.add(pid)
    return found


def boots(child: subprocess.Popen[str]) -> set[int]:
    """The kernels that a command has started, as soon as there is one."""
    while child.poll() is None:
        if found := kernels(child.pid):
            return found
        time.sleep(0.02)
    pytest.fail("the command ended before a kernel ran")


def gone(those: set[int]) -> bool:
    """Whether none of these processes is a kernel any more, within five seconds."""
    for _ in range(100):
        if not {pid for pid, (_, ours) in processes().items() if ours} & those:
            return True
        time.sleep(0.05)
    return False


def started(*arguments: object, cwd: Path, **more: object) -> subprocess.Popen[str]:
    """The command line in a process of its own."""
    command = [sys.executable, "-m", "etalon", *map(str, arguments)]
    path = os.pathsep.join(sys.path)
    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
        command,
        cwd=cwd,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
        **more,
    )


def test_the_same_bytes_every_time_on_any_number_of_workers(small: Plan) -> None:
    plans = [small, small.replace({"seed": 2, "bulk.transport": "tdtcp"})]
    alone = [run.meta["digest"] for run in et.run_many(plans, jobs=1, engine="linux")]
    together = [run.meta["digest"] for run in et.run_many(plans, jobs=2, engine="linux")]
    assert alone == together
    assert alone[0] != alone[1]


def test_linux_is_where_the_simulator_says_it_is() -> None:
    plan = Plan.load(ROOT / "examples" / "strobe.toml").replace({"duration": "480ms"})
    linux, sim = et.run(plan, engine="linux"), et.run(plan)
    assert linux.circuit_utilization == pytest.approx(sim.circuit_utilization, abs=0.05)
    assert linux.latency(99) == pytest.approx(sim.latency(99), rel=0.1)
    assert linux.meta["kernel"].startswith("6.1.")


@pytest.mark.parametrize("cc", [name for name, c in controls().items() if "linux" in c.engines])
def test_every_congestion_control_delivers(small: Plan, cc: str) -> None:
    signals = {"network.marking": {}, "network.ece": {}}  # for those that need them
    run = et.run(small.replace({"bulk.cc": cc, **signals}), engine="linux")
    assert run.goodput is not None
    assert run.goodput > 1e9
    assert run.flows["cc"].unique().to_list() == [cc]


def test_flows_complete(small: Plan) -> None:
    flow = {"from": "r0h1", "to": "r1h0", "size": "1MB", "start": "1ms"}
    run = et.run(small.replace({"bulk": [], "flow": [flow], "warmup": 0}), engine="linux")
    (done,) = run.fct()["fct_us"]
    assert 100 < done < 5000, "1 MB takes 0.1 ms on the circuit, 0.8 ms on the packet network"
    assert run.flows["bytes_delivered"].to_list() == [1_000_000]


def test_programs_run_on_a_network_of_the_plans_speed(tmp_path: Path, etalon: Command) -> None:
    need_program("iperf3")
    answer = etalon("run", ROOT / "examples" / "programs.toml", *LINUX, "--no-figures", "--json")
    assert answer.code == 0, answer.err
    server, client, ping = answer.json["programs"]
    assert (server["status"], client["status"], ping["status"]) == (None, 0, 0)
    folder = tmp_path / answer.json["folder"]
    report = (folder / client["out"]).read_text()
    rate = float(report[: report.index("receiver")].split()[-2])
    assert 400 < rate < 700, "10 Gb/s and a circuit, 20 times slower on the hosts' clocks"
    assert "10 packets transmitted, 10 received" in (folder / ping["out"]).read_text()


ANNOUNCED = """
duration = "60ms"
warmup = "0ms"
tdf = 20

[network]
racks = 4
hosts = 2

[schedule]
kind = "solstice"
estimator = "adu"
threshold = "100kB"
"""


def program(host: str, command: str, start: str = "0ns") -> str:
    return f'\n[[program]]\nhost = "{host}"\ncommand = "{command}"\nstart = "{start}"\n'


@pytest.mark.parametrize(
    ("server", "client"),
    [
        ("iperf3 -s", "iperf3 -c r1h0 -n 60M"),
        ("flowgrindd -d", "flowgrind -H s=r0h0,d=r1h0 -T s=0.4 -S s=65536"),
    ],
)
def test_circuits_follow_what_unmodified_programs_write(
    tmp_path: Path, etalon: Command, server: str, client: str
) -> None:
    need_program(client.split()[0])
    file = tmp_path / "announced.toml"
    servers = [program(host, server) for host in ("r0h0", "r1h0")]
    file.write_text(ANNOUNCED + "".join(servers) + program("r0h0", client, "2ms"))
    answer = etalon("run", file, *LINUX, "--no-figures", "--json")
    assert answer.code == 0, answer.err
    assert answer.json["programs"][-1]["status"] == 0
    run = Run.load(tmp_path / answer.json["folder"])
    demand = run.meta["schedule"]["demand"]
    assert demand[0][1] == max(map(max, demand)) > 100_000
    pairs = {(row["src"], row["dst"]): row for row in run.pairs.to_dicts()}
    assert pairs[0, 1]["circuit_payload_bytes"] > 5 * pairs[0, 1]["packet_payload_bytes"]


def test_rings_on_linux_end_with_their_last_flow_where_the_simulator_says(small: Plan) -> None:
    changes = {
        "bulk": [],
        "network.racks": 8,
        "schedule": {"kind": "solstice", "estimator": "adu", "compute": "100us"},
        "rings": [{"period": "20ms", "big_rate": "20Gbps", "small_rate": "2Gbps", "cc": "reno"}],
        "duration": "200ms",
        "warmup": 0,
        "end_when_done": True,
    }
    plan = small.replace(changes)
    linux, sim = (et.run(plan, engine=engine) for engine in ("linux", "sim"))
    ends = [run.meta["simulated_ns"] for run in (linux, sim)]
    assert max(ends) < 150_000_000
    for run in (linux, sim):
        assert run.flows["end_ns"].min() > 0


def test_a_failing_program_is_told_of(small_file: Path, etalon: Command) -> None:
    with small_file.open("a") as file:
        file.write('[[program]]\nhost = "r0h0"\ncommand = "sh -c \'echo sorry >&2; exit 3\'"\n')
        file.write('[[program]]\nhost = "r0h1"\ncommand = "no-such-program"\n')
    answer = etalon("run", small_file, *LINUX, "--no-figures")
    assert answer.code == 1
    assert "on r0h0 failed with exit status 3: sorry" in answer.err
    assert "no-such-program on r0h1 was not found" in answer.err


def test_exec_gives_output_and_exit_status(small_file: Path, etalon: Command) -> None:
    answer = etalon("exec", small_file, "--host", "r1h1", "--", "sh", "-c", "hostname; exit 5")
    assert (answer.code, answer.out) == (5, "r1h1\n")


def test_hosts_answer_a_ping(small_file: Path, etalon: Command) -> None:
    need_program("ping")
    answer = etalon("exec", small_file, "--", "ping", "-c", "2", "-i", "0.2", "r2h1")
    assert answer.code == 0
    assert "2 packets transmitted, 2 received" in answer.out


def test_standard_input_reaches_exec_and_shell(small_file: Path, tmp_path: Path) -> None:
    lines = "".join(f"{n}\n" for n in range(20_000))
    counting = started("exec", small_file, "--", "wc", "-l", cwd=tmp_path, stdin=subprocess.PIPE)
    assert counting.communicate(lines, timeout=120) == ("20000\n", "")
    script = "hostname\non r1h1 hostname\ngetent hosts r1h0\necho {r1h0}\nexit 7\n"
    shell = started("shell", small_file, "--host", "r0h1", cwd=tmp_path, stdin=subprocess.PIPE)
    out, _ = shell.communicate(script, timeout=120)
    first, second, resolved, _ = out.splitlines()
    assert (shell.returncode, first, second) == (7, "r0h1", "r1h1")
    given = started("exec", small_file, "--", "echo", "{r1h0}", cwd=tmp_path).communicate()[0]
    assert resolved.split()[0] == given.strip()


def test_a_program_may_wait_for_its_input_longer_than_patience(
    small_file: Path, tmp_path: Path
) -> None:
    command = ("exec", small_file, "--patience", "1s", "--", "cat")
    waiting = started(*command, cwd=tmp_path, stdin=subprocess.PIPE)
    time.sleep(8)
    out, err = waiting.communicate("late\n", timeout=120)
    assert out == "late\n"
    assert not err or "wait for standard input" in err, "which is said once"


def test_programs_cannot_write_to_the_host_machine(
    small_file: Path, tmp_path: Path, etalon: Command
) -> None:
    script = (
        f"mkdir /tmp/all; mount -t hostfs none /tmp/all && cat /tmp/all{small_file} >/dev/null && echo read;"
        f"echo no > /tmp/all{tmp_path}/one; mount -o remount,rw /tmp/all; echo no > /tmp/all{tmp_path}/two;"
        f"echo kept > {tmp_path}/three; cat {tmp_path}/three"
    )
    answer = etalon("exec", small_file, "--", "sh", "-c", script)
    assert answer.out.split() == ["read", "kept"]
    assert not {"one", "two", "three"} & {path.name for path in tmp_path.iterdir()}


def test_shell_has_the_terminal(small_file: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "etalon", "shell", str(small_file), "--host", "r0h1"]
    path = os.pathsep.join(sys.path)
    child = subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,
    )
    os.close(theirs)
    said, running = b"", set[int]()
    lines = [b"echo $(hostname)-$((6*7))\n", b"on r2h1 hostname\n", b"exit 4\n"]
    with suppress(OSError):  # which says that the other end is closed
        while select.select([ours], [], [], 30)[0]:
            said += os.read(ours, 4096)
            if lines and said.endswith(b"# "):  # the prompt
                running |= kernels(child.pid)
                os.write(ours, lines.pop(0))
    try:
        assert child.wait(timeout=30) == 4
    finally:
        child.kill()
    assert b"r0h1-42" in said
    assert b"\rr2h1\r" in said.replace(b"\n", b"\r")
    assert running
    assert gone(running)


def test_traces_have_the_kernels_packets(small_file: Path, tmp_path: Path, etalon: Command) -> None:
    answer = etalon("trace", small_file, *LINUX, "--start", "5ms", "--end", "8ms", "--json")
    assert answer.code == 0
    assert sum(count(Path(answer.json[0])).values()) > 1000


def test_ctrl_c_keeps_what_was_measured(small_file: Path, tmp_path: Path) -> None:
    arguments = ("run", small_file, *LINUX, "--set", "duration=60min", "--out", "out", "--json")
    child = started(*arguments, cwd=tmp_path)
    running = boots(child)
    time.sleep(2)
    running |= kernels(child.pid)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    assert json.loads(out)["partial"] is True
    assert et.Run.load(tmp_path / "out").meta["simulated_ns"] > 0
    assert gone(running)


@pytest.mark.parametrize("after_s", [0, 0.02, 0.2, 1])
def test_a_killed_command_leaves_no_process(
    small_file: Path, tmp_path: Path, after_s: float
) -> None:
    child = started("run", small_file, *LINUX, "--set", "duration=60min", cwd=tmp_path)
    running = boots(child)
    time.sleep(after_s)
    running |= kernels(child.pid)
    child.kill()
    child.communicate(timeout=60)
    assert gone(running)


def test_a_kernel_that_hangs_is_given_up(small_file: Path, tmp_path: Path) -> None:
    with small_file.open("a") as file:
        file.write('[[program]]\nhost = "r0h0"\ncommand = "sh -c \'while :; do :; done\'"\n')
    child = started("run", small_file, *LINUX, "--patience", "3s", "--out", "out", cwd=tmp_path)
    boots(child)
    time.sleep(1)
    running = kernels(child.pid)
    _, err = child.communicate(timeout=120)
    assert child.returncode == 1
    assert "for 3.6 s" in err, "a tenth of a second more for each host"
    assert gone(running)
