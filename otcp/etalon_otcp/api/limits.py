# SPDX-License-Identifier: MIT OR Apache-2.0
"""How much anybody may ask, and how many may be connected."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable

MOST_KNOWN = 10_000
"""Names whose requests are counted at a time; the ones longest unheard are forgotten."""


class Rate:
    """So many requests a minute of each name, in bursts of as many. `clock` is monotonic seconds."""

    def __init__(self, per_minute: int, clock: Callable[[], float]) -> None:
        self._each_s = 60 / per_minute
        self._burst_s = 60.0
        self._clock = clock
        self._due: OrderedDict[str, float] = OrderedDict()

    def wait_s(self, name: str) -> float:
        """Counts a request; 0 if it may go on, else how long to wait. One that has to wait is not counted."""
        now = self._clock()
        due = max(now, self._due.get(name, now)) + self._each_s
        if due - now > self._burst_s:
            return due - now - self._burst_s
        self._due[name] = due
        self._due.move_to_end(name)
        if len(self._due) > MOST_KNOWN:
            self._due.popitem(last=False)
        return 0.0


class Connections:
    """Connections at a time: so many in all, and so many from one address."""

    def __init__(self, most: int, most_of_one: int) -> None:
        self.most = most
        self._most_of_one = most_of_one
        self._by_address: Counter[str] = Counter()
        self._all = 0

    def enter(self, address: str) -> bool:
        """Counts a connection; whether it may stay. One that may not is not counted."""
        if self._all >= self.most or self._by_address[address] >= self._most_of_one:
            return False
        self._all += 1
        self._by_address[address] += 1
        return True

    def leave(self, address: str) -> None:
        """One that was counted is gone."""
        self._all -= 1
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]

    def __len__(self) -> int:
        return self._all
