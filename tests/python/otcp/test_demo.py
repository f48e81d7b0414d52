# SPDX-License-Identifier: MIT OR Apache-2.0
"""The whole system from real parts: Open vSwitch, links, controller, agents, TCP. As root, where Open vSwitch is installed."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, drawn_today, need, need_module

need_module("os_ken", "otcp")
need_module("fastapi", "otcp")

from etalon.errors import EtalonError
from etalon_otcp.demo import outside

pytestmark = pytest.mark.alone

MARK = "ETALON_OTCP_TEST"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the links and the agent."""
    if lacking := outside.missing():
        need(False, "what the demonstration runs", "; ".join(lacking))
    folder = tmp_path_factory.mktemp("programs")
    try:
        for name, path in outside.programs("quick").items():
            (folder / name).symlink_to(path)
    except EtalonError as error:
        need(False, "what the demonstration runs", str(error))
    return folder


class Demo:
    """A demonstration in a process of its own, whose descendants can be told by a mark."""

    def __init__(self, programs: Path, *arguments: str, by: Sequence[str] = ()) -> None:
        self.mark = f"{MARK}={secrets.token_hex(8)}"
        name, _, value = self.mark.partition("=")
        package = Path(outside.__file__).parents[3]
        environment = os.environ | {
            name: value,
            outside.FOLDER: str(programs),
            "PYTHONPATH": str(package),
        }
        command = [*by, sys.executable, "-u", "-m", "etalon", "otcp", "demo", *arguments]
        self.process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def until(self, text: str) -> None:
        """Reads what it shows up to a line."""
        assert self.process.stdout
        shown = []
        for line in self.process.stdout:
            shown.append(line)
            if text in line:
                return
        raise AssertionError("".join(shown) + self.process.communicate()[1])

    def pids(self, word: str = "") -> list[int]:
        """Processes of the demonstration whose command line holds a word."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                environment = (folder / "environ").read_bytes().split(b"\0")
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if self.mark.encode() in environment and word.encode() in command and state != "Z":
                found.append(int(folder.name))
        return found


@pytest.fixture
def left() -> Iterator[list[Demo]]:
    """Demonstrations of a test; afterwards nothing of them may be there."""
    demos: list[Demo] = []
    devices = set(os.listdir("/sys/class/net"))
    yield demos
    for demo in demos:
        end = time.monotonic() + 20
        while demo.pids() and time.monotonic() < end:
            time.sleep(0.05)
        assert demo.pids() == []
        demo.process.wait()
        for stream in (demo.process.stdout, demo.process.stderr):
            if stream:
                stream.close()
        name = f"{outside.CGROUP}{demo.process.pid}"
        assert not [
            *Path("/sys/fs/cgroup").glob(f"{name}*"),
            *Path("/sys/fs/cgroup").glob(f"*/{name}*"),
        ]
    assert set(os.listdir("/sys/class/net")) <= devices


def test_measured_served_applied_moved_and_heard_again(programs: Path, left: list[Demo]) -> None:
    demo = Demo(programs, "--json", "--samples", "40")
    left.append(demo)
    out, err = demo.process.communicate(timeout=300)
    assert demo.process.returncode == 0, err
    told: dict[str, Any] = json.loads(out)
    assert len(told["delays"]) == 12
    for link in told[
        "delays"
    ]:  # how exactly is for idle machines to say; here, that they are those links' delays
        assert 0.5 * link["configured_us"] < link["measured_us"] < link["configured_us"] + 1000
    for look in told["without"].values():
        assert look[0]["cwnd"] == "10" and float(look[0]["rto"]) >= 200
    for name, look in told["with"].items():
        assert int(look[0]["cwnd"]) <= 2, name
        assert float(look[1]["rto"]) < 200, name
    for failure in told["failures"]:
        assert len(failure["down"]["applied_ms"]) == len(failure["up"]["applied_ms"]) == 4
    assert told["restart"]["same"]
    counters = told["counters"]
    assert counters["lldp_accepted"] > 0
    assert not {"lldp_forged", "lldp_malformed", "lldp_misplaced"} & counters.keys()


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user runs the tests above as one")
def test_an_ordinary_user_has_all_but_bpf(programs: Path, left: list[Demo]) -> None:
    """In namespaces of its own, as `unshare -Urn` makes them; root only gives it /dev/net/tun."""
    namespaces = subprocess.run(["unshare", "-Urn", "true"], capture_output=True, check=False)
    need(namespaces.returncode == 0, "a machine with user namespaces")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for program in programs.iterdir():
            shutil.copy(program, folder / program.name)
        readable = " ".join({sys.base_prefix, sys.prefix, str(ROOT)})
        by = ["unshare", "--mount", "--propagation", "private", "sh"]
        by += [str(Path(__file__).with_name("ordinary_user.sh")), name, readable]
        demo = Demo(folder, "--json", "--samples", "25", by=by)
        left.append(demo)
        out, err = demo.process.communicate(timeout=300)
    assert demo.process.returncode == 0, err
    told: dict[str, Any] = json.loads(out)
    for name, looks in told["with"].items():
        # A route's initcwnd: what was served, whatever a busy machine has measured.
        assert int(looks[0]["cwnd"]) == told["served"][name]["initial_cwnd"], name
        assert float(looks[1]["rto"]) < 200, name  # a route's rto_min
        assert "ssthresh" not in looks[0], name  # BPF's clamp would set it
    assert len(told["failures"][0]["down"]["applied_ms"]) == 4
    assert told["restart"]["same"]


@pytest.mark.parametrize(
    "part",
    drawn_today(
        [
            "otcp demo",
            "demo.inside",
            "unshare",
            "ovsdb-server",
            "ovs-vswitchd",
            "otcp controller",
            "etalon-otcp-links",
            "etalon-otcp-agent",
        ],
        2,
    ),
)
def test_nothing_is_left_after_kill_9(programs: Path, left: list[Demo], part: str) -> None:
    demo = Demo(programs, "--samples", "5")
    left.append(demo)
    demo.until("4. Connections")
    pids = demo.pids(part)
    assert pids
    os.kill(min(pids), signal.SIGKILL)
    demo.process.wait(60)
    assert demo.process.returncode != 0
    assert demo.process.stderr and "Traceback" not in demo.process.stderr.read()
