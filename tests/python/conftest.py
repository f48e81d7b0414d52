# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the tests share: small plans that run in a blink, and the command line called in this process."""

from __future__ import annotations

import datetime
import importlib.util
import json
import os
import random
import resource
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from etalon import kernel
from etalon.cli import main
from etalon.custom import source
from etalon.plan import Plan

settings.register_profile("etalon", deadline=None)  # machines that test are busy
settings.load_profile("etalon")

# Where tests run in the background, Ctrl-C may be ignored; the tests of it need it, and so do their child processes.
signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ.pop("COLUMNS", None)  # tables are as wide as they need to be
ROOT = Path(__file__).resolve().parents[2]


sys.path.insert(0, str(ROOT / "tools"))
import packages  # noqa: E402

EVERYTHING = "CI" in os.environ or "ETALON_TEST_ALL" in os.environ
"""Whether nothing may be missing, and no test may take long that does not say so."""
LONGEST = 5.0
"""Seconds of processor time that a test may take which is not marked slow, where `yardstick` takes `YARD`."""
YARD = 0.028
NOISE = 1.5
"""A test may take so many times as long before it fails: caches that others use cost it more than they cost the yardstick."""


def need(there: object, what: str, how: str = "") -> None:
    """Leaves a test out whose means are not there; fails it in CI, where nothing may be missing.

    `how` is the command that provides them.
    """
    if not there:
        sentence = f"{what} is missing{how and f': {how}'}"
        if EVERYTHING:
            pytest.fail(sentence)
        pytest.skip(sentence, allow_module_level=True)


def need_kernel() -> None:
    """Leaves a test out if the Linux engine has no kernel."""
    need(kernel.find(250), "the Linux engine's kernel", "etalon kernel build")


def need_program(*names: str) -> None:
    """Leaves a test out if a program is not there."""
    for name in names:
        package = packages.TESTS.get(name, name)
        need(shutil.which(name, path=packages.PATH), name, packages.command([package]))


def need_module(name: str, extra: str = "") -> None:
    """Leaves a test out if a Python module is not there, of an extra of ours if it is named."""
    found = importlib.util.find_spec(name) is not None
    need(found, name, f"pip install {f'etalon-rdcn[{extra}]' if extra else name}")


def drawn_today(cases: Sequence[Any], number: int) -> list[Any]:
    """All of the cases; but some, drawn anew each day, are marked slow: `make test` leaves these out."""
    today = random.Random(datetime.datetime.now(datetime.UTC).date().toordinal())
    chosen = {cases[at] for at in today.sample(range(len(cases)), number)}
    return [
        case if case in chosen else pytest.param(case, marks=pytest.mark.slow) for case in cases
    ]


def processor_time() -> float:
    """Seconds of processor time that this process took, and those of its children that have ended."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def yardstick() -> float:
    """Seconds of processor time that a fixed piece of work takes: more on a slower machine, or on a busy one."""
    begin = time.thread_time()
    sum(number * number for number in range(1_000_000))
    return time.thread_time() - begin


def limit() -> float:
    """Seconds of processor time that a test may take here and now: as much longer than `LONGEST` as the machine is slower."""
    slower = min(yardstick() for _ in range(3)) / YARD
    return LONGEST * NOISE * max(1.0, slower)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keeps the tests that share something expensive in one process."""
    for item in items:
        definitions = getattr(item, "_fixtureinfo").name2fixturedefs.values()  # noqa: B009
        if any(one.scope == "module" for found in definitions for one in found):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Holds each test to what it may take."""
    before = processor_time()
    yield
    took = processor_time() - before
    item.user_properties.append(("processor time", round(took, 2)))  # --junitxml writes it
    may_be_long = not EVERYTHING or item.get_closest_marker("slow") is not None
    if not may_be_long and took > LONGEST * NOISE and took > (most := limit()):
        pytest.fail(
            f"took {took:.1f} s of processor time, {most:.1f} s at most: shrink it, or mark it slow"
        )


LEFT_OUT = pytest.StashKey[str]()
REASONS = pytest.StashKey[list[str]]()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Counts what was left out, by what it needs."""
    reasons = Counter(
        str(report.longrepr[2]).removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", ())
        if isinstance(report.longrepr, tuple) and " is missing" in report.longrepr[2]
    )
    if reasons:
        said = (f"{reason} ({number})" for reason, number in sorted(reasons.items()))
        config.stash[LEFT_OUT] = f"not run, with the number of tests: {'; '.join(said)}"
        config.stash[REASONS] = list(reasons.elements())


def pytest_unconfigure(config: pytest.Config) -> None:
    """Says it last, where it is seen."""
    if LEFT_OUT in config.stash:
        print(config.stash[LEFT_OUT])
        file = os.environ.get("ETALON_LEFT_OUT")
        if file and not hasattr(config, "workerinput"):  # `make test` prints it last
            with Path(file).open("a") as out:
                out.writelines(f"{reason}\n" for reason in config.stash[REASONS])


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
def nothing_stays_allowed() -> Iterator[None]:
    """The user's code that a test allows is not allowed to the next."""
    before = set(source._allowed)
    yield
    source._allowed.clear()
    source._allowed.update(before)


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
