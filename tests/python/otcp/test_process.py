# SPDX-License-Identifier: MIT OR Apache-2.0
"""The controller as a process: how it ends."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from controller_beside import ControllerBeside
from networks import tables

from conftest import need_module

need_module("os_ken", "otcp")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_in_good_order(tmp_path: Path, number: signal.Signals) -> None:
    """Its state is written once more at the end, and the log has no traceback."""
    text = f'state = "state.json"\n{tables("t1")}'
    with ControllerBeside(tmp_path, text) as controller:
        state = tmp_path / "state.json"
        before = json.loads(state.read_text())
        state.unlink()
        process = controller.process
        assert process
        process.send_signal(number)
        assert process.wait(20) == 0
        assert json.loads(state.read_text()) == before
        assert "Traceback" not in controller.log.read_text()
        controller.process = None
