# SPDX-License-Identifier: MIT OR Apache-2.0
"""A connection's messages that wait for its thread, and in which order and how fast it handles them.

A switch may take a share of a processor. Beyond that its messages wait, and its socket fills; but what only tells of an
instant is dropped, and of what tells how something is, only the newest is kept. So a port that is down is known soon, however
much else its switch says.
"""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable, Iterable

from etalon_otcp.floods import Budget
from etalon_otcp.lengths import ERROR, MULTIPART_REPLY, PORT_STATUS
from etalon_otcp.messages import ECHO_REPLY, ECHO_REQUEST, PACKET_IN
from etalon_otcp.topology import MOST_PORTS

SHARE, BURST_S = 0.1, 1.0
"""Of a processor, for the messages of one switch. The burst is enough for news of 4,000 ports."""
ASKED_S = 5.0
"""Of a processor, once, for what a switch is asked when it connects."""
CHANGES_PER_S, LEAST_CHANGES = 50, 100
"""Of a switch's ports, each of which may have the controller compute; a burst is twice the ports, but so many at least."""
_OF_AN_INSTANT = {ERROR: "error", PACKET_IN: "packet-in"}
_NEWEST = {PORT_STATUS: "port-status", ECHO_REQUEST: "echo", ECHO_REPLY: "echo"}
_ECHOES = bytes([ECHO_REQUEST]), bytes([ECHO_REPLY])
_PORT_AT = slice(16, 20)
"""A port's number in port-status (section 7.4.3)."""


class Inbox:
    """Between the thread that reads and the one that handles. `dropped` is told the kind of each message that is dropped,
    `late` that messages wait."""

    def __init__(
        self,
        dropped: Callable[[str], None],
        late: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._dropped, self._late, self._clock, self._sleep = dropped, late, clock, sleep
        self._share = Budget(SHARE, BURST_S, clock)
        self._changes = Budget(CHANGES_PER_S, LEAST_CHANGES, clock)
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._newest: dict[bytes, tuple[bytes, bool]] = {}
        """Put off, and handled when nothing is in the queue, or in turn with what waits there; whether it is newer than all
        there."""
        self._past: dict[bytes, int] = {}
        """Of what was handled before the queue's: up to which byte the queue has older ones, which count no more."""
        self._is_turn = False
        self._lock = threading.Lock()
        self._put = self._got = 0  # bytes in the queue; each has one thread that counts
        self.put_off = 0
        """Bytes of the queue that were dropped or put off all the same: whoever reads is to read less."""
        self.free_replies_s = 0.0
        """Of a processor, for replies in parts, as the controller has asked for them; beyond it they are as other messages."""

    def told(self, ports: int, are_replies_free: bool) -> None:
        """A switch has told how many ports it has; whether more replies will be asked for."""
        self._changes = Budget(CHANGES_PER_S, max(LEAST_CHANGES, 2 * ports), self._clock)
        self.free_replies_s = math.inf if are_replies_free else 0.0

    def put(self, message: bytes) -> bool:
        """Takes a message; False if it is dropped, or put off."""
        if self._is_put_off(message, True):
            return False
        self._put += len(message)
        self._queue.put(message)
        return True

    def end(self) -> None:
        """There are no more messages."""
        self._queue.put(None)

    @property
    def waiting(self) -> int:
        """Bytes that are not handled yet."""
        return self._put - self._got

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits, not even its end."""
        return self._queue.empty() and not self._newest

    def handle(self, handler: Callable[[bytes], None], patience_s: float) -> bool:
        """Has the next message handled, or waits so long for one; whether there may be more."""
        message: bytes | None
        if self._is_turn:
            self._is_turn = False
            if (found := self._pop()) is not None:
                self._spend(handler, found)
                return True
        try:
            message = self._next(patience_s)
        except queue.Empty:
            if (found := self._pop()) is not None:
                self._spend(handler, found)
            return True
        if message is None:
            return False
        if not self._is_put_off(message, False):
            if wait_s := self._wait_s(message):
                self._late()
                self._sleep(wait_s)
                # A switch may see to it that the queue is never empty
                if (found := self._pop()) is not None:
                    self._spend(handler, found)
            self._is_turn = self._is_free(message)
            self._spend(handler, message)
        else:
            self.put_off += len(message)
        self._got += len(message)
        return True

    def _next(self, patience_s: float) -> bytes | None:
        """Raises queue.Empty if nothing comes, or if it is time for what was put off."""
        if over_s := max(self._share.wait_s(), self._changes.wait_s()):
            patience_s = min(patience_s, over_s)
        elif self._newest:
            patience_s = 0.0
        return self._queue.get(timeout=patience_s) if patience_s else self._queue.get(False)

    def _pop(self) -> bytes | None:
        """The first of what was put off, if it may be handled."""
        if not self._newest or self._share.wait_s():
            return None
        with self._lock:
            of: Iterable[bytes] = _ECHOES if self._changes.wait_s() else self._newest
            key = next((one for one in of if one in self._newest), None)
            if key is None:
                return None
            message, is_new = self._newest.pop(key)
            for old in [one for one, until in self._past.items() if until <= self._got]:
                del self._past[old]
            if is_new and self._put > self._got:
                self._past[key] = self._put
        return message

    def _wait_s(self, message: bytes) -> float:
        if self._is_free(message):
            return 0.0
        of_changes = self._changes.wait_s() if message[1] == PORT_STATUS else 0.0
        return max(self._share.wait_s(), of_changes)

    def _spend(self, handler: Callable[[bytes], None], message: bytes) -> None:
        is_free, began = self._is_free(message), time.thread_time()
        handler(message)
        spent_s = time.thread_time() - began
        if is_free:
            self.free_replies_s -= spent_s
            return
        self._share.spend(spent_s)
        if message[1] == PORT_STATUS:
            self._changes.spend(1)

    def _is_free(self, message: bytes) -> bool:
        return self.free_replies_s > 0 and message[1] == MULTIPART_REPLY

    def _is_put_off(self, message: bytes, is_new: bool) -> bool:
        """Drops or puts off a message beyond the budgets, new or of the queue; of those alike the newest stays."""
        kind = message[1]
        if kind in _OF_AN_INSTANT:
            if not self._wait_s(message):
                return False
            self._dropped(_OF_AN_INSTANT[kind])
            return True
        if kind not in _NEWEST:
            return False
        key = _key(message)
        with self._lock:
            if not is_new and self._got < self._past.get(key, 0):
                self._dropped(_NEWEST[kind])
                return True
            before = self._newest.get(key)
            if before is None and not self._wait_s(message):
                return False
            is_full = before is None and len(self._newest) > MOST_PORTS
            if not is_full and (is_new or before is None or not before[1]):
                self._newest[key] = message, is_new
        if before or is_full:
            self._dropped(_NEWEST[kind])
        return True


def _key(message: bytes) -> bytes:
    """The same for messages of which only the newest counts."""
    kind = message[1:2]
    return kind + message[_PORT_AT] if kind[0] == PORT_STATUS else kind
