# SPDX-License-Identifier: MIT OR Apache-2.0
"""Warnings that strangers cause: a log that they could fill would tell nothing."""

from __future__ import annotations

import logging
import threading

from etalon_otcp.rate import Rate

LOG = logging.getLogger("etalon_otcp")


class Seldom:
    """Logs at most so many warnings at a time, and with the next one how many were left out.

    As a filter of another logger it does the same for that one's messages.
    """

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._left_out = 0
        self._lock = threading.Lock()

    def warn(
        self,
        text: str,
        *values: object,
        of: str = "",
        trace: bool = False,
        level: int = logging.WARNING,
    ) -> None:
        """Logs a warning, or counts it.

        Args:
            of: Warnings of one name do not crowd out those of another.
            trace: Whether to log the trace of the exception that is being handled.
            level: Another level than a warning's.
        """
        if LOG.isEnabledFor(level) and self._may(of):
            LOG.log(level, text, *values, exc_info=trace)

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether another logger's message is logged (`logging.Logger.addFilter`)."""
        return record.levelno < logging.WARNING or self._may(record.name)

    def _may(self, of: str) -> bool:
        with self._lock:
            if self._rate.wait_s(of):
                self._left_out += 1
                return False
            left_out, self._left_out = self._left_out, 0
        if left_out:
            LOG.warning("%d more messages about connections were left out", left_out)
        return True


STRANGERS = Seldom(Rate(10, 10.0))
"""About connections, which anybody may open."""
