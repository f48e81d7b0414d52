# SPDX-License-Identifier: MIT OR Apache-2.0
"""The command line: what it prints, where, and its exit codes."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import etalon as et
from conftest import ROOT, Answer
from etalon.cli import common
from etalon.errors import Interrupted, PlanError
from etalon.plan import Plan
from etalon.progress import bar
from etalon.results import TABLES, Run
from etalon.results.metrics import METRICS
from etalon.tracing import count

Command = Callable[..., Answer]


def test_without_arguments_it_shows_help(etalon: Command) -> None:
    answer = etalon()
    assert "run" in answer.out
    assert "reproduce" in answer.out
    assert etalon("--help").code == 0


def test_help_is_a_command(etalon: Command) -> None:
    assert etalon("help").out == etalon("--help").out
    assert etalon("help", "kernel", "build").out == etalon("kernel", "build", "--help").out


@pytest.mark.parametrize("columns", [80, 87, 95, 200])
def test_headings_of_sweeps_are_not_broken_within_words(
    etalon: Command, small_file: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    answer = etalon("sweep", small_file, "--set", "network.voq.packets=4,8", "--no-figures")
    table = answer.out.partition("\ncircuit, packet")[0]
    assert max(map(len, table.splitlines())) <= columns
    assert {"network.voq.packets", "latency", "retransmissions", "drops"} <= set(table.split())
    assert all(len(line.split()) == 8 for line in table.splitlines()[-2:])


def test_version(etalon: Command) -> None:
    answer = etalon("--version")
    assert (answer.code, answer.out) == (0, f"etalon {et.__version__}\n")


@pytest.mark.parametrize(
    ("line", "packages", "modules"),
    [
        ("import etalon", ["etalon"], ["etalon"]),
        (
            "from etalon.cli import main; main(['--help'])",
            ["annotated_doc", "etalon", "shellingham", "typer"],
            None,
        ),
    ],
)
def test_what_is_loaded_for_little(
    line: str, packages: list[str], modules: list[str] | None
) -> None:
    """Tables, plots, the core and rich text are for those who use them: `--help` must not wait for them."""
    script = (
        f"import sys; before = set(sys.modules); {line}\n"
        "new = {m for m in set(sys.modules) - before if m.partition('.')[0] not in sys.stdlib_module_names}\n"
        "print('\\n' + ' '.join(sorted(new)))"
    )
    out = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(ROOT / "python")},
    ).stdout
    loaded = out.splitlines()[-1].split()
    named = {module.partition(".")[0] for module in loaded}
    assert sorted(named - {"etalon_otcp"}) == packages  # OTCP's controller need not be installed
    if modules is not None:
        assert loaded == modules


def test_run_shows_the_numbers_and_the_folder(etalon: Command, small_file: Path) -> None:
    answer = etalon("run", small_file, "--no-figures")
    assert answer.code == 0
    for word in (
        "rack 0 -> 1",
        "utilisation",
        "latency p99",
        "all pairs: goodput",
        "payload",
        "retransmissions",
        "drops",
        "runs/small-",
    ):
        assert word in answer.out
    (folder,) = (small_file.parent / "runs").iterdir()
    names = {"plan.toml", "run.json", *(f"{name}.parquet" for name in TABLES)}
    assert {path.name for path in folder.iterdir()} == names


def test_run_json_is_one_document(etalon: Command, small_file: Path) -> None:
    answer = etalon("run", small_file, "--json", "--no-figures", "--out", "out")
    run = Run.load(small_file.parent / "out")
    assert answer.json["circuit_utilization"] == run.circuit_utilization
    assert answer.json["folder"] == "out"
    assert set(METRICS) <= set(answer.json)


def test_the_same_plan_is_not_run_twice(etalon: Command, small_file: Path) -> None:
    first = etalon("run", small_file, "--json", "--no-figures")
    again = etalon("run", small_file, "--json", "--no-figures")
    assert (again.code, again.json) == (0, first.json)
    assert "already holds the results of this plan" in again.err
    assert "already" not in etalon("run", small_file, "--json", "--no-figures", "--force").err


def test_another_plan_does_not_go_into_the_same_folder(etalon: Command, small_file: Path) -> None:
    etalon("run", small_file, "--no-figures", "--out", "out")
    answer = etalon("run", small_file, "--no-figures", "--out", "out", "--seed", 2)
    assert answer.code == 2
    assert answer.err == "error: out: already holds a run; --force replaces it\n"
    assert (
        etalon("run", small_file, "--no-figures", "--out", "out", "--seed", 2, "--force").code == 0
    )
    assert Run.load(small_file.parent / "out").plan.seed == 2


def test_settings_change_the_plan(etalon: Command, small_file: Path) -> None:
    settings = ["--set", "network.voq=32", "--set", "bulk.cc=reno", "--set", "duration=20ms"]
    etalon("run", small_file, "--no-figures", "--out", "out", *settings)
    plan = Run.load(small_file.parent / "out").plan
    assert (plan.network.voq.packets, plan.bulk[0].cc, plan.duration) == (32, "reno", 20_000_000)  # type: ignore[union-attr]


def test_null_takes_a_key_out_of_the_plan(etalon: Command, small_file: Path) -> None:
    settings = ["--set", "network.voq=32", "--set", "network.hosts=null", "--set", "name=null"]
    assert etalon("run", small_file, "--no-figures", "--out", "out", *settings).code == 0
    plan = Run.load(small_file.parent / "out").plan
    assert (plan.network.hosts, plan.name) == (Plan().network.hosts, Plan().name)
    grid = ["--set", "tcp.max_cwnd=10,null", "--no-figures", "--out", "swept", "--json"]
    answer = etalon("sweep", small_file, *grid)
    assert [row["tcp.max_cwnd"] for row in answer.json["rows"]] == ["10", "null"]


def test_several_plans_run_side_by_side(etalon: Command, small_file: Path) -> None:
    other = small_file.with_name("other.toml")
    other.write_text(small_file.read_text().replace("small", "other") + 'cc = "reno"\n')
    answer = etalon("run", small_file, other, "--jobs", 2, "--json", "--no-figures")
    assert [run["name"] for run in answer.json] == ["small", "other"]
    assert (
        etalon("run", small_file, small_file).err == "error: the same experiment is given twice\n"
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "no.toml"], "no.toml: there is no such file"),
        (
            ["run", "small.toml", "--set", "bulk.cc=cubik"],
            'small.toml with --set: bulk.cc: "cubik" is not',
        ),
        (
            ["run", "small.toml", "--set", "voq"],
            '--set "voq": a setting must be written like network.voq=16',
        ),
        (
            ["run", "small.toml", "--engine", "lynux"],
            'there is no engine "lynux"; choose "sim" or "linux"',
        ),
        (
            ["sweep", "small.toml", "--set", "network.voq=4,-4"],
            "network.voq.packets: -4 must be at least 1",
        ),
        (
            ["sweep", "small.toml", "--set", "tdf=1", "--set", "tdf=2"],
            "is given twice; write all its values together: --set tdf=1,2",
        ),
        (["sweep", "small.toml"], "a sweep must vary something"),
        (["sweep", "small.toml", "--set", "tdf=4,,8"], "--set tdf: a value is missing"),
        (["sweep", "small.toml", "--set", "tdf=4,8,"], "--set tdf: a value is missing"),
        (["sweep", "small.toml", "--set", "tdf=[4,8]"], "a sweep's values stand without brackets"),
        (["sweep", "small.toml", "--set", "tdf=1,2", "--metric", "fct"], 'did you mean "fct_p99"?'),
        (
            ["sweep", "small.toml", "--set", "tdf=1,2", "--metric", "fct_p50"],
            '--metric "fct_p50": no run will have it: all flows are of [[bulk]], which have no end',
        ),
        (["run", "small.toml", "--set", "bulk.flows=4,8"], '"4,8" is one value; `etalon sweep`'),
        (["reproduce", "nsdi20", "--figures"], "No such option: --figures (Possible"),
        (["sweep", "small.toml", "--set", "tdf=8,8"], "tdf: 8 is given twice"),
        (["examples", "--copy", "small.toml"], "small.toml: is a file; examples need a"),
        (["run", "folder"], "folder: contains results; `etalon report folder` draws them again"),
        (["run", "small"], "small: there is no such file; did you mean small.toml?"),
        (["run", "ring.toml"], "no such file; `etalon examples --copy .` copies an example of"),
        (["run", "nsdi20"], "nsdi20: is a paper; `etalon reproduce nsdi20` measures its claims"),
        (["run", "."], ".: is a folder; a plan is a file, such as small.toml"),
        (
            ["run", "small.toml", "--set", "bulk.cc=cubic,reno"],
            'bulk.cc: "cubic,reno" is one value; `etalon sweep` takes several',
        ),
        (
            ["run", "small.toml", "--set", "network.vqo=null"],
            'vqo: unknown key; did you mean "voq"?',
        ),
        (["run", "small.toml", "--set", "voq=4"], 'voq: unknown key; did you mean "network.voq"?'),
        (["run", "small.toml", "--cc", "reno"], "has no option --cc; --set bulk.cc=VALUE sets a"),
        (["run", "small.toml", "--seeds", "3"], "has no option --seeds; `etalon sweep` has"),
        (["report", "nowhere"], "nowhere: there is no such folder"),
        (["report", "small.toml"], "is a plan; `etalon run small.toml` runs it and draws its"),
        (
            ["report", "."],
            ".: contains the results of several runs or sweeps; name one, such as folder",
        ),
        (["trace", "."], ".: is not the folder of a run: it has no plan.toml"),
        (["reproduce", "nsdi"], 'there is no paper "nsdi"; did you mean "nsdi20"?'),
        (["bench", "leen"], 'did you mean "lean"?'),
        (["bench", "--out", "."], "is a folder; the results are one Markdown file"),
        (["bench", "--out", "small.toml/x.md"], "cannot be made: "),
        (["trace", "small.toml", "--out", "small.toml"], "is a file, not a folder"),
        (["reproduce", "nsdi20", "--out", "small.toml/x"], "is a file, not a folder"),
        (["trace", "small.toml", "--start", "5ms", "--end", "4ms"], "must be before"),
        (["trace", "small.toml", "--start", "5Gbps"], '--start: "5Gbps" has an unknown unit'),
        (
            ["trace", "small.toml", "--start", "30ms", "--end", "31ms"],
            "is not before the end of the experiment",
        ),
        (["trace", "small.toml", "--no-pcapng", "--no-timeline"], "leave nothing to write"),
        (["list", "foo"], 'there is no list "foo"; there are cc, engines, executors'),
        (["list", "metric"], 'there is no list "metric"; did you mean "metrics"?'),
        (["list", "cc", "--markdown"], "--markdown is for `etalon list keys`"),
        (["list", "retcp"], 'there is no list "retcp"; `etalon list cc` has it'),
        (["list", "opera"], 'there is no list "opera"; `etalon list schedulers` has it'),
        (["list", "tdtcp"], 'there is no list "tdtcp"; `etalon list transports` has it'),
        (["run"], "Missing argument"),
        (["run", "small.toml", "--sede", "4"], "No such option"),
        (["rum"], 'there is no command "rum"; did you mean "run"?'),
        (
            ["compare"],
            'there is no command "compare"; `etalon sweep PLAN --set KEY=V1,V2` compares',
        ),
        (["figure"], "`etalon report RESULTS` draws them again"),
        (["workload"], "`etalon list workloads` prints this list"),
        (["small.toml"], "`etalon run small.toml` runs a plan"),
        (["help", "rum"], 'there is no command "rum"; did you mean "run"?'),
    ],
)
def test_bad_input_gets_a_sentence(
    etalon: Command, small_file: Path, arguments: list[str], sentence: str
) -> None:
    (small_file.parent / "folder").mkdir()
    (small_file.parent / "folder/run.json").write_text("{}")
    answer = etalon(*arguments)
    assert answer.code in (1, 2)
    assert answer.out == ""
    assert sentence in answer.err
    assert not (small_file.parent / "runs").exists(), "nothing runs half"


def test_warnings_go_to_standard_error(etalon: Command, small_file: Path) -> None:
    answer = etalon("run", small_file, "--set", "bulk.cc=dctcp", "--json", "--no-figures")
    assert "warning: flows use dctcp, but network.marking is not set" in answer.err
    assert answer.json["name"] == "small"


def test_nothing_delivered_is_warned_about(etalon: Command, small_file: Path) -> None:
    answer = etalon("run", small_file, "--set", "bulk.start=29999us", "--no-figures")
    assert answer.code == 0
    assert "warning: small: nothing was delivered in the measured time" in answer.err


def test_a_job_that_is_over_in_the_warmup_is_told_apart(etalon: Command, tmp_path: Path) -> None:
    (tmp_path / "short.toml").write_text(
        'duration = "20ms"\nwarmup = "10ms"\ntdf = 1\n[network]\nracks = 4\nhosts = 1\n'
        'packet = { rate = "10Gbps", delay = "1us" }\n[schedule]\nkind = "none"\n'
        '[[job]]\niterations = 30\ndo = [{ all_reduce = "100kB" }]\n'
    )
    answer = etalon("run", "short.toml", "--no-figures", "--set", "job.iterations=2")
    assert "short: nothing was delivered after the warmup, so rates are 0" in answer.err
    assert "jobs: 2 of 2 iterations done, p50 " in answer.out and " us; busbw" in answer.out
    more = ["--set", "duration=1ms", "--set", "warmup=0s", "--out", "more"]
    answer = etalon("run", "short.toml", "--no-figures", *more)
    assert " of 30 iterations done" in answer.out and "warning" not in answer.err


def test_ctrl_c_saves_the_partial_run_and_exits_with_130(tmp_path: Path, small_file: Path) -> None:
    script = (
        "import os, signal, sys, threading, time\n"
        "from etalon.cli import main\n"
        "def interrupt():\n"
        "    while not any(t.name.startswith('etalon') for t in threading.enumerate()): time.sleep(0.01)\n"
        "    time.sleep(1)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "threading.Thread(target=interrupt, daemon=True).start()\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            script,
            "run",
            str(small_file),
            "--set",
            "duration=60min",
            "--out",
            "out",
            "--json",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
    )
    assert done.returncode == 130
    assert "partial results" in done.stderr
    assert "Traceback" not in done.stderr
    assert json.loads(done.stdout)["partial"] is True
    run = Run.load(tmp_path / "out")
    assert run.partial
    assert 0 < run.meta["simulated_ns"] < run.plan.duration
    assert run.packet_utilization is not None


def test_ctrl_c_never_costs_a_complete_run(
    etalon: Command, small_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("run", small_file, "--no-figures", "--out", "out")
    etalon(*command)
    whole = Run.load(small_file.parent / "out")
    partial = replace(whole, meta={**whole.meta, "partial": True})

    def stopped(*_: object, **__: object) -> None:
        raise Interrupted([partial])

    with monkeypatch.context() as patch:
        patch.setattr("etalon.campaign.executors.local.Local.execute", stopped)
        answer = etalon(*command, "--force")
        assert answer.code == 130
        assert "out keeps its complete results; nothing was written" in answer.err
        assert not Run.load(small_file.parent / "out").partial
        assert etalon(*command[:-1], "new").code == 130
    assert Run.load(small_file.parent / "new").partial

    again = etalon(*command[:-1], "new")
    assert again.code == 0
    assert "new holds partial results; the plan runs again and replaces them" in again.err
    assert not Run.load(small_file.parent / "new").partial


def test_sweep_prints_a_table(etalon: Command, small_file: Path) -> None:
    arguments = ["sweep", small_file, "--set", "network.voq=4,8", "--seeds", 2]
    answer = etalon(*arguments)
    assert answer.code == 0
    assert "4 runs; table and results in runs/small-sweep-" in answer.out
    (folder,) = (small_file.parent / "runs").iterdir()
    drawn = {path.name for path in (folder / "figures").iterdir()}
    assert drawn == {"utilization.png", "latency.png"}
    (folder / "report.html").unlink()
    assert etalon("report", folder).out == f"{folder}/report.html\n"
    assert "over network.voq" in (folder / "report.html").read_text()
    rows = etalon(*arguments, "--json").json["rows"]
    assert [(row["network.voq"], row["seed"]) for row in rows] == [(4, 1), (4, 2), (8, 1), (8, 2)]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a.b=4,8,16", [4, 8, 16]),
        ("a.b=cubic, dctcp", ["cubic", "dctcp"]),
        ("a.b=180us", ["180us"]),
        ("a.b=[0, 1],[1, 2]", [[0, 1], [1, 2]]),
        ("a.b={ packets = 4 }", [{"packets": 4}]),
        ('a.b="x,y",z', ['"x', 'y"', "z"]),
    ],
)
def test_values_of_a_grid(text: str, values: list[object]) -> None:
    assert common.parse_grid([text]) == {"a.b": values}


def test_a_setting_needs_a_key_and_a_value() -> None:
    for text in ("a", "=3", "a=", "a= "):
        with pytest.raises(PlanError, match="a setting must be written like"):
            common.parse_setting(text)


@pytest.mark.parametrize(
    "kind",
    [
        "cc",
        "engines",
        "schedulers",
        "routings",
        "workloads",
        "figures",
        "examples",
        "metrics",
        "papers",
        "keys",
    ],
)
def test_lists(etalon: Command, kind: str) -> None:
    entries = etalon("list", kind, "--json").json
    assert entries
    assert all(entry["name"] and entry["description"] for entry in entries)
    text = " ".join(etalon("list", kind).out.split())  # keys' meanings take several lines
    assert all(entry["name"] in text for entry in entries)
    assert all(" ".join(entry["description"].split()) in text for entry in entries)


def test_everything_is_listed_by_kind(etalon: Command) -> None:
    listed = etalon("list", "--json").json
    assert {"reno", "cubic", "dctcp", "retcp"} <= {entry["name"] for entry in listed["cc"]}
    assert {entry["name"] for entry in listed["metrics"]} == set(METRICS)


def test_the_page_of_keys_is_up_to_date(etalon: Command) -> None:
    page = (ROOT / "docs/plan.md").read_text()
    assert etalon("list", "keys", "--markdown").out == page, "etalon list keys --markdown writes it"


def test_a_part_of_a_name_finds_keys_and_other_entries(etalon: Command) -> None:
    found = etalon("list", "keys", "VOQ.resize").out
    assert "network.voq.resize  table\n    If set," in found
    assert "network.voq.packets" not in found
    assert [entry["name"] for entry in json.loads(etalon("list", "cc", "dct", "--json").out)] == [
        "dctcp"
    ]
    refused = etalon("list", "keys", "nosuch")
    assert refused.code == 2
    assert 'none of the keys has "nosuch" in its name' in refused.err


def test_examples_are_copied_but_never_over_a_file(etalon: Command, tmp_path: Path) -> None:
    copied = etalon("examples", "--copy", "here", "--json").json
    assert {"here/strobe.toml", "here/trace.txt", "here/pipeline.goal"} <= set(copied)
    assert (tmp_path / "here/strobe.toml").read_text() == (
        ROOT / "examples/strobe.toml"
    ).read_text()
    assert etalon("examples", "--copy", "here", "--json").json == copied, "the same files"
    (tmp_path / "here/strobe.toml").write_text("my own")
    again = etalon("examples", "--copy", "here")
    assert again.code == 2
    assert "here/strobe.toml: differs from the example; no file is overwritten" in again.err


def test_one_example_is_printed(etalon: Command) -> None:
    text = (ROOT / "examples/strobe.toml").read_text()
    assert etalon("examples", "strobe").out == etalon("examples", "strobe.toml").out == text
    assert etalon("examples", "strobe", "--json").json == {"name": "strobe.toml", "text": text}
    refused = etalon("examples", "strob")
    assert refused.code == 2
    assert refused.err == 'error: there is no example "strob"; did you mean strobe?\n'
    assert "leave the name out" in etalon("examples", "strobe", "--copy", "here").err


def test_no_progress_bar_without_a_terminal() -> None:
    with bar("x") as progress:
        assert progress is None


def test_not_a_number_becomes_null(capsys: pytest.CaptureFixture[str]) -> None:
    common.print_json({"a": float("nan"), "b": [float("inf"), 1.5]})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [None, 1.5]}


def test_a_run_has_figures_and_a_report(etalon: Command, small_file: Path) -> None:
    assert etalon("run", small_file, "--out", "out").code == 0
    folder = small_file.parent / "out"
    names = {path.name for path in (folder / "figures").iterdir()}
    assert {"sequence.png", "latency_cdf.png", "schedule.png"} <= names
    assert not any(name.endswith(".pdf") for name in names)
    page = folder / "report.html"
    page.unlink()
    answer = etalon("report", "out")
    assert (answer.code, answer.out) == (0, "out/report.html\n")
    assert page.stat().st_size > 10_000
    assert etalon("report", "out", "--pdf").code == 0
    assert (folder / "figures" / "schedule.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(("duration", "shown"), [("30ms", False), ("200s", True)])
def test_a_progress_bar_with_time_left_for_long_work(
    small_file: Path, tmp_path: Path, duration: str, shown: bool
) -> None:
    """On a terminal; the long run is ended with Ctrl-C as soon as the bar is there."""
    terminal, line = os.openpty()
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", "import sys; from etalon.cli import main; sys.exit(main())"),
            *(
                "run",
                str(small_file),
                "--no-figures",
                "--out",
                "out",
                "--set",
                f"duration={duration}",
            ),
        ],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=line,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python"), "TERM": "xterm"},
    )
    os.close(line)
    seen, stopped = b"", False
    try:
        while piece := os.read(terminal, 4096):
            seen += piece
            if b"0:00:" in seen and not stopped:
                stopped = True
                process.send_signal(signal.SIGINT)
    except OSError:
        pass  # the other end is closed: the command is done
    finally:
        os.close(terminal)
    process.communicate()
    assert (b"small" in seen and b"%" in seen and b"0:00:" in seen) == shown
    assert process.returncode == (130 if shown else 0)


def test_a_disk_that_is_full_when_figures_are_drawn_keeps_the_run(
    etalon: Command, small_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from etalon import report

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(report, "write_run", full)
    answer = etalon("run", small_file, "--out", "out")
    assert answer.code == 1
    assert "out: its report and figures are incomplete: No space left on device" in answer.err
    assert not Run.load(small_file.parent / "out").partial


def test_ctrl_c_while_figures_are_drawn_says_how_to_get_them(
    etalon: Command, small_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("etalon.report.write_run", interrupted)
    answer = etalon("run", small_file, "--out", "out")
    assert answer.code == 130
    assert "figures of out are incomplete; `etalon report out` draws them" in answer.err
    monkeypatch.setattr("etalon.reproduce.reproduce", interrupted)
    answer = etalon("reproduce", "nsdi20")
    assert answer.code == 130
    assert "the same command goes on from what is finished" in answer.err


def test_trace_writes_packets_and_a_timeline(etalon: Command, small_file: Path) -> None:
    arguments = ["trace", small_file, "--start", "1ms", "--end", "2ms", "--out", "out"]
    assert etalon(*arguments, "--json").json == ["out/trace.pcapng", "out/trace.pftrace"]
    packets = (small_file.parent / "out/trace.pcapng").read_bytes()
    assert packets[:4] == bytes.fromhex("0a0d0d0a"), "the magic of a pcapng"
    assert len(packets) > 10_000
    again = etalon(*arguments)
    assert (again.code, again.out) == (2, "")
    assert "out: already holds a trace" in again.err
    assert etalon(*arguments, "--force", "--no-timeline").out == "out/trace.pcapng\n"


def test_trace_counts_packets_and_says_what_was_cut(etalon: Command, small_file: Path) -> None:
    answer = etalon("trace", small_file, "--start", "29ms", "--end", "40ms", "--out", "out")
    assert answer.code == 0
    assert '--end "40ms" is too late: the trace ends with the plan at 30ms' in answer.err
    counts = count(small_file.parent / "out/trace.pcapng")
    assert counts["tor0-in"] > 100
    assert f"{sum(counts.values())} packets: " in answer.err
    assert f"{counts['tor0-in']} at tor0-in" in answer.err
    assert "--at tor1 keeps each packet once" in answer.err


def test_a_run_is_traced_by_its_folder(etalon: Command, small_file: Path) -> None:
    etalon("run", small_file, "--no-figures", "--out", "out")
    answer = etalon("trace", "out", "--end", "1ms")
    assert (answer.code, answer.out) == (0, "out/trace/trace.pcapng\nout/trace/trace.pftrace\n")
