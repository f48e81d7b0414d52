# SPDX-License-Identifier: MIT OR Apache-2.0
"""Who keeps a connection when there is no room for all."""

from __future__ import annotations

from conftest import need_module

need_module("fastapi", "otcp")

from etalon_otcp.api.limits import Connections


def test_connections_are_counted_by_address() -> None:
    connections = Connections(3, 2)
    assert [connections.enter("a") for _ in range(3)] == [True, True, False]
    assert [connections.enter("b") for _ in range(2)] == [True, False]
    connections.leave("a")
    assert connections.enter("b")
    assert len(connections) == 3


class Quiet:
    """A connection that may be idle."""

    def __init__(self, connections: Connections, address: str) -> None:
        self.connections, self.address, self.is_there = connections, address, True
        connections.idle(self, address)

    def give_up(self) -> None:
        self.is_there = False
        self.connections.busy(self, self.address)
        self.connections.leave(self.address)


def test_who_is_idle_makes_room() -> None:
    """The longest idle of all, or of the address that has too many; nobody within a second, and nobody who is answered."""
    now = [0.0]
    connections = Connections(3, 2, lambda: now[0])
    quiet = []
    for address in "aab":
        assert connections.enter(address)
        quiet.append(Quiet(connections, address))
        now[0] += 0.1
    assert not connections.enter("c"), "they may be about to ask"
    connections.busy(quiet[0], "a")
    now[0] += 2
    assert connections.enter("c") and [one.is_there for one in quiet] == [True, False, True]
    connections.idle(quiet[0], "a")
    now[0] += 2
    assert connections.enter("d") and not quiet[2].is_there, "a was idle later"
    assert connections.enter("a") and not quiet[0].is_there
    assert not connections.enter("e") and len(connections) == 3
