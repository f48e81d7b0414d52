# SPDX-License-Identifier: MIT OR Apache-2.0
"""The API's listening socket: connections that have not finished TLS's handshake are few, and make room for others.

asyncio tells nobody of a connection before its handshake is over, waits for that for a minute, and keeps a quarter of a
megabyte for it meanwhile: strangers who say nothing could fill memory and descriptors.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import socket
import time
from asyncio import sslproto
from collections.abc import Callable
from typing import Any

from etalon_otcp.seldom import STRANGERS

MOST_SHAKING = 1024
"""Connections in their handshake at a time."""
PATIENCE_S = 1.0
"""A handshake that has lasted so long makes room for another one."""
HANDSHAKE_S = 10.0
"""One that is not over by then ends."""
MOST_FAILED = 500
"""Handshakes that came to nothing, after which their memory is collected: asyncio leaves 40 kB of each in reference cycles,
and Python by itself looks for those so seldom that memory grows with each attack."""
_BUFFER = 16 * 1024
"""Of each connection: what a record of TLS holds. asyncio's is sixteen times as large."""


SCARCE = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
REST_S = 0.005
"""A pause when the system has no descriptors left, so that waiting for one does not take a processor."""


class Patient(socket.socket):
    """Takes the place of a listening socket: one warning if the system has no descriptor for a connection, which waits.

    asyncio would log a traceback for each place in the backlog, over and over: gigabytes.
    """

    def __init__(self, at: socket.socket) -> None:
        super().__init__(fileno=at.detach())

    def accept(self) -> tuple[socket.socket, Any]:
        """As of sockets; without descriptors it is as if nobody came."""
        try:
            return super().accept()
        except OSError as error:
            if error.errno not in SCARCE:
                raise
            STRANGERS.warn("the API accepts no connection now: %s", error.strerror, of="accept")
            time.sleep(REST_S)
            raise BlockingIOError(errno.EAGAIN, error.strerror) from None


class Door(Patient):
    """Takes the place of a listening socket; `most` in their handshake in all, `most_of_one` from one address.

    `clock` is monotonic seconds.
    """

    def __init__(
        self,
        at: socket.socket,
        most: int,
        most_of_one: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(at)
        self._clock = clock
        self._most, self._most_of_one = most, most_of_one
        self._shaking: dict[Any, tuple[socket.socket, float]] = {}
        self.refused = 0
        """Connections that were too many, or too slow."""
        self._failed = 0
        """Handshakes that came to nothing since memory was collected."""

    def accept(self) -> tuple[socket.socket, Any]:
        """As of sockets; one that is too many is closed at once, and ends as others do."""
        found, peer = super().accept()
        now = self._clock()
        if self._has_room(peer[0], now):
            self._shaking[peer] = found, now
        else:
            self._end(found)
        return found, peer

    def entered(self, peer: Any) -> None:
        """A handshake is over."""
        self._shaking.pop(peer, None)

    def __len__(self) -> int:
        return len(self._shaking)

    def _has_room(self, address: str, now: float) -> bool:
        if len(self._shaking) >= min(self._most, self._most_of_one):
            before = len(self._shaking)
            self._shaking = {p: one for p, one in self._shaking.items() if one[0].fileno() >= 0}
            self._count_failed(before - len(self._shaking))
        of_one = [peer for peer in self._shaking if peer[0] == address]
        if len(of_one) >= self._most_of_one:
            return self._make_room(of_one[0], now)
        if len(self._shaking) >= self._most:
            return self._make_room(next(iter(self._shaking)), now)
        return True

    def _make_room(self, oldest: Any, now: float) -> bool:
        found, since = self._shaking[oldest]
        if now - since < PATIENCE_S:
            return False
        del self._shaking[oldest]
        self._end(found)
        return True

    def _end(self, found: socket.socket) -> None:
        """Its transport sees that, and closes it."""
        self.refused += 1
        self._count_failed(1)
        with contextlib.suppress(OSError):
            found.shutdown(socket.SHUT_RDWR)

    def _count_failed(self, more: int) -> None:
        self._failed += more
        if self._failed >= MOST_FAILED:
            self._failed = 0
            gc.collect()


def be_brief(loop: asyncio.AbstractEventLoop) -> None:
    """Servers of this loop that speak TLS wait `HANDSHAKE_S` for handshakes, and keep less for each connection."""
    sslproto.SSLProtocol.max_size = _BUFFER
    create = loop.create_server

    def brief(*arguments: Any, ssl: Any = None, **named: Any) -> Any:
        if ssl is not None:
            named["ssl_handshake_timeout"] = HANDSHAKE_S
        return create(*arguments, ssl=ssl, **named)

    loop.create_server = brief  # type: ignore[method-assign]
