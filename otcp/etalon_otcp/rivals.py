# SPDX-License-Identifier: MIT OR Apache-2.0
"""Connections that named a switch which is there, and answers."""

from __future__ import annotations

import threading
import time

from etalon_otcp.seldom import STRANGERS

RIVAL_S = 60.0
"""So long a second connection that named a switch is a problem: switches try again within a few seconds."""


class Rivals:
    """The last one of each switch, from any thread."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[str, float]] = {}
        self._lock = threading.Lock()

    def refused(self, switch: str, connected: str, refused: str) -> None:
        """Another connection has named a switch; addresses of both."""
        problem = (
            f"switch {switch} is connected from {connected}, and another connection from {refused} names it too: "
            "the first one stays while it answers"
        )
        with self._lock:
            self._found[switch] = problem, time.monotonic()
        STRANGERS.warn("%s", problem, of=f"rivals of {switch}")

    def problems(self) -> list[str]:
        """A sentence for each switch that others claimed to be lately."""
        since = time.monotonic() - RIVAL_S
        with self._lock:
            return [problem for _, (problem, at) in sorted(self._found.items()) if at >= since]
