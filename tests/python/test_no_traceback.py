# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whatever is wrong, one sentence says what, and where: no traceback, nothing half written."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from conftest import ROOT, SMALL, Answer
from etalon.campaign.executors.local import Local
from etalon.errors import Interrupted

Command = Callable[..., Answer]

TRACE = '[[trace]]\nfile = "flows.txt"\n'
POISSON = "[[poisson]]\nload = "
HEAD = SMALL.partition("[[bulk]]")[0]
NETWORK = HEAD.replace("hosts = 2\n", "hosts = 2\n{}\n")
BULK = "[[bulk]]\nfrom = 0\nto = 1\n"


def deep(levels: int) -> str:
    return f"{HEAD}{BULK}x = {'[' * levels}{']' * levels}\n"


PLANS = {
    "load that is no number": (HEAD + POISSON + "nan", "poisson.0.load: nan must be"),
    "load without end": (HEAD + POISSON + "inf", "poisson.0.load: inf must be at most 10"),
    "load next to nothing": (HEAD + POISSON + "1e-320", "poisson.0.load: 1e-320 must be at least"),
    "parameter that is no number": (
        HEAD + BULK + "params = { beta = nan }",
        "bulk.params.beta: nan must be a number",
    ),
    "parameter without end": (
        HEAD + BULK + "params = { beta = inf }",
        "bulk.params.beta: inf must be a number",
    ),
    "20000 lists in each other": (deep(20_000), "nested deeper than those of any plan"),
    "40 lists in each other": (deep(40), "nested deeper than those of any plan"),
    "20000 tables in each other": (
        HEAD + "[" + "a." * 20_000 + "b]\nc = 1\n",
        "nested deeper than those of any plan",
    ),
    "5000 inline tables": (
        HEAD + "x = " + "{a = " * 5000 + "1" + "}" * 5000,
        "nested deeper than those of any plan",
    ),
    "escape bytes in a value": (
        HEAD + BULK + 'cc = "\\u001b[31mred\\u009b"',
        r'bulk.cc: "\u001b[31mred\x9b" is not a congestion control',
    ),
    "escape bytes in a key": (HEAD + '"\\u001b[2J" = 1\n' + BULK, r"\x1b[2J: unknown key"),
    "a long value": (HEAD + BULK + f'cc = "{"x" * 5_000_000}"', "bulk.cc: "),
    "a long key": (HEAD + f"{'x' * 5_000_000} = 1\n" + BULK, "unknown key"),
    "VOQ of one rack": (
        NETWORK.format("[network.voq]\npairs = [{from = 1, to = 1, packets = 9}]") + BULK,
        "network.voq.pairs.0: the VOQ from rack 1 to rack 1 is of one rack",
    ),
    "VOQ twice": (
        NETWORK.format(
            "[network.voq]\npairs = [{from = 1, to = 2, packets = 9}, {from = 1, to = 2, packets = 8}]"
        )
        + BULK,
        "network.voq.pairs.1: the VOQ from rack 1 to rack 2 is given twice",
    ),
    "path without a rate": (
        '[network]\nkind = "dumbbell"\npath = [{delay = "1us"}]\n' + BULK,
        "network.path.0.rate: must be given",
    ),
    "a key of another kind": (
        '[network]\nkind = "dumbbell"\nracks = 3\n' + BULK,
        'or of kind "ocs" takes this key, not one of kind "dumbbell"',
    ),
    "a key without effect": (
        'schedule.kind = "none"\nschedule.mimic = 25\n' + BULK,
        'schedule.mimic: only a schedule of kind "strobe" takes this key, not one of kind "none"',
    ),
}


@pytest.mark.parametrize(("text", "sentence"), PLANS.values(), ids=PLANS.keys())
def test_plans(etalon: Command, tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(text)
    answer = etalon("run", path, "--out", "out")
    assert answer.code == 2
    assert answer.err.startswith(f"error: {path}: ")
    assert sentence in answer.err
    assert len(answer.err) < 20_000
    assert all(c.isprintable() or c == "\n" for c in answer.err)
    assert not (tmp_path / "out").exists()


TRACES = {
    "a size of 1e23": ("r0h0 r1h0 100000000000000000000000 0", ":1: .*: bytes is at most 1000TB"),
    "a start of 1e23": (
        "r0h0 r1h0 1 100000000000000000000000",
        ":1: .*: start_ns is at most 60min",
    ),
    "5000 digits": (f"r0h0 r1h0 {'9' * 900} 0\n", ":1: .*: bytes is at most 1000TB"),
    "a line without end": ("x" * 5_000_000, ":1: a line must have fewer than 1000 characters"),
}


@pytest.mark.parametrize(("flows", "sentence"), TRACES.values(), ids=TRACES.keys())
def test_traces(etalon: Command, tmp_path: Path, flows: str, sentence: str) -> None:
    (tmp_path / "plan.toml").write_text(HEAD + TRACE)
    (tmp_path / "flows.txt").write_text(flows)
    answer = etalon("run", "plan.toml")
    assert answer.code == 2
    assert re.search(sentence, answer.err), answer.err
    assert len(answer.err) < 2000


@pytest.mark.parametrize("kind", ["fifo", "device", "folder"])
def test_what_is_no_file_is_no_trace(etalon: Command, tmp_path: Path, kind: str) -> None:
    (tmp_path / "plan.toml").write_text(HEAD + TRACE)
    flows = tmp_path / "flows.txt"
    if kind == "fifo":
        os.mkfifo(flows)
    elif kind == "device":
        flows.symlink_to("/dev/zero")
    else:
        flows.mkdir()
    answer = etalon("run", "plan.toml")
    assert (answer.code, "flows.txt: is not a file" in answer.err) == (2, True)


def test_a_plan_without_end_is_refused(etalon: Command) -> None:
    answer = etalon("run", "/dev/zero")
    assert (answer.code, answer.err) == (
        2,
        "error: /dev/zero: is larger than 64 MiB, too large for a plan\n",
    )


@pytest.mark.parametrize("key", ["schedule.file", "schedule.demand"])
def test_what_is_no_file_is_no_schedule(etalon: Command, tmp_path: Path, key: str) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(f'schedule.kind = "fixed"\n{key} = "/dev/zero"\n{BULK}')
    answer = etalon("run", plan)
    assert (answer.code, answer.err) == (2, f'error: {plan}: {key}: "/dev/zero" is not a file\n')


OTCP = {
    "a file without end": (("controller", "/dev/zero"), "/dev/zero: is larger than 64 MiB, too"),
    "no address": (("show", "--url", "nonsense"), '--url: "nonsense" is no address like "http://'),
    "half an address": (("show", "--url", "http://[::1"), '--url: "http://[::1" is no address'),
    "a port of letters": (
        ("show", "--url", "http://127.0.0.1:x"),
        '--url: "http://127.0.0.1:x" is',
    ),
    "another protocol": (("show", "--url", "file:///etc/motd"), '--url: "file:///etc/motd" is no'),
    "a token without end": (("measure", "--token-file", "/dev/zero"), "/dev/zero: is expected to"),
    "no token": (("measure", "--token-file", "/dev/null"), "/dev/null: is expected to hold one"),
    "no file": (("measure", "--token-file", "none"), "none: cannot be read: No such file"),
    "no CA": (
        ("show", "--url", "https://127.0.0.1:1", "--ca", "/dev/null"),
        "/dev/null: is no CA's certificate in PEM",
    ),
}


@pytest.mark.parametrize(("given", "sentence"), OTCP.values(), ids=OTCP.keys())
def test_operators_commands(etalon: Command, given: tuple[str, ...], sentence: str) -> None:
    answer = etalon("otcp", *given)
    assert answer.code == 2
    assert answer.err.startswith(f"error: {sentence}")


def test_what_answers_is_no_controller(etalon: Command) -> None:
    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>")

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Other) as server:
        threading.Thread(target=server.handle_request).start()
        url = f"http://127.0.0.1:{server.server_port}"
        answer = etalon("otcp", "show", "--url", url)
    assert (answer.code, answer.err) == (1, f"error: {url}: what answers is no controller\n")


@pytest.mark.parametrize("command", ["run", "sweep", "trace"])
def test_what_the_engine_refuses_is_said_of_the_file(
    etalon: Command, small_file: Path, command: str
) -> None:
    small_file.write_text(small_file.read_text() + 'cc = "vegas"\n')
    more = ("--seeds", "2") if command == "sweep" else ()
    answer = etalon(command, small_file, *more, "--out", "out")
    assert answer.code == 2
    assert answer.err.startswith(
        f'error: {small_file}: bulk.cc: the simulator has no model of "vegas"'
    )
    assert not (small_file.parent / "out").exists()


def test_a_failed_trace_leaves_no_empty_folder(
    etalon: Command, small_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("etalon.tracing.trace.write_timeline", full)
    assert etalon("trace", small_file, "--out", "out").code == 1
    assert not (small_file.parent / "out").exists()


@pytest.mark.parametrize("command", ["run", "sweep", "trace", "reproduce"])
def test_the_root_of_the_file_system_is_no_place_for_results(
    etalon: Command, small_file: Path, command: str
) -> None:
    given = {
        "run": (small_file,),
        "sweep": (small_file, "--set", "network.voq=4,8"),
        "trace": (small_file, "--no-pcapng", "--no-timeline"),
        "reproduce": ("nsdi20", "--figure", "9a"),
    }
    before = sorted(Path("/").iterdir())
    assert etalon(command, *given[command], "--out", "/").code == 2
    assert sorted(Path("/").iterdir()) == before


def test_a_sweep_without_end_is_refused_at_once(etalon: Command, small_file: Path) -> None:
    answer = etalon("sweep", small_file, "--seeds", 1_000_000_000)
    assert answer.code == 2
    assert "the sweep has 1000000000 runs; at most 100000 are run in one" in answer.err


def test_ctrl_c_before_the_first_point_of_a_reproduction(
    etalon: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise Interrupted([])

    monkeypatch.setattr(Local, "execute", stopped)
    answer = etalon("reproduce", "nsdi20", "--out", "out")
    assert answer.code == 130
    assert "not measured" in answer.out


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "python")}


def shell(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a line of shell in which $E is the program."""
    program = f'E="{sys.executable} -m etalon"\n'
    return subprocess.run(
        ["bash", "-c", program + script],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("$E list cc --json >&-", 0, ""),
        ("$E --help >&-", 0, ""),
        ("$E list cc 2>&-", 0, None),
        ("$E run nothing.toml 2>&-", 2, ""),
        ("$E list cc <&-", 0, None),
        (
            "$E list cc --json >/dev/full",
            1,
            "error: output could not be written: No space left on ",
        ),
        ("$E --help >/dev/full", 1, "error: output could not be written: No space left on device"),
        ("$E run nothing.toml 2>/dev/full", 2, ""),
        ("$E list keys | head -1", 0, None),
        (
            "mkdir gone; cd gone; rmdir ../gone; $E run ../small.toml",
            1,
            "error: the current folder is gone; change to another",
        ),
        ("mkdir gone; cd gone; rmdir ../gone; $E list engines", 0, None),
        (
            "ulimit -v 600000; $E run small.toml",
            1,
            "error: the address space is limited to 0.61 GB (ulimit -v); Etalon needs 1.5 GB or more",
        ),
    ],
)
def test_streams_and_folders_that_are_gone(
    small_file: Path, line: str, code: int, said: str | None
) -> None:
    done = shell(line, small_file.parent)
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    assert done.returncode == code
    if said is not None:
        assert done.stdout + done.stderr == "" if not said else done.stderr.startswith(said)


def test_results_are_kept_if_nobody_hears_of_them(small_file: Path) -> None:
    done = shell("$E run small.toml --no-figures --out out >&-", small_file.parent)
    assert (done.returncode, done.stderr) == (0, "")
    assert (small_file.parent / "out/run.json").exists()


def test_ctrl_c_while_modules_load(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nimport time\ntime.sleep(9)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "etalon", "--help"],
        env={**ENVIRONMENT, "PYTHONPATH": f"{tmp_path}:{ENVIRONMENT['PYTHONPATH']}"},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert (done.returncode, done.stderr) == (130, "error: interrupted\n")


def test_what_is_loaded_before_ctrl_c_is_heard_is_little() -> None:
    """By itself (-S): an environment may load more."""
    code = "import sys, etalon.__main__; print('typing' in sys.modules, len(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded, number = done.stdout.split()
    assert loaded == "False" and int(number) < 60
