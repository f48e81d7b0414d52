# SPDX-License-Identifier: MIT OR Apache-2.0
"""Switches that send more than they may: what became of it, and how much of a processor they may take. Sans I/O."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable

from etalon_otcp.seldom import STRANGERS

NAMED_S = 60.0
"""So long after its last flood a switch is a problem."""


class Share:
    """A share of a processor, and a burst at its whole speed; `clock` is monotonic seconds. For one thread."""

    def __init__(
        self, share: float, burst_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._share, self._burst_s, self._clock = share, burst_s, clock
        self._spent_s, self._at = 0.0, clock()

    def spend(self, seconds: float) -> None:
        """Counts processor time."""
        now = self._clock()
        self._spent_s = max(0.0, self._spent_s - (now - self._at) * self._share) + seconds
        self._at = now

    def wait_s(self) -> float:
        """How long to wait until more may be spent; 0 if it may be now."""
        over = (self._spent_s - self._burst_s) / self._share - (self._clock() - self._at)
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
