# SPDX-License-Identifier: MIT OR Apache-2.0
"""The units of controller and agent, as systemd reads them."""

from __future__ import annotations

import subprocess

import pytest

from conftest import ROOT, need_program

UNITS = [
    "otcp/etalon_otcp/etalon-otcp-controller.service",
    "crates/etalon-otcp-agent/etalon-otcp-agent.service",
]


@pytest.mark.parametrize("unit", UNITS)
def test_systemd_understands_every_line(unit: str) -> None:
    need_program("systemd-analyze")
    done = subprocess.run(
        ["systemd-analyze", "verify", str(ROOT / unit)],
        capture_output=True,
        text=True,
        check=False,
    )
    said = [line for line in done.stderr.splitlines() if ROOT.name in line or ".service:" in line]
    assert [line for line in said if "is not executable" not in line] == []


def test_a_reload_reads_the_file_before_it_starts_anew() -> None:
    lines = (ROOT / UNITS[0]).read_text().splitlines()
    check, hang_up = (line for line in lines if line.startswith("ExecReload="))
    start = next(line for line in lines if line.startswith("ExecStart="))
    assert check == start.replace("ExecStart", "ExecReload").replace(" -v", " --check")
    assert hang_up == "ExecReload=/bin/kill -HUP $MAINPID" and "Restart=always" in lines


def test_the_agent_has_two_capabilities_and_the_controller_none() -> None:
    controller, agent = ((ROOT / unit).read_text() for unit in UNITS)
    assert "\nCapabilityBoundingSet=\n" in controller
    assert "\nCapabilityBoundingSet=CAP_NET_ADMIN CAP_BPF\n" in agent
    assert "User=root" not in controller + agent
