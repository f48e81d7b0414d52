# SPDX-License-Identifier: MIT OR Apache-2.0
"""A connection's messages that wait for its thread, and in which order and how fast it handles them.

A switch may take a share of a processor. Beyond that its messages wait, and its socket fills; but what only tells of an
instant is dropped, and of what tells how something is, only the newest is kept. So a port that is down is known soon, however
much else its switch says.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable

from etalon_otcp.floods import Share
from etalon_otcp.lengths import ERROR, MULTIPART_REPLY, PORT_STATUS
from etalon_otcp.messages import ECHO_REPLY, ECHO_REQUEST, PACKET_IN
from etalon_otcp.topology import MOST_PORTS

SHARE, BURST_S = 0.1, 1.0
"""Of a processor, for the messages of one switch. The burst is enough for port-status of 4,000 ports."""
_OF_AN_INSTANT = {ERROR: "error", PACKET_IN: "packet-in"}
_NEWEST = {PORT_STATUS: "port-status", ECHO_REQUEST: "echo", ECHO_REPLY: "echo"}
_PORT_AT = slice(16, 20)
"""A port's number in port-status (section 7.4.3)."""


class Inbox:
    """`dropped` is told the kind of each message that is dropped; `late` that messages wait."""

    def __init__(
        self,
        dropped: Callable[[str], None],
        late: Callable[[], None],
        share: Share | None = None,
    ) -> None:
        self._dropped, self._late = dropped, late
        self._share = share or Share(SHARE, BURST_S)
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._newest: dict[bytes, bytes] = {}
        self._put = self._got = 0  # bytes; each has one thread that counts
        self.are_replies_free = False
        """Whether replies in parts cost nothing, as the controller has asked for them."""

    def put(self, message: bytes | None) -> None:
        """Takes a message; None ends it."""
        if message is not None:
            self._put += len(message)
        self._queue.put(message)

    @property
    def waiting(self) -> int:
        """Bytes that are not handled yet."""
        return self._put - self._got

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits, not even its end."""
        return self._queue.empty() and not self._newest

    @property
    def is_over(self) -> bool:
        """Whether the switch has taken more of a processor than it may."""
        return self._share.wait_s() > 0

    def handle(self, handler: Callable[[bytes], None], patience_s: float) -> bool:
        """Has the next messages handled, or waits so long for one; whether there may be more."""
        wait_s = self._share.wait_s()
        if self._newest and not wait_s:
            self._spend(handler, self._newest.pop(next(iter(self._newest))))
        patience_s = min(patience_s, wait_s or 0.0) if self._newest else patience_s
        try:
            message = self._queue.get(timeout=patience_s) if patience_s else self._queue.get(False)
        except queue.Empty:
            return True
        if message is None:
            return False
        wait_s = 0.0 if self._is_free(message) else self._share.wait_s()
        if not (self._is_put_off(message) if wait_s else self._is_older(message)):
            if wait_s:
                self._late()
                time.sleep(wait_s)
            self._spend(handler, message)
        self._got += len(message)
        return True

    def _spend(self, handler: Callable[[bytes], None], message: bytes) -> None:
        if self._is_free(message):
            handler(message)
            return
        began = time.thread_time()
        handler(message)
        self._share.spend(time.thread_time() - began)

    def _is_free(self, message: bytes) -> bool:
        return self.are_replies_free and message[1] == MULTIPART_REPLY

    def _is_older(self, message: bytes) -> bool:
        """Puts a message in the place of one like it that waits, so that none overtakes another; whether there was one."""
        key = _key(message)
        if key not in self._newest:
            return False
        self._newest[key] = message
        self._dropped(_NEWEST[message[1]])
        return True

    def _is_put_off(self, message: bytes) -> bool:
        """Whether a message needs no handling for now, or never."""
        kind = message[1]
        if kind in _OF_AN_INSTANT:
            self._dropped(_OF_AN_INSTANT[kind])
            return True
        if kind not in _NEWEST:
            return False
        if not self._is_older(message):
            if len(self._newest) > MOST_PORTS:
                self._dropped(_NEWEST[kind])
            else:
                self._newest[_key(message)] = message
        return True


def _key(message: bytes) -> bytes:
    """The same for messages of which only the newest counts."""
    kind = message[1:2]
    return kind + message[_PORT_AT] if kind[0] == PORT_STATUS else kind
