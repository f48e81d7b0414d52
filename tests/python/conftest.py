"""What the tests share: small plans that run in a blink, and the command line called in this process."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from etalon.cli import main
from etalon.plan import Plan

settings.register_profile("etalon", deadline=None)  # machines that test are busy
settings.load_profile("etalon")

# Where tests run in the background, Ctrl-C may be ignored; the tests of it need it, and so do their child processes.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[2]


def need(there: object, what: str) -> None:
    """Skips a test whose means are not there; fails it under `make test`, which provides them."""
    if not there:
        (pytest.fail if "ETALON_TEST_ALL" in os.environ else pytest.skip)(f"{what} is missing")


SMALL = """
name = "small"
duration = "30ms"
warmup = "10ms"
[network]
racks = 3
hosts = 2
[schedule]
day = "180us"
night = "20us"
[[bulk]]
from = 0
to = 1
"""


SIGCOMM22 = """
tdf = 20
[schedule]
kind = "fixed"
day = "180us"
night = "20us"
configurations = [
  { circuits = [] }, { circuits = [] }, { circuits = [] }, { circuits = [] }, { circuits = [] }, { circuits = [] },
  { circuits = [[0, 1], [1, 0]] },
]
[network]
racks = 2
packet = { rate = "10Gbps", delay = "19.675us" }
circuit = { rate = "100Gbps", delay = "16.24us" }
voq = 16
"""
"""The network of SIGCOMM 2022: six days by packets, one by the circuit, 1.4 ms a week; 20 times that on hosts' clocks. Further
keys of the network follow."""


@dataclass(frozen=True)
class Answer:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which must be one JSON document."""
        return json.loads(self.out)


@pytest.fixture
def small() -> Plan:
    return Plan.from_toml(SMALL)


@pytest.fixture
def small_file(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def etalon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Answer]:
    """Calls the command line in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> Answer:
        capfd.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        assert "Traceback" not in captured.err
        return Answer(code, captured.out, captured.err)

    return call
