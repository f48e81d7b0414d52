# SPDX-License-Identifier: MIT OR Apache-2.0
"""How many may be connected."""

from __future__ import annotations

from collections import Counter


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
