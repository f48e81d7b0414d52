# SPDX-License-Identifier: MIT OR Apache-2.0
"""The notebooks of `docs/` run from their first cell to their last, and show what they talk about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

import nbclient
import nbformat

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
pytestmark = pytest.mark.filterwarnings("ignore")  # those of Jupyter's own packages


def executed(notebook: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "python"))
    monkeypatch.setenv("IPYTHONDIR", str(folder / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(folder / "runtime"))
    here = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources=here).execute()
    return notebook


def shown(cell: Any) -> dict[str, str]:
    """What a cell shows, by its form."""
    return {
        form: text
        for output in cell.outputs
        for form, text in {**output.get("data", {}), "stream": output.get("text", "")}.items()
    }


def cells(*sources: str) -> Any:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in sources])


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) >= 3


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=pytest.mark.slow) if path.stem == "idea" else path
        for path in NOTEBOOKS
    ],
    ids=lambda path: path.stem,
)
def test_a_notebook_runs_and_shows_its_figures(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "committed without outputs"
    figures = 0
    for cell in executed(notebook, tmp_path, monkeypatch).cells:
        if cell.cell_type != "code":
            continue
        last: Sequence[str] = cell.source.splitlines()[-1:]
        seen = shown(cell)
        assert " object at 0x" not in seen.get("text/plain", "")
        assert len(seen.get("text/plain", "")) < 2000
        if ".plot." in "".join(last):
            assert len(seen["image/png"]) > 4000
            figures += 1
        figures += "<img" in seen.get("text/html", "")
    assert figures


def test_progress_is_seen_in_a_notebook_and_goes_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = """
import time
from etalon import progress
seen, put = [], progress._InNotebook._put
progress._InNotebook._put = lambda self, text: (seen.append(text), put(self, text))
with progress.for_people("some <job>", None) as told:
    for share in (0.05, 0.1, 0.2):
        time.sleep(0.25)
        told(share)
"""
    (first, last) = executed(cells(watched, "print(seen)"), tmp_path, monkeypatch).cells
    text = shown(last)["stream"]
    assert '<progress value="0.100"' in text
    assert "some &lt;job&gt;: 20 %" in text
    assert shown(first)["text/html"] == ""


def test_figures_show_themselves_beside_pyplot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = "import etalon as et\nnet = et.network(hosts=2)\nrun = et.run(net, et.bulk(0, 1), duration='30ms')"
    pyplot = "import matplotlib.pyplot as plt\nrun.plot.schedule()"
    notebook = executed(cells(run, "run.plot.schedule()", pyplot), tmp_path, monkeypatch)
    for cell in notebook.cells[1:]:
        assert "image/png" in shown(cell)
