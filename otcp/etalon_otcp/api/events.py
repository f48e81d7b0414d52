# SPDX-License-Identifier: MIT OR Apache-2.0
"""Server-sent events: each host's newest document, pushed when it changes.

A listener has at most one document waiting, the newest: what changes faster than it reads is put together.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Callable

from etalon_otcp.publication import Document

MOST_STREAMS = 2
"""Of a host; a third one closes the oldest."""
ALIVE_S = 5.0


class Stream:
    """One listener."""

    def __init__(self) -> None:
        self.news = asyncio.Event()
        self.closed = False

    def close(self) -> None:
        """Ends it at its next turn."""
        self.closed = True
        self.news.set()


class Hub:
    """All listeners. Used in the event loop's thread, but for `wake`."""

    def __init__(self) -> None:
        self._streams: dict[str, list[Stream]] = defaultdict(list)
        self._loop: asyncio.AbstractEventLoop | None = None
        self.opened = self.displaced = self.pushed = 0

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """The loop that listeners are served in."""
        self._loop = loop

    def wake(self, hosts: set[str]) -> None:
        """From any thread: these hosts' documents have changed."""
        if self._loop and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake, hosts)

    def close(self) -> None:
        """Ends all streams."""
        for streams in self._streams.values():
            for stream in streams:
                stream.close()

    def count(self) -> int:
        """Listeners that are there."""
        return sum(map(len, self._streams.values()))

    def _wake(self, hosts: set[str]) -> None:
        for host in hosts:
            for stream in self._streams.get(host, ()):
                stream.news.set()

    def open(self, host: str) -> Stream:
        """A new listener for a host's document."""
        streams, stream = self._streams[host], Stream()
        if len(streams) >= MOST_STREAMS:
            streams.pop(0).close()
            self.displaced += 1
        streams.append(stream)
        self.opened += 1
        return stream

    def leave(self, host: str, stream: Stream) -> None:
        """A listener is gone."""
        if stream in self._streams[host]:
            self._streams[host].remove(stream)
        if not self._streams[host]:
            del self._streams[host]

    async def listen(
        self,
        host: str,
        newest: Callable[[], Document | None],
        last_id: str,
        allowed: Callable[[], bool],
    ) -> AsyncIterator[str]:
        """A stream's text. `last_id` is what the listener has; `allowed` says whether it may go on."""
        stream = self.open(host)
        try:
            first = True
            while not stream.closed and allowed():
                document = newest()
                if document is None:
                    yield ": no routes yet\n\n"
                elif document.id != last_id:
                    last_id = document.id
                    self.pushed += 1
                    yield f"id: {document.id}\nevent: routes\ndata: {document.to_json()}\n\n"
                elif first or not stream.news.is_set():
                    order = {"epoch": document.epoch, "version": document.version}
                    data = json.dumps(order, separators=(",", ":"))
                    yield f"id: {document.id}\nevent: alive\ndata: {data}\n\n"
                first = False
                await _news(stream, document.lifetime_s / 4 if document else ALIVE_S)
        finally:
            self.leave(host, stream)


async def _news(stream: Stream, quarter_s: float) -> None:
    """Until there is news, or it is time to say that we are alive."""
    try:
        await asyncio.wait_for(stream.news.wait(), min(ALIVE_S, quarter_s))
    except TimeoutError:
        return
    if not stream.closed:
        stream.news.clear()
