# SPDX-License-Identifier: MIT OR Apache-2.0
"""Switches that send more than they may: what became of it, and how much they may. Sans I/O."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable

from etalon_otcp.seldom import STRANGERS

NAMED_S = 60.0
"""So long after its last flood a switch is a problem."""


class Budget:
    """So much a second, and a burst; `clock` is monotonic seconds. One thread spends."""

    def __init__(
        self, per_s: float, burst: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_s, self._burst, self._clock = per_s, burst, clock
        self._spent, self._at = 0.0, clock()

    def spend(self, much: float) -> None:
        """Counts what was spent, also if it was more than there is."""
        now = self._clock()
        self._spent = max(0.0, self._spent - (now - self._at) * self._per_s) + much
        self._at = now

    def wait_s(self) -> float:
        """How long to wait until more may be spent; 0 if it may be now."""
        over = (self._spent - self._burst) / self._per_s - (self._clock() - self._at)
        return max(0.0, over)


class Floods:
    """Counts what was dropped of switches' messages, by switch and kind, in any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._dropped: Counter[tuple[str, str]] = Counter()
        self._since: dict[str, tuple[float, float, Counter[str]]] = {}
        """Of each switch that floods: when it began, when it last did, and what was dropped since."""
        self._lock = threading.Lock()

    def late(self, switch: str) -> None:
        """A switch's messages wait, as they take more of a processor than they may."""
        with self._lock:
            self._floods(switch)

    def drop(self, switch: str, kind: str, count: int = 1) -> None:
        """Some of a switch's messages are not read."""
        with self._lock:
            self._dropped[switch, kind] += count
            self._floods(switch)[kind] += count

    def dropped(self) -> dict[tuple[str, str], int]:
        """All that was dropped, by switch and kind."""
        with self._lock:
            return dict(self._dropped)

    def problems(self) -> list[str]:
        """A sentence for each switch that floods, or did lately."""
        now = self._clock()
        with self._lock:
            return [
                f"{_sentence(switch, dropped)}; last {max(0.0, now - last):.0f} s ago"
                for switch, (_, last, dropped) in sorted(self._since.items())
                if now - last < NAMED_S
            ]

    def _floods(self, switch: str) -> Counter[str]:
        now = self._clock()
        began, last, dropped = self._since.get(switch, (now, now, Counter()))
        if switch not in self._since or now - last >= NAMED_S:
            began, dropped = now, Counter()
            STRANGERS.warn("switch %s sends more than it may", switch, of=f"floods of {switch}")
        self._since[switch] = began, now, dropped
        return dropped


def _sentence(switch: str, dropped: Counter[str]) -> str:
    counted = ", ".join(f"{count} of {kind}" for kind, count in sorted(dropped.items()))
    said = f"{counted} were dropped" if counted else "they wait"
    return f"switch {switch} sends more messages than it may: {said}"
