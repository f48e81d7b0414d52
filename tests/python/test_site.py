# SPDX-License-Identifier: MIT OR Apache-2.0
"""The site's generated pages, and what the hooks do to pages (`make docs` builds all of it, strictly)."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import etalon as et
from conftest import ROOT, need_module
from etalon import figures

sys.path.insert(0, str(ROOT / "tools" / "site"))
import gallery
import reference
import shell


def test_the_gallery_has_every_figure() -> None:
    assert gallery.FIGURES.keys() == {entry.name for entry in figures.FIGURES}


def test_the_command_line_has_every_command_and_option() -> None:
    page = reference.command_line()
    assert {"## etalon run", "## etalon kernel build", "## etalon otcp demo"} <= set(
        page.splitlines()
    )
    assert "--seeds" in page and "Example:" in page


def test_the_python_page_has_every_public_name() -> None:
    named = re.findall(r"^::: \S*?(\w+)$", reference.python(), re.M)
    assert set(et.__all__) <= set(named)


def test_papers_and_examples_are_all_there() -> None:
    papers = [path.parent.name for path in (ROOT / "papers").glob("*/paper.toml")]
    assert all(f"papers/{paper}/README.md" in reference.papers() for paper in papers)
    assert all(
        f"## {path.name}" in reference.examples() for path in (ROOT / "examples").glob("*.toml")
    )


def test_decisions_have_numbers_dates_and_reasons() -> None:
    records = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    assert [path.name[:4] for path in records] == [f"{n:04}" for n in range(1, len(records) + 1)]
    for path in records:
        text = path.read_text()
        assert re.match(r"# .+\n\n\*\d{4}-\d\d-\d\d, .+\*\n\n\*\*Decision\.\*\* ", text), path
        assert "**Why.** " in text and len(text) < 2000, path


def test_blocks_of_a_page_are_run_in_one_folder(tmp_path: Path) -> None:
    page = (
        "```toml run a.toml\nx = 1\n```\n\n```shell run\ncat a.toml\n```\n\n"
        "```python run\nprint('made in 3.2 s')\n```\n\n```sh\nrm a.toml\n```\n"
    )
    assert shell.run_blocks(page, tmp_path) == (
        "```toml\nx = 1\n```\n\n```console\n$ cat a.toml\nx = 1\n```\n\n"
        "```python\nprint('made in 3.2 s')\n```\n\n```text\nmade in a moment\n```\n\n```sh\nrm a.toml\n```\n"
    )


@pytest.mark.slow
def test_a_recipe_from_a_trace_to_an_iteration_and_a_gantt_chart(tmp_path: Path) -> None:
    """As the site runs it: a training is recorded anew, the recorded one runs, and the page's sentences hold."""
    need_module("google.protobuf", "chakra")
    page = ROOT / "docs" / "recipes" / "training.md"
    shell.lay_out(page, tmp_path)
    told = shell.run_blocks(page.read_text(), tmp_path)
    assert "3 of 3 iterations done" in told
    assert "2 of 2 iterations done" in told, "the example in GOAL"
    assert (tmp_path / "gantt.png").stat().st_size > 5_000
    losses = [float(loss) for loss in re.findall(r"^step \d+: loss (\S+)$", told, re.MULTILINE)]
    assert losses and max(losses) < 0.5, "it learns"
    recorded = [path.name for path in sorted(tmp_path.glob("again.*.et"))]
    assert recorded == [f"again.{rank}.et" for rank in range(4)]


def test_a_command_that_fails_fails_the_site(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="`cat nothing` failed: cat: nothing: No such file"):
        shell.run_blocks("```shell run\ncat nothing\n```\n", tmp_path)
