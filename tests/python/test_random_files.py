# SPDX-License-Identifier: MIT OR Apache-2.0
"""Plan files and traces, changed at random: what is refused gets one sentence, and nothing else is raised.

`ETALON_FUZZ_EXAMPLES=100000 pytest tests/python/test_random_files.py` for longer.
"""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import ROOT
from etalon.errors import PlanError
from etalon.plan import Plan

EXAMPLES = int(os.environ.get("ETALON_FUZZ_EXAMPLES", "60"))
FUZZ = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="ETALON_FUZZ_EXAMPLES" not in os.environ,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
PLANS = [
    path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "examples").glob("*.toml"))
    if path.stem not in ("trace", "poisson", "solstice", "shuffle")  # thousands of flows, or a file
]
WORDS = [
    *("0", "1", "-1", "255", "65536", "9223372036854775808", "1e300", "1e-320", "nan", "inf"),
    *("true", '""', '"x"', '"\\u0000"', "[]", "{}", "[[0, 1]]"),
    *('"180us"', '"0s"', '"60min"', '"1Tbps"'),
]
LINES = ["r0h0 r1h0 1000 0", "0 17 1 60000 small", "# nothing", "", "r0h15 r2h15 999999999999 1"]
NOISE = st.text(st.characters(codec="utf-8"), max_size=12)


@st.composite
def plans(draw: st.DrawFn) -> str:
    """An example, some of whose values are others, and some lines doubled, left out or noise."""
    lines = draw(st.sampled_from(PLANS)).splitlines()
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(lines) - 1))
        key, equals, _ = lines[at].partition("=")
        match draw(st.integers(0, 5)):
            case 0:
                lines.insert(at, lines[at])
            case 1 if len(lines) > 1:
                del lines[at]
            case 2:
                cut = draw(st.integers(0, len(lines[at])))
                lines[at] = lines[at][:cut] + draw(NOISE) + lines[at][cut:]
            case _ if equals:
                lines[at] = f"{key}= {draw(st.sampled_from(WORDS))}"
    return "\n".join(lines)


@st.composite
def traces(draw: st.DrawFn) -> str:
    """Lines of a trace, and words and noise among them."""
    line = st.one_of(
        st.sampled_from(LINES),
        NOISE,
        st.lists(st.one_of(st.sampled_from([*WORDS, "r0h0", "r9h0"]), NOISE), max_size=6).map(" ".join),
    )  # fmt: skip
    return "\n".join(draw(st.lists(line, max_size=8)))


def refused(error: PlanError) -> None:
    """What is said is for people."""
    said = str(error)
    assert 0 < len(said) < 100_000
    assert "Traceback" not in said


@FUZZ
@given(plans())
def test_plan_files(text: str) -> None:
    try:
        plan = Plan.from_toml(text, file="plan.toml")
    except PlanError as error:
        refused(error)
        return
    assert Plan.from_toml(plan.to_toml()) == plan


@FUZZ
@given(traces())
def test_traces(tmp_path: Path, text: str) -> None:
    place = tmp_path / "flows.txt"
    place.write_text(text, encoding="utf-8")
    os.utime(place, ns=(0, hash(text) & (1 << 40) - 1))  # plans read a file once for each state
    try:
        plan = Plan.from_toml(
            '[network]\nracks = 3\nhosts = 16\n[[trace]]\nfile = "flows.txt"\n',
            file=str(tmp_path / "plan.toml"),
        )
    except PlanError as error:
        refused(error)
        return
    assert plan.flows
