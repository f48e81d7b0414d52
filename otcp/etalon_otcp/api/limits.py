# SPDX-License-Identifier: MIT OR Apache-2.0
"""How many may be connected."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Protocol

PATIENCE_S = 1.0
"""A connection that has been idle for so long makes room for another one."""


class Idle(Protocol):
    """A connection that may be idle."""

    def give_up(self) -> None:
        """Ends it; it has left after this."""


class Connections:
    """Connections at a time: so many in all, and so many from one address. Of those that are too many, the one goes that has
    asked nothing for longest: strangers can only be idle, as they are answered at once, and agents never are.

    `clock` is monotonic seconds.
    """

    def __init__(
        self, most: int, most_of_one: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.most = most
        self._most_of_one = most_of_one
        self._clock = clock
        self._by_address: Counter[str] = Counter()
        self._all = 0
        self._idle: dict[Idle, float] = {}
        self._idle_of: dict[str, dict[Idle, float]] = defaultdict(dict)
        """Since when, the longest first: of all, and by address."""

    def enter(self, address: str) -> bool:
        """Counts a connection; whether it may stay. One that may not is not counted."""
        if self._by_address[address] >= self._most_of_one:
            self._make_room(self._idle_of[address])
        elif self._all >= self.most:
            self._make_room(self._idle)
        if self._all >= self.most or self._by_address[address] >= self._most_of_one:
            if not self._by_address[address]:
                del self._by_address[address]
            return False
        self._all += 1
        self._by_address[address] += 1
        return True

    def idle(self, connection: Idle, address: str) -> None:
        """One that was counted asks nothing from now on."""
        self.busy(connection, address)
        self._idle[connection] = self._idle_of[address][connection] = self._clock()

    def busy(self, connection: Idle, address: str) -> None:
        """It has asked something, or is gone."""
        self._idle.pop(connection, None)
        self._idle_of[address].pop(connection, None)
        if not self._idle_of[address]:
            del self._idle_of[address]

    def _make_room(self, idle: dict[Idle, float]) -> None:
        """Ends the connection that has been idle for longest of these."""
        for connection, since in idle.items():
            if self._clock() - since >= PATIENCE_S:
                connection.give_up()
            return

    def leave(self, address: str) -> None:
        """One that was counted is gone."""
        self._all -= 1
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]

    def __len__(self) -> int:
        return self._all
