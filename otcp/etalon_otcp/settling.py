# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whether the network is back since the controller's start: before that, what is missing may only not have come yet."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from etalon_otcp.remembered import Remembered

LOG = logging.getLogger("etalon_otcp")
QUIET_S = 0.15
"""At a start the network has settled when nothing has changed for so long."""


class Settling:
    """`is_whole` says whether all switches are there and all that was found is measured; `patience_s` is how long to wait."""

    def __init__(
        self, remembered: Remembered, patience_s: float, is_whole: Callable[[], bool]
    ) -> None:
        self.remembered = remembered
        """What hosts were told before the start."""
        self.is_settled = False
        self.changed_at = self._started_at = time.monotonic()
        self._patience_s, self._is_whole = patience_s, is_whole

    @property
    def goes_on(self) -> bool:
        """Whether time alone may change what hosts are told."""
        return not self.is_settled or bool(self.remembered.told)

    def has_news(self, now: float) -> bool:
        """Whether the network is back, or the time for it over, since the last call."""
        news = False
        if not self.is_settled:
            news = self._has_settled(now)
        if self.is_settled and self.remembered.told:
            news |= self.remembered.is_over(now, self._is_back(now))
        return news

    def _is_back(self, now: float) -> bool:
        return self._is_whole() and now - self.changed_at >= QUIET_S

    def _has_settled(self, now: float) -> bool:
        late = now - self._started_at >= self._patience_s
        if late or self._is_back(now):
            LOG.info("settled after %.2f s", now - self._started_at)
            self.is_settled = True
        return self.is_settled
