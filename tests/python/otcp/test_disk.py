# SPDX-License-Identifier: MIT OR Apache-2.0
"""Disks that are full, kills in the middle of a line, and two controllers with one state."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from controller_beside import ControllerBeside
from fabric import FILE, running, until
from networks import tables

from conftest import need_module

need_module("os_ken", "otcp")

from etalon import files
from etalon.errors import EtalonError
from etalon_otcp.api.views import problems_of
from etalon_otcp.audit import Audit
from etalon_otcp.config import Config
from etalon_otcp.controller import Controller
from etalon_otcp.state import State, alone

FULL = OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_a_problem_until_it_is_not_and_hosts_are_told_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    put, is_full = files.put, [False]

    def maybe(path: Path, content: Any) -> None:
        if is_full[0]:
            raise FULL
        put(path, content)

    monkeypatch.setattr(files, "put", maybe)
    with running(tmp_path) as (controller, fabric):
        is_full[0] = True
        fabric.connect("t1", "t2", "a1", "a2")
        until(lambda: controller.view.documents.get("h1") and controller.unsaved)
        sentence = f"{tmp_path}/state.json: cannot be written: No space left on device"
        assert any(sentence in problem for problem in problems_of(controller, ""))
        until(lambda: controller.view.documents["h1"].routes)
        until(lambda: controller.events.measurements > 1)
        assert caplog.text.count("cannot be written") == 1 and "Traceback" not in caplog.text
        is_full[0] = False
        until(lambda: not controller.unsaved)
        until(lambda: "h1" in State.load(tmp_path / "state.json").rollout.told)

    is_full[0] = True
    again = Controller(Config.load(tmp_path / "controller.toml"))
    assert again.unsaved, "it starts all the same"
    (tmp_path / "state.json").unlink()
    with pytest.raises(EtalonError, match="cannot be written"):
        Controller(Config.load(tmp_path / "controller.toml"))


def test_a_line_that_a_kill_has_cut_takes_no_other_with_it(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    for torn in (b"", b'{"at": "2026-01-01T', b'{"at": 1}\n'):
        file.write_bytes(torn)
        log = Audit(file)
        log.asked("host h1", "192.0.2.1", "GET", "/v1/health", 200)
        log.close()
        *before, last = file.read_bytes().splitlines()
        assert json.loads(last)["who"] == "host h1"
        assert b"".join(before) == torn.rstrip(b"\n") and file.read_bytes().endswith(b"\n")


WRITER = """
import resource, sys
from pathlib import Path
from etalon_otcp.audit import Audit
log = Audit(Path(sys.argv[1]))
for limit in (20_050, 10_000_000):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    for number in range(200):
        log.asked("host h1", "192.0.2.1", "GET", f"/{number}", 200)
log.close()
"""


def test_a_line_that_a_full_disk_has_cut_takes_no_other_with_it(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", WRITER, str(file)], check=True, capture_output=True, text=True
    )
    assert done.stderr.count("cannot be written") == 1
    paths, torn = [], 0
    for line in file.read_text().splitlines():
        try:
            paths.append(json.loads(line)["path"])
        except ValueError:
            torn += 1
    first = len(paths) - 200
    assert paths == [f"/{at}" for at in (*range(first), *range(200))] and 100 < first < 200
    assert torn <= 1


def test_two_controllers_with_one_state(tmp_path: Path) -> None:
    """The second one ends with a sentence, and touches nothing; after a kill nobody holds it."""
    text = f'state = "state.json"\n{tables("t1")}'
    with ControllerBeside(tmp_path, text) as first:
        before = (tmp_path / "state.json").read_bytes()
        words = [sys.executable, "-m", "etalon", "otcp", "controller", str(first.file)]
        second = subprocess.run(words, capture_output=True, text=True, timeout=60)
        assert second.returncode == 1
        assert "state.json: another controller uses this state" in second.stderr
        assert (tmp_path / "state.json").read_bytes() == before
        first.kill()
        left = tmp_path / ".state.json.0a1b2c3d.tmp"
        left.write_text("half of a st")
        first.start()
        assert not left.exists()


def test_a_state_is_held_once(tmp_path: Path) -> None:
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    refused = pytest.raises(EtalonError, match="another controller")
    with alone(a), alone(b), alone(None), refused, alone(a):
        pass
    with alone(tmp_path / "a.json"):
        pass


def test_another_files_leftovers_are_left(tmp_path: Path) -> None:
    others = [tmp_path / name for name in (".b.json.0a1b2c3d.tmp", "a.json", ".a.json.tmp")]
    for one in others:
        one.write_text(FILE)
    with alone(tmp_path / "a.json"):
        assert all(one.exists() for one in others)
