# SPDX-License-Identifier: MIT OR Apache-2.0
"""A line for people who wait: how far virtual time has come, how fast it goes, and whether it stands still."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TextIO

EVERY_S = 1.0
"""Between two lines."""
STILL_S = 5.0
"""Virtual time that has not moved for so long stands still."""


@dataclass
class Clock:
    """Shows virtual time on a terminal, in one line that it overwrites; elsewhere only that time stands still."""

    out: TextIO
    at_s: float
    """The wall clock when it begins."""
    now_ns: int = 0
    moved_s: float = field(init=False)
    shown_s: float = field(init=False)
    shown_ns: int = 0
    told: bool = False
    """Whether a line has said, without a terminal, that time stands still."""
    width: int = 0
    """Of the line that is there."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.moved_s = self.shown_s = self.at_s

    def tick(self, wall_s: float, now_ns: int) -> None:
        """It is `wall_s` by the wall clock, and `now_ns` in the network."""
        if now_ns > self.now_ns:
            self.now_ns, self.moved_s, self.told = now_ns, wall_s, False
        since = wall_s - self.shown_s
        if since < EVERY_S:
            return
        still = wall_s - self.moved_s if self.now_ns else 0.0  # before, hosts are made
        line = self._still(still) if still >= STILL_S else self._moves(since)
        self.shown_s, self.shown_ns = wall_s, self.now_ns
        if self.out.isatty():
            self._put(line)
        elif still >= STILL_S and not self.told:
            self.told = True
            print(f"etalon: {line}", file=self.out, flush=True)

    def clear(self) -> None:
        """Takes the line away, for other output."""
        with self.lock:
            if self.width:
                self.out.write(f"\r{' ' * self.width}\r")
                self.out.flush()
                self.width = 0

    def _moves(self, since_s: float) -> str:
        from etalon.units import rounded

        rate = round((self.now_ns - self.shown_ns) / since_s)
        return f"{rounded(self.now_ns)} of virtual time, {rounded(rate)} a second"

    def _still(self, still_s: float) -> str:
        from etalon.units import rounded

        return (
            f"virtual time stands still at {rounded(self.now_ns)}, or nothing happens on the network, for {still_s:.0f} s: "
            "programs compute, poll, or wait for standard input"
        )

    def _put(self, line: str) -> None:
        with self.lock:
            self.out.write(f"\r{line.ljust(self.width)}")
            self.out.flush()
            self.width = len(line)
