# SPDX-License-Identifier: MIT OR Apache-2.0
"""Why one static ring of Harvest's figure 5 takes longer than the form in which hops overlap: its ranks drift apart."""

from __future__ import annotations

import sys

import polars as pl
import pytest

import etalon as et
from conftest import ROOT
from etalon.reproduce.paper import Paper

sys.path.insert(0, str(ROOT / "papers" / "harvest"))
import asides

PAPER = Paper.load(str(ROOT / "papers" / "harvest"))
SIZE = 16384 * 1024


@pytest.fixture(scope="module")
def plan() -> et.Plan:
    return PAPER.point("static-cyclic-64", 16384).plans[0].replace({"job.steps": True})


def test_ranks_that_begin_together_follow_the_form(plan: et.Plan) -> None:
    """The iteration that the claim looks at begins with ranks as far apart as the one before has left them."""
    form = PAPER.measures.overlapped("cyclic", SIZE)
    one = et.run(plan.replace({"job.iterations": 1, "job.start": "1ms", "job.connect": "0us"}))
    assert PAPER.measures.took(one) == pytest.approx(form, rel=0.03)
    both = et.run(plan)
    assert PAPER.measures.took(both) > 1.25 * form
    sends = both.steps.filter((pl.col("iteration") == 1) & (pl.col("peer") >= 0))
    ready = sends.group_by("step").agg(pl.col("ready_ns").max() - pl.col("ready_ns").min())
    assert max(ready["ready_ns"].to_list()) > 2 * form / 12, "two of twelve steps"


def test_each_step_alone_follows_the_form_but_those_over_32_circuits(plan: et.Plan) -> None:
    for step in asides.STEPS[:6]:
        over = PAPER.measures.took(asides.run_of_step(plan, *step))
        over /= PAPER.measures.overlapped_step(*step)
        if step[0] == 32:
            assert 1.1 < over < 1.3
        else:
            assert over == pytest.approx(1, rel=0.01)
