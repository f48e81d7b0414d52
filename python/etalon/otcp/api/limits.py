"""How much anybody may ask."""

from __future__ import annotations

from collections import OrderedDict
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
