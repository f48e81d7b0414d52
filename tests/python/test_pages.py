# SPDX-License-Identifier: MIT OR Apache-2.0
"""Committed pages with measured numbers are as old as the tree, or say that they are older."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import ROOT, SMALL, Answer
from etalon import _core, pages
from etalon.errors import PlanError

STALE: set[str] = {
    "benches/RESULTS.md",
    "docs/otcp-when.md",
    "docs/speed.md",
    "papers/cnsm16/README.md",
    "papers/cnsm16/linux.md",
    "papers/etalon18/README.md",
}
"""Known to be old, until they are measured again: nothing is added here without a reason in the commit."""

WITHOUT = {
    "ARCHITECTURE.md": "no numbers of runs",
    "CHANGELOG.md": "what changed, at its time",
    "CONTRIBUTING.md": "no numbers of runs",
    "benches/PROGRAMS.md": "processor time of one machine, whose load it names",
    "crates/etalon-tcp/DEVIATIONS.md": "tests beside each row hold it",
    "docs/circuits.md": "its commands are run when the site is built",
    "docs/concepts.md": "words",
    "docs/executors.md": "no numbers of runs",
    "docs/index.md": "its commands are run when the site is built",
    "docs/kernel.md": "no numbers of runs",
    "docs/libadu.md": "system calls, which its tests count",
    "docs/limits.md": "no numbers of runs",
    "docs/metrics.md": "definitions",
    "docs/otcp-agent.md": "measured on hosts, not by an engine",
    "docs/otcp-protocol.md": "a protocol",
    "docs/otcp.md": "measured with Open vSwitch, not by an engine",
    "docs/recipes/compare.md": "its commands are run when the site is built",
    "docs/recipes/congestion-control.md": "its commands are run when the site is built",
    "docs/recipes/program.md": "outputs of programs",
    "docs/recipes/programs.md": "outputs of programs of some version, which its commands print",
    "docs/recipes/schedule.md": "its commands are run when the site is built",
    "docs/recipes/training.md": "its commands are run when the site is built",
    "docs/release.md": "no numbers of runs",
    "docs/plan.md": "written from the models of plans",
    "docs/report.md": "its commands are run when the site is built",
    "docs/telemetry.md": "its commands are run when the site is built",
    "docs/trees.md": "no numbers of runs",
    "docs/trust.md": "no numbers of runs",
    "docs/tutorial.md": "its commands are run when the site is built",
    "docs/write.md": "its commands are run when the site is built",
    "hdfs/README.md": "no numbers of runs",
    "kernel/LICENSE.md": "a licence",
    "kernel/README.md": "no numbers of runs",
}
"""Pages without a stamp, and why they need none."""

PAGE = """# A page

> Measured long ago: to be measured again.

It has 7 %.

<!-- measured by
again = ["etalon run small.toml", "look at it"]
sim = ["small"]
digest = "0123456789abcdef"
-->
"""


def names() -> dict[str, str]:
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in pages.every()
    }


def test_no_page_goes_stale_unseen() -> None:
    golden = pages.golden()
    found = {name: pages.stale(text, name, golden) for name, text in names().items()}
    new = [sentence for name, sentence in found.items() if sentence and name not in STALE]
    assert not new, "\n".join(new)
    measured = {name for name in STALE if not found[name]}
    assert not measured, f"measured again, so take these off STALE: {', '.join(sorted(measured))}"


def test_every_page_is_stamped_or_needs_no_stamp() -> None:
    stamped = {name for name, text in names().items() if pages.stamp_of(text, name)}
    assert names().keys() - stamped == WITHOUT.keys()


def test_the_golden_runs_are_read_as_they_are_written() -> None:
    golden = pages.golden()
    assert {engine for engine, _ in golden} == {"sim", "linux"}
    record = golden["sim", "papers/nsdi20/plans/strobe"]
    assert len(record["digest"]) == 16
    assert record.keys() >= {"digest", *pages.METRICS}


@pytest.mark.parametrize(
    ("change", "is_stale"),
    [
        ({}, False),
        ({"digest": "1"}, True),
        ({"goodput": "2"}, True),
        ({"a_new_metric": "2"}, False),
    ],
)
def test_a_page_is_stale_when_its_witness_moves(change: dict[str, str], *, is_stale: bool) -> None:
    before = {"digest": "0", "goodput": "1"}
    text = PAGE.replace("> Measured long ago: to be measured again.\n\n", "")
    stamp = pages.stamp_of(text, "a.md")
    assert stamp
    text = text.replace("0123456789abcdef", stamp.mixed({("sim", "small"): before}))
    sentence = pages.stale(text, "a.md", {("sim", "small"): before | change})
    if not is_stale:
        assert sentence is None
    else:
        assert sentence and sentence.startswith("a.md was measured when")
        assert "`etalon run small.toml`; `look at it`" in sentence
    assert "no such golden run" in str(pages.stale(text, "a.md", {}))


def test_a_page_that_is_measured_again_has_a_new_stamp_and_no_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    (tmp_path / "small.toml").write_text(SMALL)
    path = tmp_path / "a.md"
    path.write_text(PAGE)
    assert pages.says_it_is_old(PAGE)
    pages.accept(path)
    text = path.read_text()
    assert not pages.says_it_is_old(text) and "It has 7 %.\n\n<!-- measured by\nagain" in text
    stamp = pages.stamp_of(text, "a.md")
    assert stamp and stamp.digest != "0123456789abcdef" and len(stamp.digest) == 16
    pages.accept(path)
    assert path.read_text() == text


def test_a_page_that_is_written_whole_keeps_its_stamp(
    etalon: Callable[..., Answer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "RESULTS.md"
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    monkeypatch.setattr("etalon.bench.schedulers.measure", list)
    assert _core.is_fast or "`make release`" in etalon("bench", "schedulers", "--out", path).err
    monkeypatch.setattr(_core, "is_fast", True)
    (tmp_path / "small.toml").write_text(SMALL)
    path.write_text(PAGE)
    assert etalon("bench", "schedulers", "--out", path).code == 0
    text = path.read_text()
    assert text.startswith("# Results") and "7 %" not in text
    stamp = pages.stamp_of(text, "RESULTS.md")
    assert stamp and stamp.sim == ("small",) and stamp.digest not in ("", "0123456789abcdef")


def test_bad_stamps_are_refused(tmp_path: Path) -> None:
    for stamp in ("again = [", 'sim = ["a"]\n', 'again = ["a"]\nlater = 1\n'):
        with pytest.raises(PlanError, match=r"a\.md: its stamp"):
            pages.stamp_of(f"<!-- measured by\n{stamp}-->", "a.md")
    path = tmp_path / "b.md"
    path.write_text("# No stamp\n")
    with pytest.raises(PlanError, match="has no stamp"):
        pages.accept(path)


def test_what_was_measured_goes_between_the_marks(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    pages.put(path, "1", "# Title\n\n")
    assert path.read_text() == f"# Title\n\n{pages.BEGIN}\n\n1\n{pages.END}\n"
    path.write_text(path.read_text() + "Behind.\n")
    pages.put(path, "2")
    assert path.read_text() == f"# Title\n\n{pages.BEGIN}\n\n2\n{pages.END}\nBehind.\n"
    path.write_text("no marks")
    with pytest.raises(PlanError, match="the results go between the two"):
        pages.put(path, "3")


def test_a_page_of_several_commands_is_not_stamped_by_one(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"{pages.BEGIN}\nold\n{pages.END}\n\n{PAGE}")
    assert pages.put(page, "9 %", by="etalon run small.toml") == ("look at it",)
    assert "9 %" in page.read_text() and 'digest = "0123456789abcdef"' in page.read_text()
