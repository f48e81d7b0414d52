# SPDX-License-Identifier: MIT OR Apache-2.0
"""How often something may happen."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

MOST_KNOWN = 10_000
"""Names that are counted at a time; the ones longest unheard are forgotten."""


class Rate:
    """So many events of each name in `over_s` seconds, in bursts of as many, for any thread. `clock` is monotonic seconds."""

    def __init__(
        self, most: int, over_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._each_s, self._burst_s = over_s / most, over_s
        self._clock = clock
        self._due: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def wait_s(self, name: str) -> float:
        """Counts an event; 0 if it may happen, else how long to wait. One that has to wait is not counted."""
        with self._lock:
            now = self._clock()
            due = max(now, self._due.get(name, now)) + self._each_s
            if due - now > self._burst_s + 1e-9:  # a sum of shares is not exact
                return due - now - self._burst_s
            self._due[name] = due
            self._due.move_to_end(name)
            if len(self._due) > MOST_KNOWN:
                self._due.popitem(last=False)
            return 0.0
