# SPDX-License-Identifier: MIT OR Apache-2.0
"""The Linux engine, seen from Python: what it is given, what is made of its answers, and what goes wrong."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import etalon as et
from conftest import SMALL, Answer
from etalon import _core, engine
from etalon.campaign.store import Store
from etalon.cli import hosts
from etalon.controls import controls
from etalon.errors import EngineFailed, PlanError
from etalon.plan import Plan
from etalon.results import Run
from fake_kernel import VERSION, FakeKernel, fake

__all__ = ["fake"]

Command = Callable[..., Answer]

# fmt: off
VARIANTS = (
    "bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois",
    "lp", "nv", "reno", "scalable", "vegas", "veno", "westwood", "yeah",
)
# fmt: on

PROGRAMS = """
name = "ping"
duration = "30ms"
[network]
hosts = 2
[[program]]
host = "r1h1"
command = "iperf3 -s"
[[program]]
host = "r0h1"
command = ["ping", "-c", "3", "r1h1"]
start = "1ms"
name = "echo"
"""


def test_a_run_says_which_kernel_it_was(fake: FakeKernel, small: Plan) -> None:
    run = et.run(small, engine="linux")
    meta = run.meta
    assert (meta["engine"], meta["kernel"], meta["hz"]) == ("linux", VERSION, 250)
    assert len(meta["kernel_image"]) == 16
    assert meta["build"] != et.run(small).meta["build"]
    assert fake.calls[0]["hz"] == 250


def test_the_first_run_builds_the_kernel_and_says_so(
    etalon: Command, fake: FakeKernel, small_file: Path
) -> None:
    first = etalon("run", small_file, "--engine", "linux", "--no-figures")
    assert first.code == 0
    assert "needs a kernel with HZ 250, which is built now and kept" in first.err
    assert f"Linux {VERSION} with HZ 250" in first.out
    assert "built" not in etalon("run", small_file, "--engine", "linux", "--seed", 2).err
    etalon("run", small_file, "--engine", "linux", "--no-figures", "--set", "tcp.hz=1000")
    assert fake.built == [250, 1000]


def test_results_of_the_engines_lie_side_by_side(
    etalon: Command, fake: FakeKernel, small_file: Path
) -> None:
    linux = etalon("run", small_file, "--engine", "linux", "--no-figures", "--json").json
    sim = etalon("run", small_file, "--no-figures", "--json").json
    assert linux["folder"].startswith("runs/small-linux-")
    assert Path(linux["folder"]).name.replace("-linux", "") == Path(sim["folder"]).name
    again = etalon("run", small_file, "--engine", "linux", "--no-figures")
    assert "already holds the results of this plan" in again.err
    assert len(fake.calls) == 1


def test_results_of_one_engine_are_never_taken_for_the_others(
    etalon: Command, fake: FakeKernel, small_file: Path
) -> None:
    command = ("run", small_file, "--no-figures", "--out", "out")
    assert etalon(*command).code == 0
    other = etalon(*command, "--engine", "linux")
    assert other.code == 2
    assert "already holds a run" in other.err


def test_another_kernel_runs_the_plan_again(fake: FakeKernel, small: Plan, tmp_path: Path) -> None:
    folder = et.run(small, engine="linux").save(tmp_path / "run")
    assert Store(engine.named("linux"), lambda _: folder).has(small)
    assert not Store(engine.named("sim"), lambda _: folder).has(small)
    fake.write(250, "patched")
    assert not Store(engine.named("linux"), lambda _: folder).has(small)


def test_sweeps_and_traces_run_on_it(etalon: Command, fake: FakeKernel, small_file: Path) -> None:
    arguments = ("sweep", small_file, "--set", "network.voq=4,8", "--engine", "linux")
    answer = etalon(*arguments, "--json", "--no-figures")
    assert answer.code == 0
    folder = Path(answer.json["folder"])
    assert folder.name.startswith("small-linux-sweep-")
    assert json.loads((folder / "sweep.json").read_text())["engine"] == "linux"
    assert len(fake.calls) == 2
    etalon(*arguments, "--json", "--no-figures")
    assert len(fake.calls) == 2, "what is there is not run again"
    run = etalon("run", small_file, "--engine", "linux", "--no-figures", "--json").json["folder"]
    traced = etalon("trace", run, "--end", "1ms")
    assert traced.code == 0
    assert traced.out.startswith(f"{run}/trace/")
    assert fake.calls[-1]["trace"][:2] == (0, 1_000_000)


def _ending(argv: Sequence[str]) -> dict[str, Any]:
    if argv[0] == "ping":
        return {"status": 1, "stdout": b"3 packets", "stderr": b"\nping: r1h1: no answer\n\n"}
    return {"status": None, "end_ns": None, "stdout": b"listening", "stderr": b""}


def test_programs_leave_output_and_exit_status(
    etalon: Command, fake: FakeKernel, tmp_path: Path
) -> None:
    fake.programs = _ending
    path = tmp_path / "ping.toml"
    path.write_text(PROGRAMS)
    answer = etalon("run", path, "--engine", "linux", "--out", "out")
    assert answer.code == 1
    assert (
        "warning: ping -c 3 r1h1 on r0h1 failed with exit status 1: ping: r1h1: no answer"
        in answer.err
    )
    assert "nothing was delivered" not in answer.err
    assert "cut off by the end" in answer.out
    assert "goodput" not in answer.out
    assert fake.calls[0]["plan"]["programs"] == [
        {"rack": 1, "host": 1, "command": ["iperf3", "-s"], "start_ns": 0},
        {"rack": 0, "host": 1, "command": ["ping", "-c", "3", "r1h1"], "start_ns": 1_000_000},
    ]
    folder = tmp_path / "out"
    assert (folder / "programs" / "echo.out").read_bytes() == b"3 packets"
    assert (folder / "programs" / "0-r1h1-iperf3.out").read_bytes() == b"listening"
    run = Run.load(folder)
    assert run.programs["status"].to_list() == [None, 1]
    assert run.outputs["programs/echo.err"] == b"\nping: r1h1: no answer\n\n"
    assert run.plan.measured_pair == (0, 1)
    assert "ping -c 3 r1h1" in (folder / "report.html").read_text()


def test_programs_in_python(fake: FakeKernel) -> None:
    fake.programs = _ending
    net = et.network(hosts=2)
    run = et.run(
        net,
        et.program("r0h1", "ping -c 3 r1h1", start="1ms"),
        duration="10ms",
        engine="linux",
    )
    assert run.failed_programs == [
        "ping -c 3 r1h1 on r0h1 failed with exit status 1: ping: r1h1: no answer"
    ]


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        ({"host": "r9h0", "command": "true"}, "program.host: there is no host r9h0"),
        ({"host": "r0h0", "command": ""}, "must have at least one word"),
        ({"host": "r0h0", "command": "sh -c 'a"}, "is not a command: no closing quotation"),
        ({"host": "r0h0", "command": 3}, 'is not a command: it is written like "ping -c 3 r1h0"'),
        ({"host": "r0h0"}, "program.0.command: must be given"),
        (
            {"host": "r0h0", "command": "true", "start": "40ms"},
            'program.start: "40ms" is not before the end of the experiment at 30ms',
        ),
        ({"host": "r0h0", "command": "true", "name": "../x"}, "must be made of letters"),
        ({"command": "true"}, 'must name one host, like host = "r0h3", or several'),
        ({"host": "r0h0", "hosts": "all", "command": "true"}, "must name one host"),
        ({"hosts": "r0h0", "command": "true"}, '"r0h0" is neither "all" nor a list of hosts'),
        ({"hosts": ["r0h0", "r9h0"], "command": "true"}, "program.hosts: there is no host r9h0"),
        ({"hosts": ["r0h0", "r0h0"], "command": "true"}, "program.hosts: r0h0 is named twice"),
        ({"host": "r0h0", "command": "echo {peer}"}, "program.command: {peer} is the next host"),
        ({"host": "r0h0", "command": "true", "env": {"A=": "b"}}, '"A=" cannot be a variable'),
        ({"host": "r0h0", "command": "true", "env": ["A=b"]}, "is not an environment"),
    ],
)
def test_bad_programs_get_a_sentence(small: Plan, program: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PlanError) as error:
        small.replace({"program": [program]})
    assert sentence in str(error.value)


def test_a_program_on_many_hosts_knows_its_place(fake: FakeKernel, small: Plan) -> None:
    fake.programs = lambda argv: {"status": 0, "stdout": argv[-1].encode(), "stderr": b""}
    several = {
        "hosts": ["r1h0", "r0h1"],
        "command": ["echo", "{index} {host} {peer} {r0h1} {other}"],
        "env": {"ME": "{host}"},
        "name": "many",
    }
    alone = {"host": "r0h0", "command": "echo {host}", "name": "one"}
    run = et.run(small.replace({"program": [several, alone]}), engine="linux")
    assert [one.get("env") for one in fake.calls[0]["plan"]["programs"]] == [
        ["ME=r1h0"],
        ["ME=r0h1"],
        None,
    ]
    assert {name: text for name, text in run.outputs.items() if name.endswith(".out")} == {
        "programs/many-r1h0.out": b"0 r1h0 r0h1 {r0h1} {other}",
        "programs/many-r0h1.out": b"1 r0h1 r1h0 {r0h1} {other}",
        "programs/one.out": b"r0h0",
    }
    assert run.programs["host"].to_list() == ["r1h0", "r0h1", "r0h0"]


def test_two_programs_cannot_have_the_same_files(small: Plan) -> None:
    one = {"host": "r0h0", "command": "true", "name": "a-r0h1"}
    many = {"hosts": ["r0h1", "r1h1"], "command": "true", "name": "a"}
    with pytest.raises(PlanError, match=r"program.1.name: .*is also the name of program.0"):
        small.replace({"program": [one, many]})


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("linux.cpu", "0s", "cannot be the time of a system call"),
        ("linux.cpu", "2s", "cannot be the time of a system call"),
        ("linux.polling", "2s", "is too long: a poll waits at most 1s"),
    ],
)
def test_costs_of_calls_and_polls_have_bounds(
    small: Plan, key: str, value: str, sentence: str
) -> None:
    with pytest.raises(PlanError, match=f"{key}: .*{sentence}"):
        small.replace({key: value})


def test_networks_that_have_no_addresses_or_ports_for_all(small: Plan) -> None:
    linux = engine.named("linux")
    assert linux.problems(small.replace({"network.hosts": 254, "bulk.flows": 20_000})) == []
    for change, sentence in (
        ({"network.hosts": 255}, "network.hosts: 255 hosts; --engine linux runs at most 254"),
        ({"bulk.flows": 20_001}, "bulk: 20001 flows; --engine linux runs at most 20000"),
    ):
        assert [str(found) for found in linux.problems(small.replace(change))] == [sentence]


def test_the_simulator_refuses_programs(small: Plan) -> None:
    plan = small.replace({"program": [{"host": "r0h0", "command": "true"}]})
    with pytest.raises(PlanError, match="programs run on real hosts only: use --engine linux"):
        et.run(plan)
    assert plan.digest != small.digest


@pytest.mark.parametrize("cc", VARIANTS)
def test_linux_has_all_variants_of_nsdi20_and_the_simulator_says_what_it_lacks(
    small: Plan, cc: str
) -> None:
    plan = small.replace({"bulk.cc": cc})
    engine.check([plan], "linux")
    if "sim" in controls()[cc].engines:
        engine.check([plan], "sim")
    else:
        with pytest.raises(PlanError, match=f'no model of "{cc}"; --engine linux runs the kernel'):
            engine.check([plan], "sim")


@pytest.mark.parametrize(
    ("cc", "params", "engine_name", "sentence"),
    [
        ("retcp", {"alpha": 4.0}, "linux", None),
        ("cubic", {"c": 0.8}, "linux", "only the simulator's model of cubic has this parameter"),
        ("dctcp", {"g": 0.1}, "linux", "must be a power of a half"),
        ("dctcp", {"g": 0.125}, "linux", None),
        ("vegas", {"alpha": 4}, "linux", None),
    ],
)
def test_parameters_by_engine(
    small: Plan, cc: str, params: dict[str, float], engine_name: str, sentence: str | None
) -> None:
    plan = small.replace({"bulk.cc": cc, "bulk.params": params})
    if sentence is None:
        engine.check([plan], engine_name)
    else:
        with pytest.raises(PlanError, match=sentence):
            engine.check([plan], engine_name)


def test_parameters_are_the_kernels_not_a_flows(small: Plan) -> None:
    twice = [
        {"from": 0, "to": 1, "cc": "vegas", "params": {"alpha": 4}},
        {"from": 1, "to": 2, "cc": "vegas"},
    ]
    with pytest.raises(PlanError, match=r"bulk\.1\.params: differ from those of bulk\.0"):
        engine.check([small.replace({"bulk": twice})], "linux")


def test_what_has_no_setting_in_linux_is_refused(small: Plan) -> None:
    with pytest.raises(PlanError, match="Linux has no setting for it, and always uses 40ms"):
        engine.check([small.replace({"tcp.min_delayed_ack": "1ms"})], "linux")


def test_linux_sends_no_packet_of_a_flow_its_own_way() -> None:
    plan = Plan.from_dict(
        {
            "network": {"kind": "ocs", "racks": 8, "hosts": 1},
            "schedule": {"kind": "static", "graph": "regular"},
            "routing": {"kind": "ksp", "paths": 4, "spread": "packet"},
            "flow": [{"from": "r0h0", "to": "r1h0", "size": "1kB"}],
        }
    )
    with pytest.raises(PlanError, match="sends all packets of a flow over one path"):
        et.run(plan, engine="linux")


def test_what_only_the_simulator_has_is_refused(small: Plan) -> None:
    job = {"writers": 2, "size": "1MB"}
    with pytest.raises(PlanError, match=r"dfsio: only the simulator models HDFS"):
        engine.check([small.replace({"dfsio": [job]})], "linux")
    ends = {"bulk": [], "program": [{"host": "r0h0", "command": "true"}], "end_when_done": True}
    with pytest.raises(
        PlanError, match=r"end_when_done: the run ends with its last flow, and it has"
    ):
        engine.check([small.replace(ends)], "linux")


@pytest.mark.parametrize("estimator", ["voq", "adu", "oracle"])
def test_computed_weeks_are_not_refused(small: Plan, estimator: str) -> None:
    schedule = {"kind": "solstice", "estimator": estimator}
    engine.check([small.replace({"schedule": schedule, "end_when_done": True})], "linux")


PANIC = ("The kernel panicked: Attempted to kill init.", "[ 1.0] Kernel panic\n")


def test_a_kernel_that_dies_leaves_its_console_and_what_was_measured(
    etalon: Command, fake: FakeKernel, small_file: Path
) -> None:
    fake.failure = (*PANIC, True)
    answer = etalon("run", small_file, "--engine", "linux", "--out", "out")
    assert answer.code == 1
    assert "error: small: The kernel panicked: Attempted to kill init." in answer.err
    assert "console log: out/console.log" in answer.err
    folder = small_file.parent / "out"
    assert (folder / "console.log").read_text() == PANIC[1]
    assert Run.load(folder).partial
    fake.failure = None
    assert etalon("run", small_file, "--engine", "linux", "--out", "out").code == 0
    assert not (folder / "console.log").exists()


def test_without_results_the_console_is_kept_in_the_cache(
    etalon: Command, fake: FakeKernel, small_file: Path
) -> None:
    fake.failure = (*PANIC, False)
    answer = etalon("sweep", small_file, "--seeds", 2, "--engine", "linux")
    assert answer.code == 1
    (log,) = (small_file.parent / "cache" / "etalon" / "console").iterdir()
    assert f"console log: {log}" in answer.err
    assert log.read_text() == PANIC[1]


def test_in_python_a_failure_has_the_console_and_the_partial_run(
    fake: FakeKernel, small: Plan
) -> None:
    fake.failure = (*PANIC, True)
    with pytest.raises(EngineFailed, match="The kernel panicked") as failure:
        et.run(small, engine="linux")
    assert failure.value.console == PANIC[1]
    assert failure.value.run.partial


def test_patience_reaches_the_watchdog(etalon: Command, fake: FakeKernel, small_file: Path) -> None:
    etalon("run", small_file, "--engine", "linux", "--no-figures", "--patience", "5s")
    assert fake.calls[0]["patience_s"] == 5.0
    answer = etalon("run", small_file, "--engine", "linux", "--patience", "5")
    assert '--patience: "5" has no unit' in answer.err


def test_the_lists_tell_the_engines_apart(etalon: Command) -> None:
    listed = {entry["name"]: entry for entry in etalon("list", "cc", "--json").json}
    on_linux = {name for name, entry in listed.items() if "linux" in entry["engines"]}
    assert set(VARIANTS) | {"retcp"} == on_linux
    assert listed["powertcp"]["engines"] == ["sim"]
    assert listed["vegas"]["engines"] == ["linux"]
    assert listed["cubic"]["engines"] == ["sim", "linux"]
    parameters = {p["name"]: p["engines"] for p in listed["cubic"]["parameters"]}
    assert parameters["c"] == ["sim"]
    assert parameters["beta"] == ["sim", "linux"]
    assert [entry["name"] for entry in etalon("list", "engines", "--json").json] == ["sim", "linux"]


def test_a_plan_of_programs_is_written_and_read_back() -> None:
    plan = Plan.from_toml(PROGRAMS)
    assert Plan.from_toml(plan.to_toml()) == plan
    assert Plan.from_toml(SMALL).resolve().get("programs") is None


def test_exec_passes_output_and_exit_status_on(
    etalon: Command, fake: FakeKernel, small_file: Path
) -> None:
    fake.programs = lambda argv: {
        "status": 3 if argv[0] == "ping" else None,
        "stdout": f"{argv[0]} said\nthis".encode(),
        "stderr": b"",
    }
    command = (
        "exec",
        small_file,
        "--host",
        "r0h1",
        "--server",
        "r1h1:wc -l",
        "--server",
        "all:sleep {index}",
        "--env",
        "A=b=c",
        "--",
        "ping",
        "-c",
        "3",
        "r1h1",
    )
    answer = etalon(*command)
    assert answer.code == 3
    assert answer.out == "ping said\nthis"
    assert "[r1h1] wc said\n" in answer.err
    assert "[r1h1] this\n" in answer.err
    (call,) = fake.calls
    assert call["mode"] == "exec"
    assert call["programs"] == [
        (0, 1, ["ping", "-c", "3", "r1h1"], 1_000_000, ["A=b=c"]),
        (1, 1, ["wc", "-l"], 0, ["A=b=c"]),
        *(
            (rack, host, ["sleep", str(2 * rack + host)], 0, ["A=b=c"])
            for rack in range(3)
            for host in range(2)
        ),
    ]
    assert call["plan"]["duration_ns"] == 3600 * 10**9, "it ends with the command"
    assert not (small_file.parent / "runs").exists()


def test_a_shell_without_a_terminal_reads_its_commands_from_standard_input(
    etalon: Command, fake: FakeKernel, small_file: Path
) -> None:
    assert etalon("shell", small_file, "--host", "r0h1").code == 0
    (call,) = fake.calls
    assert call["mode"] == "exec"
    (rack, host, (shell, *_), start, _), *others = call["programs"]
    assert (rack, host, start, others) == (0, 1, 0, [])
    assert shell.endswith("sh")


def test_memory_of_the_emulated_machine_is_a_key(
    etalon: Command, fake: FakeKernel, small_file: Path
) -> None:
    assert etalon("run", small_file, "--engine", "linux", "--out", "one").code == 0
    memory = ("--set", "linux.memory=2GiB")
    assert etalon("run", small_file, "--engine", "linux", "--out", "two", *memory).code == 0
    assert [call["memory_mib"] for call in fake.calls] == [None, 2048]
    assert "linux" not in fake.calls[1]["plan"]
    plan = Plan.load(small_file)
    assert plan.replace({"linux.memory": "2GiB"}).digest != plan.digest
    for size in ("1MiB", "300GiB", "200000001"):
        answer = etalon("run", small_file, "--set", f"linux.memory={size}")
        assert answer.code == 2
        assert "linux.memory" in answer.err


def test_output_that_nobody_reads_does_not_hold_up_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb"), os.fdopen(writer, "w", encoding="utf-8") as out:
        monkeypatch.setattr(sys, "stdout", out)
        stop = threading.Event()
        output = hosts._Writer(None, stop)
        thread = threading.Thread(target=output.write, args=(1, bytes(1 << 20)), daemon=True)
        thread.start()
        thread.join(0.5)
        assert thread.is_alive(), "a pipe has less room"
        stop.set()
        thread.join(10)
        assert not thread.is_alive()


def test_exec_tells_of_a_command_that_was_cut_off(
    etalon: Command, fake: FakeKernel, small_file: Path
) -> None:
    fake.programs = lambda _: {"status": None, "stdout": b"", "stderr": b""}
    answer = etalon("exec", small_file, "--duration", "2ms", "--", "ping", "r1h1")
    assert answer.code == 124
    assert "ping was cut off by the end of the experiment" in answer.err
    assert fake.calls[0]["plan"]["duration_ns"] == 2_000_000


def test_programs_by_hand_may_have_a_network_to_themselves(
    etalon: Command, fake: FakeKernel, small_file: Path
) -> None:
    small_file.write_text(small_file.read_text().partition("[[bulk]]")[0])
    for command, *more in (["run"], ["sweep", "--seeds", "2"], ["trace"]):
        answer = etalon(command, small_file, *more, "--engine", "linux", "--out", "out")
        assert answer.code == 2
        assert "bulk: the plan sends nothing: give at least one workload" in answer.err
    assert not fake.calls
    assert etalon("exec", small_file, "--", "ping", "r1h1").code == 0
    assert fake.calls[0]["plan"]["flows"] == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["exec", "small.toml"], "Missing argument"),
        (
            ["exec", "small.toml", "--host", "r7h0", "--", "true"],
            "--host: there is no host r7h0",
        ),
        (
            ["exec", "small.toml", "--server", "r1h1", "--", "true"],
            'must be written like "r1h3:iperf3 -s"',
        ),
        (["exec", "small.toml", "--server", "r1h9:true", "--", "true"], "there is no host r1h9"),
        (["exec", "small.toml", "--env", "A", "--", "true"], "must be written like NAME=VALUE"),
        (
            ["exec", "small.toml", "--server", "r1h1:nosuchserver -s", "--", "true"],
            'hosts run the programs of this machine, which has no "nosuchserver"',
        ),
        (
            ["exec", "small.toml", "--start", "2s", "--duration", "1s", "--", "true"],
            '--start: "2s" is not before the end',
        ),
        (["exec", "small.toml", "--start", "2h", "--", "true"], '--start: "2h"'),
        (["exec", "small.toml", "--", "ping", "{r7h0}"], "there is no host r7h0"),
    ],
)
def test_bad_input_of_exec_and_shell(
    etalon: Command, fake: FakeKernel, small_file: Path, arguments: list[str], sentence: str
) -> None:
    answer = etalon(*arguments)
    assert answer.code == 2
    assert sentence in answer.err
    assert not fake.calls


def test_a_failure_that_came_before_the_experiment_leaves_no_run(
    etalon: Command, fake: FakeKernel, small_file: Path
) -> None:
    fake.failure = (*PANIC, True)
    fake.reached = 0
    answer = etalon("run", small_file, "--engine", "linux", "--out", "out")
    assert answer.code == 1
    assert not (small_file.parent / "out").exists()


def test_counters_that_the_kernel_could_not_tell_are_not_known(
    fake: FakeKernel, small: Plan, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stopped(*arguments: Any, **options: Any) -> dict[str, Any]:
        answer = fake.run(*arguments, **options)
        answer["flows"]["bytes_delivered"][:] = -1
        answer["flows"]["retransmits"][1] = -1
        return answer

    monkeypatch.setattr(_core, "run_linux", stopped)
    run = et.run(small, engine="linux")
    assert (run.goodput, run.counted("retransmits")) == (None, None)
    assert run.counted("rtos") is not None
    assert run.summary()["retransmits"] is None
    again = et.Run.load(run.save(tmp_path / "run"))
    assert again.flows["retransmits"].null_count() == 1
