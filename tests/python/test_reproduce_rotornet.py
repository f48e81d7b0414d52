# SPDX-License-Identifier: MIT OR Apache-2.0
"""RotorNet's folder: it is whole, it runs, and its numbers are those of the exact table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from etalon import circuits, reproduce
from etalon.reproduce.paper import Paper


def test_what_is_published_is_what_our_schedules_carry_over_one_hop() -> None:
    """Rack by rack, without a packet."""
    published = {
        (claim.group.measure, claim.x): claim.published
        for claim in Paper.load("rotornet").claims
        if claim.group.figure == "table"
    }
    for racks in (8, 16):
        net = circuits.rotor(racks, 4)
        permutation = np.roll(np.eye(racks), 1, axis=1)
        uniform = (1 - np.eye(racks)) / (racks - 1)
        for name, demand in (("permutation", permutation), ("uniform", uniform)):
            assert published[f"direct_{name}", racks] == pytest.approx(100 * net.throughput(demand))


def test_one_network_for_all() -> None:
    paper = Paper.load("rotornet")
    same = set()
    for point in paper.points(paper.choose(None)):
        (plan,) = point.plans
        ocs = plan.resolve()["network"]["ocs"]
        rates = {uplink["rate_bps"] for uplink in ocs["uplinks"]}
        hosts = plan.resolve()["hosts"]
        assert hosts["rate_bps"] * hosts["per_rack"] == sum(u["rate_bps"] for u in ocs["uplinks"])
        same.add((len(ocs["uplinks"]), *rates, hosts["mtu"], plan.duration, plan.warmup))
    assert len(same) == 1


@pytest.mark.slow
def test_every_figure_is_run_judged_and_drawn(tmp_path: Path) -> None:
    result = reproduce.reproduce("rotornet", out=tmp_path / "out")
    verdicts = {claim["id"]: claim["verdict"] for claim in result.claims()}
    assert len(verdicts) == 11 and set(verdicts.values()) == {"reproduced"}
    assert all(claim["measured"] is not None for claim in result.claims())
    assert (tmp_path / "out" / "figures" / "density.png").is_file()
