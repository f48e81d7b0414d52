"""CNSM'16: what the paper prints is computed, and what it is about happens."""

from __future__ import annotations

from collections.abc import Callable

import etalon as et
from conftest import Answer
from etalon.reproduce.paper import Paper


def test_table_1_but_for_two_values_that_contradict_the_paper(
    etalon: Callable[..., Answer],
) -> None:
    claims = etalon("reproduce", "cnsm16", "--figure", "table-1", "--json").json
    differing = {claim["id"] for claim in claims if claim["verdict"] != "reproduced"}
    assert len(claims) == 15
    assert differing == {"table-1/tor_cwndmax", "table-1/core_rtoinit"}


def test_an_incast_is_done_far_sooner_with_parameters_of_the_network() -> None:
    paper = Paper.load("cnsm16")
    means = {}
    for series in ("rack-tcp", "rack-otcp"):
        plan = paper.point(series, 40).plans[0].replace({"incast.rounds": 5})
        times = et.run(plan).fct()["fct_us"]
        assert times.null_count() == 0
        means[series] = times.to_numpy().mean()
    assert means["rack-tcp"] > 5 * means["rack-otcp"]
