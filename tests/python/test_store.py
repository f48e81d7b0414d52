# SPDX-License-Identifier: MIT OR Apache-2.0
"""Folders of runs: all or nothing, never over something else."""

from __future__ import annotations

import errno
import json
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import etalon as et
from conftest import ROOT, SMALL
from etalon import files
from etalon.errors import EtalonError, PlanError
from etalon.plan import Plan
from etalon.results import TABLES, Run, store


@pytest.fixture(scope="module")
def run() -> Run:
    return et.run(Plan.from_toml(SMALL))


def test_a_run_is_read_back_as_it_was(run: Run, tmp_path: Path) -> None:
    folder = run.save(tmp_path / "deep" / "run")
    again = Run.load(folder)
    assert again.plan == run.plan
    assert again.meta == run.meta
    for name in TABLES:
        assert getattr(again, name).equals(getattr(run, name)), name
    assert again.summary() == run.summary()
    assert [path.name for path in folder.parent.iterdir()] == ["run"], "nothing is left beside it"


def test_the_folder_says_seed_version_and_plan(run: Run, tmp_path: Path) -> None:
    folder = run.save(tmp_path / "run")
    meta = json.loads((folder / "run.json").read_text())
    assert (meta["seed"], meta["version"], meta["engine"], meta["partial"]) == (
        1,
        et.__version__,
        "sim",
        False,
    )
    assert meta["summary"]["circuit_utilization"] == run.circuit_utilization
    assert Plan.load(folder / "plan.toml").digest == meta["plan_digest"]


def test_an_empty_folder_is_used(run: Run, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    assert store.finished(run.save(tmp_path / "run"), run.plan, "sim", run.meta["build"])


def test_results_are_replaced_only_when_told_to(run: Run, tmp_path: Path) -> None:
    folder = run.save(tmp_path / "run")
    with pytest.raises(PlanError, match="already holds a run; force=True replaces it"):
        run.save(folder)
    (folder / "stale").touch()
    run.save(folder, force=True)
    assert not (folder / "stale").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_what_is_not_ours_is_never_replaced(run: Run, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    for force in (False, True):
        with pytest.raises(PlanError, match="is not empty and contains no Etalon results"):
            run.save(tmp_path, force=force)
    assert (tmp_path / "thesis.tex").read_text() == "precious"
    with pytest.raises(PlanError, match="is a file, not a folder"):
        run.save(tmp_path / "thesis.tex", force=True)


@pytest.mark.parametrize("after", [0, 3, len(TABLES)])
def test_a_full_disk_leaves_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    real, written = files.put, []

    def write(path: Path, content: bytes | str) -> None:
        if len(written) >= after:
            path.with_name(f".{path.name}.tmp").touch()
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(path)
        real(path, content)

    monkeypatch.setattr(files, "put", write)
    with pytest.raises(EtalonError) as error:
        run.save(tmp_path / "run")
    assert str(error.value) == (
        f"{tmp_path / 'run'}: could not be written: No space left on device; nothing was kept"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_keeps_the_results_that_were_there(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = run.save(tmp_path / "run")

    def full(path: Path, content: bytes | str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "put", full)
    with pytest.raises(EtalonError, match="No space left on device"):
        run.save(folder, force=True)
    assert Run.load(folder).meta == run.meta


def test_a_killed_process_leaves_nothing_that_looks_whole(tmp_path: Path) -> None:
    script = (
        "import sys, time, etalon as et\n"
        "from etalon import files\n"
        "real = files.put\n"
        "def slow(path, content):\n"
        "    if path.name == 'run.json':\n"
        "        print('now', flush=True); time.sleep(60)\n"
        "    real(path, content)\n"
        "files.put = slow\n"
        "et.run(et.Plan.from_toml(sys.argv[1])).save(sys.argv[2])\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, SMALL, str(tmp_path / "run")],
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": str(ROOT / "python")},
    )
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == b"now\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert not (tmp_path / "run").exists()
    assert not any(store.holds_results(path) for path in tmp_path.iterdir())


def test_partial_and_foreign_results_do_not_count_as_finished(run: Run, tmp_path: Path) -> None:
    folder = run.save(tmp_path / "run")
    build = run.meta["build"]
    assert store.finished(folder, run.plan, "sim", build)
    assert not store.finished(folder, run.plan, "sim", "another")
    assert not store.finished(folder, run.plan.replace({"seed": 2}), "sim", build)
    assert not store.finished(folder, run.plan, "linux", build)
    for change in ({"partial": True}, {"build": "0123456789abcdef"}):
        meta = {**run.meta, **change}
        (folder / "run.json").write_text(json.dumps(meta))
        assert not store.finished(folder, run.plan, "sim", build)


def test_broken_folders_are_told(run: Run, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="nowhere: there is no such folder"):
        Run.load(tmp_path / "nowhere")
    with pytest.raises(
        PlanError, match=r"is not the folder of a complete run: it has no run\.json"
    ):
        Run.load(tmp_path)
    folder = run.save(tmp_path / "run")
    (folder / "flows.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(EtalonError, match=r"flows\.parquet: cannot be read"):
        Run.load(folder)
    (folder / "run.json").write_text("{")
    with pytest.raises(EtalonError, match=r"run\.json: cannot be read"):
        Run.load(folder)


def test_tables_are_parquet_that_others_can_read(run: Run, tmp_path: Path) -> None:
    folder = run.save(tmp_path / "run")
    assert pl.scan_parquet(folder / "flows.parquet").select(pl.len()).collect().item() == len(
        run.flows
    )


def test_a_folder_that_cannot_be_made_is_refused_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(PlanError, match="file is a file, not a folder"):
        store.claim(tmp_path / "file" / "run")
    monkeypatch.setattr("os.access", lambda *_: False)  # permissions do not bind root
    with pytest.raises(PlanError, match="no permission to write in"):
        store.claim(tmp_path / "run")
