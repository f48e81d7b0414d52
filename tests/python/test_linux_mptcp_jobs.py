# SPDX-License-Identifier: MIT OR Apache-2.0
"""Jobs that Linux's MPTCP carries, beside the simulator's: a connection for each direction between two ranks."""

from __future__ import annotations

from typing import Any

import pytest

import etalon as et
from conftest import need_kernel
from etalon import engine
from etalon.errors import EtalonError
from test_linux_jobs import both, star, times
from test_mptcp_jobs import hybrid, ring, sent


def mainline(subflows: int) -> dict[str, Any]:
    return {"kind": "mptcp", "scheduler": "mainline", "subflows": subflows}


def apart(plan: et.Plan) -> list[float]:
    """How far the simulator's iterations are from Linux's, as a share of these."""
    sim, linux = map(times, both(plan))
    return [mine / real - 1 for mine, real in zip(sim, linux, strict=True)]


def test_a_ring_over_one_subflow_is_within_2_percent() -> None:
    work = et.all_reduce("4MB", algorithm="ring")
    plan = star(4, et.job(work, iterations=4, transport=mainline(1)))
    assert apart(plan) == pytest.approx([0.0] * 4, abs=0.02)


def test_circuits_on_request_and_a_subflow_for_each_network_are_within_2_percent() -> None:
    """Each step asks for its circuits; the scheduler gives data to the subflow of the network that is up."""
    deeds = et.compute("100us"), et.all_reduce("1MB", algorithm="swing")
    more = {"circuits": "each", "connect": "0us", "start": "50us", "transport": "mptcp"}
    assert apart(hybrid(et.job(*deeds, iterations=4, **more))) == pytest.approx([0.0] * 4, abs=0.02)


def test_each_byte_arrives_once_and_the_same_again() -> None:
    """Beside a job over TCP. All pairs talk, some by circuits that are up, others by packets."""
    other = et.job(et.all_reduce("1MB", algorithm="swing"), iterations=2, start="1ms")
    plan = hybrid(ring(transport="mptcp"), other)
    sim, linux = both(plan)

    def rows(run: et.Run) -> list[tuple[int, int, int]]:
        return sorted(run.flows.select("src_rack", "dst_rack", "bytes_delivered").rows())

    assert rows(linux) == rows(sim)
    assert sent(linux, 0) == sent(sim, 0)
    assert (linux.steps["sent_ns"] <= linux.steps["received_ns"]).all()
    assert et.run(plan, engine="linux").meta["digest"] == linux.meta["digest"]


@pytest.mark.parametrize("keys", [mainline(4), {"kind": "mptcp", "reinject": True}])
def test_jobs_end_whatever_gives_subflows_their_data(keys: dict[str, Any]) -> None:
    _, linux = both(hybrid(ring(transport=keys)))
    assert (linux.iterations["end_ns"] > 0).all()


@pytest.mark.parametrize(
    ("transport", "said"),
    [
        ("tdtcp", "TCP or MPTCP what jobs send"),
        (mainline(5), "at most 4 subflows, not 5"),
    ],
)
def test_what_linux_refuses_is_said_in_a_sentence(transport: Any, said: str) -> None:
    with pytest.raises(EtalonError, match=said):
        engine.check([hybrid(ring(transport=transport))], "linux")


def test_where_demand_is_announced_mptcp_carries_no_jobs() -> None:
    week = {"kind": "solstice", "estimator": "adu"}
    plan = hybrid(ring(transport="mptcp")).replace({"schedule": week})
    need_kernel()
    with pytest.raises(EtalonError, match="demand is not known of what MPTCP has to send"):
        et.run(plan, engine="linux")


def test_subflows_need_ports() -> None:
    """83 ranks have a connection for each of 6,806 directions, and there are ports for the subflows of 6,666."""
    need_kernel()
    work = et.job(et.all_to_all("1MB"), connect="0us", start="1ms", transport=mainline(2))
    with pytest.raises(EtalonError, match="ports for the subflows of the first 6666 flows"):
        et.run(star(83, work), engine="linux")
