# SPDX-License-Identifier: MIT OR Apache-2.0
"""The line that shows virtual time to who waits for `etalon exec`."""

from __future__ import annotations

import io

from etalon.cli.clock import Clock

MS = 1_000_000


class Terminal(io.StringIO):
    """Keeps what a terminal was sent."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_how_far_virtual_time_has_come_and_how_fast() -> None:
    out = Terminal()
    clock = Clock(out, 100.0)
    clock.tick(100.5, 5 * MS)
    assert out.getvalue() == ""
    clock.tick(101.0, 10 * MS)
    assert out.getvalue() == "\r10 ms of virtual time, 10 ms a second"
    clock.tick(103.0, 14 * MS)
    assert out.getvalue().rpartition("\r")[2].rstrip() == "14 ms of virtual time, 2 ms a second"
    clock.clear()
    assert out.getvalue().endswith(" \r")
    length = len(out.getvalue())
    clock.clear()
    assert len(out.getvalue()) == length, "there is nothing to clear"


def test_it_says_that_virtual_time_stands_still() -> None:
    terminal, elsewhere = Terminal(), io.StringIO()
    for out in (terminal, elsewhere):
        clock = Clock(out, 0.0)
        for second in range(20):
            clock.tick(float(second), 3 * MS)
    said = (
        "virtual time stands still at 3 ms, or nothing happens on the network, for 19 s: programs"
    )
    assert said in terminal.getvalue().rpartition("\r")[2]
    assert elsewhere.getvalue().count("stands still") == 1, "it is said once"
    clock.tick(21.0, 4 * MS)
    clock.tick(30.0, 4 * MS)
    assert elsewhere.getvalue().count("stands still") == 2, "and once more after it has moved"


def test_it_says_nothing_while_hosts_are_made() -> None:
    out = io.StringIO()
    clock = Clock(out, 0.0)
    for second in range(20):
        clock.tick(float(second), 0)
    assert out.getvalue() == ""
