# SPDX-License-Identifier: MIT OR Apache-2.0
"""Where hosts are: who claims it, who counts, what an operator hears of it."""

from __future__ import annotations

import pytest

from etalon_otcp.network import PortId
from etalon_otcp.seats import EACH_S, Policy, Seats

HOME, AWAY = PortId("s1", 3), PortId("s4", 1)
MINE, HIS = "02:00:00:00:00:01", "02:00:00:00:00:04"


def answer(seats: Seats, places: list[tuple[PortId, str]], begin: float, end: float) -> float:
    """These answer all probes from `begin` to `end`."""
    now = begin
    while now < end:
        for port, mac in places:
            seats.seen("h1", port, mac, now)
        now += EACH_S
    return now


def test_a_host_that_is_back_gets_its_seat_again_and_the_thief_is_named() -> None:
    """h1's port is down for four seconds while h4 answers its probes."""
    seats = Seats()
    now = answer(seats, [(HOME, MINE)], 0, 5)
    seats.port_down(HOME)
    assert seats.owner("h1", now) is None
    now = answer(seats, [(AWAY, HIS)], now, now + 4)
    owner = seats.owner("h1", now)
    assert owner and owner.port == AWAY, "nobody else answers"
    (problem,) = seats.problems(now)
    assert (
        "claimed by 02:00:00:00:00:04 at port 1 of s4, at first it was 02:00:00:00:00:01" in problem
    )
    assert seats.hosts_of(HOME) == ["h1"], "it is asked for when the port is up again"
    now = answer(seats, [(HOME, MINE), (AWAY, HIS)], now, now + 2)
    owner = seats.owner("h1", now)
    assert owner and owner.port == HOME
    (problem,) = seats.problems(now)
    assert problem.endswith(": 02:00:00:00:00:01 at port 3 of s1 counts (first)")
    now = answer(seats, [(HOME, MINE)], now, now + 2)
    assert seats.problems(now) == []


@pytest.mark.parametrize("policy", Policy)
def test_a_host_that_moves_is_found_within_a_second(policy: Policy) -> None:
    """Its old port stays up, and it says nothing by itself."""
    seats = Seats(policy)
    now = left = answer(seats, [(HOME, MINE)], 0, 5)
    while seats.owner("h1", now):
        now += EACH_S
    seats.seen("h1", AWAY, MINE, now)  # it was looked for
    owner = seats.owner("h1", now)
    assert owner and owner.port == AWAY
    assert now - left < 1
    assert seats.problems(now) == []


def test_policies() -> None:
    both = [(HOME, MINE), (AWAY, HIS)]
    for policy, place in ((Policy.FIRST, HOME), (Policy.LATEST, AWAY), (Policy.PINNED, HOME)):
        seats = Seats(policy)
        now = answer(seats, [(HOME, MINE)], 0, 3)
        now = answer(seats, both, now, 6)
        owner = seats.owner("h1", now)
        assert owner and owner.port == place, policy
        assert len(seats.problems(now)) == 1
    now = answer(seats, [(AWAY, HIS)], now, 9)
    assert seats.owner("h1", now) is None, "pinned: another hardware address never counts"
    (problem,) = seats.problems(now)
    assert problem.endswith("the new one does not count (pinned)")


def test_a_thousand_hosts_are_asked_a_thousand_times_a_second() -> None:
    assert Seats().each_s == EACH_S
    assert Seats(hosts=10_000).each_s == 10


def test_claims_that_are_long_dead_are_forgotten() -> None:
    seats = Seats()
    seats.seen("h1", HOME, MINE, 0)
    for number in range(100):
        seats.seen("h1", PortId("s9", number), HIS, number)
    assert len(seats.ports("h1")) < 64
    assert seats.ports("h1")[0] == HOME
