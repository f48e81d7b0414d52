# SPDX-License-Identifier: MIT OR Apache-2.0
"""Warnings that strangers cause: a log that they could fill would tell nothing."""

from __future__ import annotations

import logging
import threading
import time

LOG = logging.getLogger("etalon_otcp")


class Seldom:
    """Logs at most `most` warnings in `each_s` seconds, and with the next one how many were left out."""

    def __init__(self, most: int = 10, each_s: float = 10.0) -> None:
        self._most, self._each_s = most, each_s
        self._since, self._said, self._left_out = float("-inf"), 0, 0
        self._lock = threading.Lock()

    def warn(self, text: str, *values: object) -> None:
        """Logs a warning, or counts it."""
        with self._lock:
            now = time.monotonic()
            if now - self._since >= self._each_s:
                self._since, self._said = now, 0
            if self._said >= self._most:
                self._left_out += 1
                return
            self._said += 1
            left_out, self._left_out = self._left_out, 0
        if left_out:
            LOG.warning("%d more warnings about connections were left out", left_out)
        LOG.warning(text, *values)


STRANGERS = Seldom()
"""About connections, which anybody may open."""
