# SPDX-License-Identifier: MIT OR Apache-2.0
"""The state on disk, written by any thread, and whether it could be."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from pathlib import Path

from etalon.errors import EtalonError
from etalon_otcp.state import State

LOG = logging.getLogger("etalon_otcp")


class Keeping:
    """Keeps what `state` says, in a file; nowhere without one."""

    def __init__(self, path: Path | None, state: Callable[[], State]) -> None:
        self._path, self._state = path, state
        self._saving = threading.Lock()
        self.failure = ""
        """Why the state could not be written the last time; empty if it could."""

    def save(self) -> None:
        """Writes the state.

        Raises:
            EtalonError: if it cannot be written.
        """
        if self._path is None:
            return
        with self._saving:  # an older state must not replace a newer one
            state = self._state()
            before, self.failure = self.failure, ""
            try:
                state.save(self._path)
            except EtalonError as error:
                self.failure = f"{error}; after a restart hosts would be told what is in it"
                if not before:
                    LOG.error("%s", self.failure)
                raise
            if before:
                LOG.warning("%s: written again", self._path)

    def keep(self) -> None:
        """As `save`, but what cannot be written is a problem that `failure` tells: hosts are told all the same."""
        with contextlib.suppress(EtalonError):
            self.save()
