# SPDX-License-Identifier: MIT OR Apache-2.0
"""docs/metrics.md defines every column of every table, and every metric is one that `etalon list metrics` knows."""

from __future__ import annotations

import re

import pytest

import etalon as et
from conftest import ROOT
from etalon.results import Run
from etalon.results.tables import (
    CROSS_CONNECTS,
    HOPS,
    ITERATIONS,
    LINKS,
    PORTS,
    PROGRAMS,
    REORDERING,
    STEPS,
    TCP,
    WRITES,
)

PAGE = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")


def section(table: str) -> str:
    return PAGE.split(f"\n## `{table}`\n")[1].split("\n## ")[0]


def named(text: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", text))


@pytest.fixture(scope="module")
def run() -> Run:
    """Two kinds of circuits, three paths that are followed."""
    plan = et.Plan.load(ROOT / "examples" / "three_networks.toml")
    return et.run(plan.replace({"duration": "30ms", "warmup": "10ms", "measure": {"flows": [0]}}))


@pytest.mark.parametrize("table", ["flows", "pairs", "latency_histogram", "sequence", "days"])
def test_the_page_defines_every_column(run: Run, table: str) -> None:
    """Those of a further kind of circuits are named like those of the first, or as `<network>_`."""
    defined = named(section(table))
    for column in getattr(run, table).columns:
        first = re.sub(r"^circuit\d+_", "circuit_", column)
        whichever = re.sub(r"^(packet|circuit\d*)_", "<network>_", column)
        assert {column, first, whichever} & defined, column


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("ports", PORTS),
        ("hops", HOPS),
        ("links", LINKS),
        ("programs", PROGRAMS),
        ("reordering", REORDERING),
        ("writes", WRITES),
        ("cross_connects", CROSS_CONNECTS),
        ("iterations", ITERATIONS),
        ("steps", STEPS),
        ("tcp", TCP),
    ],
)
def test_the_page_defines_tables_that_few_runs_have(table: str, columns: dict[str, object]) -> None:
    assert columns.keys() <= named(section(table))


def test_the_page_defines_what_days_are_made_of(run: Run) -> None:
    defined = named(section("days"))
    for quantity in run.days["quantity"]:
        assert {quantity, re.sub(r"^circuit\d+_", "circuit_", quantity)} & defined, quantity
