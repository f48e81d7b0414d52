# SPDX-License-Identifier: MIT OR Apache-2.0
"""Papers reproduced: verdicts, the folder, what is run again and what is not. A tiny paper stands for all."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from conftest import SMALL, Answer
from etalon import pages, reproduce
from etalon.campaign.executors.local import Local
from etalon.engine import build
from etalon.errors import EtalonError, Interrupted, PlanError
from etalon.plan import Plan
from etalon.reproduce.claims import Tolerance
from etalon.reproduce.paper import Paper, papers
from etalon.results import Run
from fake_kernel import FakeKernel, fake

__all__ = ["fake"]

Command = Callable[..., Answer]

PAPER = """
title = "A tiny paper"
authors = "N. N."
venue = "Nowhere 2026"
link = "https://example.org"
summary = "Queues matter."
[[figure]]
id = "1a"
title = "Queues"
series = ["queues"]
note = "Said of figure 1."
[[figure]]
id = "1b"
title = "Other congestion controls"
series = ["controls"]
"""
SERIES = """
[queues]
title = "queues"
plan = "small"
vary = ["network.voq.packets"]
x = [4, 16]
[controls]
title = "congestion controls"
plan = "small"
vary = ["bulk.cc"]
x = ["cubic", "nosuch"]
"""
PUBLISHED = """
[[claims]]
figure = "1a"
quantity = "utilisation, {x} packets"
series = "queues"
metric = "circuit_utilization"
x = [4, 16]
published = [50, 1000]
unit = "%"
tolerance = "50 points"
source = "figure 1a"
[[claims]]
figure = "1a"
quantity = "gain"
measure = "gain"
published = 0
unit = "points"
tolerance = "at least"
source = "text"
[[claims]]
figure = "1b"
quantity = "utilisation, {x}"
series = "controls"
metric = "circuit_utilization"
x = ["cubic", "nosuch"]
published = [100, 100]
unit = "%"
tolerance = "at most"
source = "figure 1b"
"""
CLAIMS = """
def gain(results):
    '''More queue, more utilisation.'''
    return results.metric("queues", 16, "circuit_utilization") - results.metric("queues", 4, "circuit_utilization")
"""
FIGURES = """
from etalon.reproduce import Drawing
DRAWINGS = {
    "1a": lambda results: Drawing("utilization", results.series("queues"), xlabel="packets"),
    "1b": lambda results: [Drawing("congestion_controls", results.series("controls"), part="bars")],
}
"""


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    folder = tmp_path / "tiny"
    (folder / "plans").mkdir(parents=True)
    (folder / "paper.toml").write_text(PAPER)
    (folder / "series.toml").write_text(SERIES)
    (folder / "published.toml").write_text(PUBLISHED)
    (folder / "claims.py").write_text(CLAIMS)
    (folder / "figures.py").write_text(FIGURES)
    (folder / "plans" / "small.toml").write_text(SMALL)
    return folder


def test_a_series_is_like_one_that_is_like_another(paper: Path) -> None:
    path = paper / "series.toml"
    path.write_text(
        SERIES
        + """
[long]
like = "queues"
set = { duration = "40ms", seed = 2 }
[long-on-three]
like = "long"
title = "three"
set = { seed = 3 }
"""
    )
    series = Paper.load(str(paper)).series["long-on-three"]
    assert (series.title, series.plan, series.x) == ("three", "small", (4, 16))
    assert series.set == {"duration": "40ms", "seed": 3}


@pytest.mark.parametrize(
    ("tolerance", "unit", "published", "measured", "verdict"),
    [
        ("5 points", "%", 48.7, 43.7, "reproduced"),
        ("5 points", "%", 48.7, 43.6, "differs by -5.1 points"),
        ("8 %", "us", 100, 108, "reproduced"),
        ("8 %", "us", 100, 110, "differs by +10.0 %"),
        ("exact", "us", 180, 180, "reproduced"),
        ("exact", "us", 180, 180.25, "differs by +0.25 us"),
        ("at most", "%", 55, 55, "reproduced"),
        ("at most", "%", 55, 56, "differs by +1 points"),
        ("at least", "times", 10, 12, "reproduced"),
        ("at least", "times", 10, 9, "differs by -1 times"),
        ("1 times", "times", 3, 3.9, "reproduced"),
    ],
)
def test_the_verdict_follows_from_the_numbers(
    tolerance: str, unit: str, published: float, measured: float, verdict: str
) -> None:
    assert Tolerance.parse(tolerance, unit).verdict(published, measured, unit) == verdict


@pytest.mark.parametrize(
    ("text", "unit"), [("5", "%"), ("5 us", "%"), ("5 points", "us"), ("about 5 %", "%"), ("", "")]
)
def test_a_tolerance_that_means_nothing_is_refused(text: str, unit: str) -> None:
    with pytest.raises(EtalonError, match="is not a tolerance"):
        Tolerance.parse(text, unit)


def test_json_is_the_list_of_claims_and_nothing_else(etalon: Command, paper: Path) -> None:
    answer = etalon("reproduce", paper, "--json")
    assert answer.code == 0
    claims = answer.json
    keys = ["id", "figure", "quantity", "published", "measured", "unit", "tolerance", "verdict"]
    assert [list(claim) for claim in claims] == [keys] * 5
    verdicts = {claim["id"]: claim["verdict"] for claim in claims}
    assert verdicts["1a/circuit_utilization/4"] == "reproduced"
    assert verdicts["1a/circuit_utilization/16"].startswith("differs by -9")
    assert verdicts["1a/gain"] == "reproduced"
    assert verdicts["1b/circuit_utilization/cubic"] == "reproduced"
    assert verdicts["1b/circuit_utilization/nosuch"] == "not yet"
    assert claims[-1]["measured"] is None
    assert claims[0]["quantity"] == "utilisation, 4 packets"


def test_everything_is_in_the_folder(etalon: Command, paper: Path) -> None:
    answer = etalon("reproduce", paper, "--out", "out")
    assert answer.code == 0
    assert "5 claims: 3 reproduced, 1 differs, 1 not yet" in answer.out
    out = Path("out")
    assert {path.name for path in (out / "figures").iterdir()} == {
        "1a.png", "1a.pdf", "1b-bars.png", "1b-bars.pdf",
    }  # fmt: skip
    page = (out / "report.html").read_text()
    assert "Said of figure 1." in page
    assert "there is no nosuch yet" in page
    assert "3 of 5 claims reproduced, 1 differs, 1 without a measurement." in page
    document = json.loads((out / "results.json").read_text())
    assert [claim["id"] for claim in document["claims"]][-1] == "1b/circuit_utilization/nosuch"
    assert "| 1a | gain |" in (out / "claims.md").read_text()
    assert "not claimed" not in (out / "claims.md").read_text() + page


def test_what_is_not_claimed_is_said_with_its_reason(paper: Path, tmp_path: Path) -> None:
    with (paper / "published.toml").open("a") as file:
        file.write(
            '[[unclaimed]]\nwhere = "figure 2"\nvalues = 3\nquantity = "bars"\nwhy = "no number"\n'
            '[[unclaimed]]\nwhere = "text"\nvalues = 1\nquantity = "a sum"\nwhy = "a guess"\n'
        )
    result = reproduce.reproduce(str(paper), out=tmp_path / "out")
    written = (tmp_path / "out" / "claims.md").read_text()
    assert result.markdown == written
    assert "\n\n4 values of the paper are not claimed (" in written
    assert written.endswith("| figure 2 | 3 | bars | no number |\n| text | 1 | a sum | a guess |\n")
    assert "4 values of the paper are not claimed." in (tmp_path / "out/report.html").read_text()


def test_a_figure_that_takes_long_is_run_when_it_is_asked_for(etalon: Command, paper: Path) -> None:
    head = paper / "paper.toml"
    note = 'note = "Said of figure 1."'
    head.write_text(head.read_text().replace(note, f'{note}\ntakes = "an hour"'))
    short = etalon("reproduce", paper, "--out", "out")
    assert "2 claims: 1 reproduced, 1 not yet" in short.out
    line = "figure 1a not run (3 claims): etalon reproduce tiny --figure 1a takes an hour"
    assert line in short.out
    assert "1 of 1 runs made" in short.out
    full = etalon("reproduce", paper, "--out", "out", "--full")
    assert "5 claims: 3 reproduced, 1 differs, 1 not yet" in full.out
    assert "1 of 2 runs made" in full.out, "both figures have CUBIC with 16 packets"
    again = etalon("reproduce", paper, "--out", "out")
    assert "5 claims" in again.out, "what is there is shown"
    assert "not run" not in again.out
    named = etalon("reproduce", paper, "--out", "out", "--figure", "1b")
    assert "2 claims" in named.out and "not run" not in named.out


def test_a_measure_may_have_a_value_for_each_x(paper: Path, tmp_path: Path) -> None:
    with (paper / "claims.py").open("a") as file:
        file.write("def times(results, x):\n    return 2 * x\n")
    with (paper / "published.toml").open("a") as file:
        file.write(
            '[[claims]]\nfigure = "1a"\nquantity = "twice {x}"\nmeasure = "times"\nx = [3, 4]\n'
            'published = [6, 9]\nunit = "us"\ntolerance = "exact"\nsource = "text"\n'
        )
    claims = reproduce.reproduce(str(paper), ["1a"], out=tmp_path / "out").claims()[-2:]
    assert [claim["id"] for claim in claims] == ["1a/times/3", "1a/times/4"]
    assert [claim["verdict"] for claim in claims] == ["reproduced", "differs by -1 us"]
    assert claims[0]["quantity"] == "twice 3"


@pytest.mark.parametrize("name", papers())
def test_every_paper_says_what_of_it_is_not_claimed(name: str) -> None:
    unclaimed = Paper.load(name).unclaimed
    assert unclaimed
    assert len({(one.where, one.quantity) for one in unclaimed}) == len(unclaimed)


def test_a_claim_may_have_a_value_for_each_seed(paper: Path, tmp_path: Path) -> None:
    series, published = paper / "series.toml", paper / "published.toml"
    series.write_text(series.read_text().replace("[queues]", "[queues]\nseeds = 3", 1))
    mean = reproduce.reproduce(str(paper), ["1a"], out=tmp_path / "out").claims()[0]
    assert "interval" not in mean
    published.write_text(
        published.read_text().replace("[[claims]]", "[[claims]]\neach_seed = true", 1)
    )
    each = reproduce.reproduce(str(paper), ["1a"], out=tmp_path / "out")
    claim, gain = each.claims()[0], each.claims()[-1]
    low, high = claim["interval"]
    assert low < claim["measured"] < high
    assert claim["measured"] == mean["measured"], "the same mean"
    assert f"({low:.1f}..{high:.1f}) %" in each.markdown
    assert "interval" not in gain


def test_no_point_is_run_twice(paper: Path, tmp_path: Path) -> None:
    name, out = str(paper), tmp_path / "out"
    first = reproduce.reproduce(name, ["1a"], out=out)
    assert (first.measured, first.runs) == (2, 2)
    # The point at 16 packets is that of cubic: figures share it.
    second = reproduce.reproduce(name, out=out)
    assert (second.measured, second.runs) == (0, 2)
    assert second.claims()[:3] == first.claims()
    again = reproduce.reproduce(name, out=out, force=True)
    assert again.measured == 2
    assert again.claims() == second.claims()


def test_the_report_keeps_the_figures_of_earlier_calls(paper: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    reproduce.reproduce(str(paper), ["1a"], out=out)
    asked = reproduce.reproduce(str(paper), ["1b"], out=out)
    assert {claim["figure"] for claim in asked.claims()} == {"1b"}
    assert json.loads((out / "results.json").read_text())["figures"] == ["1a", "1b"]


def test_another_build_of_the_core_measures_again(
    paper: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    reproduce.reproduce(str(paper), out=out)
    monkeypatch.setattr(build, "digest", lambda: "0123456789abcdef")
    assert reproduce.reproduce(str(paper), out=out).measured == 2
    assert [path.name for path in (out / "points").iterdir()] == ["0123456789abcdef"]


def test_the_numbers_do_not_depend_on_the_number_of_jobs(paper: Path, tmp_path: Path) -> None:
    one, two = (
        reproduce.reproduce(str(paper), out=tmp_path / str(jobs), jobs=jobs) for jobs in (1, 2)
    )
    assert one.claims() == two.claims()


def test_ctrl_c_keeps_what_is_finished(
    etalon: Command, paper: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute = Local.execute

    def interrupted(self: Local, plans: Sequence[Plan], *rest: Any, **more: Any) -> list[Run]:
        execute(self, plans[:1], *rest, **more)
        raise Interrupted([])

    with monkeypatch.context() as patch:
        patch.setattr(Local, "execute", interrupted)
        answer = etalon("reproduce", paper, "--out", "out", "--json")
    assert answer.code == 130
    verdicts = {claim["id"]: claim["verdict"] for claim in answer.json}
    assert verdicts["1a/circuit_utilization/4"] == "reproduced"
    assert verdicts["1a/circuit_utilization/16"] == "not measured"
    assert verdicts["1a/gain"] == "not measured"
    assert reproduce.reproduce(str(paper), out="out").measured == 1


def test_the_table_goes_into_a_page(etalon: Command, paper: Path) -> None:
    page = Path("page.md")
    page.write_text(f"# Mine\n\n{pages.BEGIN}\nold\n{pages.END}\n\nBehind.\n")
    answer = etalon("reproduce", paper, "--out", "out", "--page", page)
    assert answer.code == 0
    text = page.read_text()
    assert text.startswith("# Mine\n") and text.endswith("\n\nBehind.\n") and "old" not in text
    assert Path("out/claims.md").read_text() in text


def test_a_page_without_marks_is_refused_before_anything_runs(etalon: Command, paper: Path) -> None:
    page = Path("page.md")
    page.write_text("mine\n")
    for more in ((), ("--figure", "1")):
        answer = etalon("reproduce", paper, "--out", "out", "--page", page, *more)
        assert answer.code == 2
        assert ("--page takes all figures" if more else "has no line") in answer.err
    assert page.read_text() == "mine\n" and not Path("out").exists()


HOLDER = """
import sys
from pathlib import Path
from etalon import files
with files.alone_in(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_folder_in_which_another_process_is_at_work_is_refused(
    etalon: Command, paper: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert etalon("reproduce", paper, "--figure", "1a", "--out", out).code == 0
    before = {file: file.stat().st_mtime_ns for file in out.rglob("*")}
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, out], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        answer = etalon("reproduce", paper, "--figure", "1a", "--out", out, "--force")
        assert answer.code != 0
        assert "another process is using this folder" in answer.err
        assert len(answer.err.strip().splitlines()) == 1
        assert {file: file.stat().st_mtime_ns for file in out.rglob("*")} == before
        other.kill()
    assert etalon("reproduce", paper, "--figure", "1a", "--out", out).code == 0


def test_a_folder_of_something_else_is_never_touched(etalon: Command, paper: Path) -> None:
    other = Path("mine")
    other.mkdir()
    (other / "thesis.txt").write_text("all of it")
    for more in ((), ("--force",)):
        answer = etalon("reproduce", paper, "--out", other, *more)
        assert answer.code == 2
        assert "never overwrites" in answer.err
        assert [path.name for path in other.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("nosuchpaper",),
            'there is no paper "nosuchpaper"; '
            "there are cnsm16, etalon18, harvest, nsdi20, opera, powertcp, rotornet, sigcomm22",
        ),
        (("nsdi20", "--figure", ""), 'nsdi20 has no figure ""; it has headline'),
        (("nsdi20", "--figure", "99"), 'nsdi20 has no figure "99"; it has headline, table1, 2a'),
    ],
)
def test_what_does_not_exist_gets_a_sentence(
    etalon: Command, arguments: tuple[str, ...], sentence: str
) -> None:
    answer = etalon("reproduce", *arguments)
    assert answer.code == 2
    assert sentence in answer.err


@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        ("paper.toml", '["queues"]', '["cues"]', "figure 1a: there is no series cues"),
        ("published.toml", "x = [4, 16]", "x = [4, 5]", "series queues has no point at 5"),
        ("published.toml", "x = [4, 16]", "x = [4]", "1 values of x, but 2 published values"),
        (
            "published.toml",
            "[[claims]]",
            '[[unclaimed]]\nwhere = "2"\nvalues = 0\nquantity = "q"\nwhy = "w"\n[[claims]]',
            "unclaimed 1.values: Input should be greater than or equal to 1",
        ),
        ("published.toml", 'figure = "1b"', 'figure = "7"', "there is no figure 7"),
        ("series.toml", "title", "tilte", "queues.title: Field required"),
        ("series.toml", "network.voq.packets", "network.vok", "unknown key"),
        (
            "series.toml",
            "[controls]",
            '[controls]\nlike = "cues"',
            "controls: there is no series cues",
        ),
        ("series.toml", "[queues]", '[queues]\nlike = "queues"', "queues is like queues"),
    ],
)
def test_a_paper_with_a_mistake_says_where(
    paper: Path, tmp_path: Path, file: str, old: str, new: str, sentence: str
) -> None:
    path = paper / file
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises((EtalonError, PlanError), match=sentence) as raised:
        reproduce.reproduce(str(paper), out=tmp_path / "out")
    assert file in str(raised.value)


def test_each_engine_has_a_folder_and_tolerances_of_its_own(
    etalon: Command, paper: Path, fake: FakeKernel
) -> None:
    published = paper / "published.toml"
    text = published.read_text().replace(
        'tolerance = "at least"', 'tolerance = "at least"\ntolerance_on = { linux = "at most" }'
    )
    published.write_text(text)
    sim = etalon("reproduce", paper, "--json").json
    linux = etalon("reproduce", paper, "--engine", "linux", "--json").json
    runs = paper.parent / "runs"
    assert {folder.name for folder in runs.iterdir()} == {"reproduce-tiny", "reproduce-tiny-linux"}
    assert (
        json.loads((runs / "reproduce-tiny-linux" / "results.json").read_text())["engine"]
        == "linux"
    )
    tolerances = [next(c for c in claims if c["id"] == "1a/gain") for claims in (sim, linux)]
    assert [claim["tolerance"] for claim in tolerances] == ["at least", "at most"]
    assert [claim["verdict"] == "reproduced" for claim in tolerances] == [True, False]
    calls = len(fake.calls)
    etalon("reproduce", paper, "--engine", "linux", "--json")
    assert len(fake.calls) == calls, "points that are there are not run again"
    other = etalon("reproduce", paper, "--engine", "linux", "--out", runs / "reproduce-tiny")
    assert other.code == 2
    assert (
        "holds results of --engine sim; those of --engine linux need a folder of their own"
        in other.err
    )


COMPARED = """
[[figure]]
id = "engines"
title = "Two engines"
series = ["queues"]
beside = "sim"
"""
APART = """
[[claims]]
figure = "engines"
quantity = "the simulator's utilisation over Linux's"
measure = "apart"
published = 1
unit = "times"
tolerance = "at least"
source = "ours"
"""


def test_a_figure_may_compare_two_engines(etalon: Command, paper: Path, fake: FakeKernel) -> None:
    for name, more in {
        "paper.toml": COMPARED,
        "published.toml": APART,
        "claims.py": "\ndef apart(results):\n    of = [r.run('queues', 4).meta['engine'] for r in (results.beside, results)]\n"
        "    return float(of == ['sim', 'linux'])\n",
        "figures.py": "\nDRAWINGS['engines'] = DRAWINGS['1a']\n",
    }.items():
        (paper / name).write_text((paper / name).read_text() + more)
    sim = etalon("reproduce", paper, "--json").json
    assert not any(claim["figure"] == "engines" for claim in sim)
    first = etalon("reproduce", paper, "--engine", "linux", "--json").json
    assert [c["verdict"] for c in first if c["figure"] == "engines"] == ["reproduced"]
    again = reproduce.reproduce(str(paper), engine="linux")
    assert again.measured == 0
    assert again.runs == 2 + 2, "the simulator's points are those of the figure that compares"


def test_linux_has_the_controls_that_the_simulator_lacks(etalon: Command, paper: Path) -> None:
    series = paper / "series.toml"
    series.write_text(series.read_text().replace("nosuch", "vegas"))
    published = paper / "published.toml"
    published.write_text(published.read_text().replace("nosuch", "vegas"))
    vegas = etalon("reproduce", paper, "--figure", "1b", "--json").json[-1]
    assert vegas["verdict"] == "not yet"
    on_linux = reproduce.Paper.load(str(paper), "linux").point("controls", "vegas")
    assert on_linux.plans[0].bulk[0].cc == "vegas"


@pytest.mark.slow  # runs of a paper, in processes of their own
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_reproduction_at_once(tmp_path: Path, number: signal.Signals) -> None:
    """In the middle of its runs: whole points are kept, no half ones, and no process goes on."""
    out = tmp_path / "out"
    command = [sys.executable, "-m", "etalon", "reproduce", "harvest", "--figure", "several-hops"]
    process = subprocess.Popen(
        [*command, "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    deadline = time.monotonic() + 120
    while not list(out.glob("points/*/*/run.json")) and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 128 + number
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
    kept = [place for place in out.glob("points/*/*") if place.is_dir()]
    assert 0 < len(kept) < 30, "of 36: what had not begun never does"
    assert all(not Run.load(place).partial for place in kept)
