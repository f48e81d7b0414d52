# SPDX-License-Identifier: MIT OR Apache-2.0
"""Serves the API in a thread, over TLS if there is a certificate; a client that does not read or ask is dropped."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import threading
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from etalon.errors import EtalonError
from etalon_otcp.api.app import make
from etalon_otcp.api.door import MOST_SHAKING, Door, Patient, be_brief
from etalon_otcp.api.limits import Connections
from etalon_otcp.api.service import Service
from etalon_otcp.config import Listen
from etalon_otcp.seldom import STRANGERS

for _name in ("uvicorn.error", "asyncio"):  # they warn of each request that is no HTTP
    logging.getLogger(_name).addFilter(STRANGERS)
SLOW_S = 10.0
"""A connection that takes nothing for so long, or has not asked all of a request by then, is dropped."""
MOST_HEADERS = 16 * 1024
"""Bytes of a request's head."""


BUSY = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 5\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
"""What a connection too many is told."""


class Guarded(H11Protocol):
    """HTTP that drops who is slow: to ask, from the first byte of each request on, or to read."""

    counted: Connections
    """All of this server."""
    door: Door | None = None
    """Where it came in, if it had to speak TLS first."""
    has_entered = False
    _from: str | None = None
    """The address of a connection that is counted."""
    _slow: asyncio.TimerHandle | None = None
    _asking: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        peer = transport.get_extra_info("peername") or ("",)
        address = peer[0]
        if self.door is not None:
            self.door.entered(peer)
        if not self.counted.enter(address):
            transport.write(BUSY)
            transport.close()
            transport.set_protocol(asyncio.Protocol())
            return
        self.has_entered, self._from = True, address
        super().connection_made(transport)
        self._count()
        self._await_request()
        raw = transport.get_extra_info("socket")
        if raw is not None and hasattr(socket, "TCP_USER_TIMEOUT"):
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(SLOW_S * 1000))
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        answering = self.cycle
        if answering is None or answering.response_complete:
            self._await_request()
        super().data_received(data)
        if self.cycle is not answering:  # a request is whole
            self._cancel()
            self._count()

    def on_response_complete(self) -> None:
        self._count()
        super().on_response_complete()
        self._count()  # the next request may have come already

    def _count(self) -> None:
        """Whether it is idle, for those who need its place."""
        if self._from is not None:
            is_idle = self.cycle is None or self.cycle.response_complete
            (self.counted.idle if is_idle else self.counted.busy)(self, self._from)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.has_entered:
            self._leave()
            super().connection_lost(exc)

    def give_up(self) -> None:
        """Makes room for another connection."""
        self._leave()
        self.transport.abort()

    def _leave(self) -> None:
        address, self._from = self._from, None
        if address is not None:
            self.counted.busy(self, address)
            self.counted.leave(address)
            self._cancel()
            if self._slow:
                self._slow.cancel()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._slow = self.loop.call_later(SLOW_S, self._drop)

    def resume_writing(self) -> None:
        if self._slow:
            self._slow.cancel()
        super().resume_writing()

    def _await_request(self) -> None:
        """Gives the client so long for all of its next request, however often it sends a byte of it."""
        if self._asking is None:
            self._asking = self.loop.call_later(SLOW_S, self._drop)

    def _cancel(self) -> None:
        if self._asking:
            self._asking.cancel()
            self._asking = None

    def _drop(self) -> None:
        STRANGERS.warn(
            "%s is too slow and was dropped", self.client[0] if self.client else "somebody"
        )
        self.transport.abort()


def bind(listen: Listen) -> socket.socket:
    """A socket at the address.

    Raises:
        EtalonError: if it cannot be taken.
    """
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    try:
        return socket.create_server((listen.host, listen.port), family=family, backlog=1024)
    except OSError as error:
        raise EtalonError(f"cannot listen at {listen.listen}: {error.strerror}") from None


def start(service: Service, at: socket.socket) -> Callable[[], None]:
    """Serves at a socket; returns what stops it.

    Raises:
        EtalonError: if certificate, key or CA cannot be used.
    """
    listen = service.controller.config.api
    most = min(MOST_SHAKING, max(1, service.connections.most // 4))
    door = Door(at, most, listen.connections_of_one) if listen.certificate else None
    entrance = Patient(at) if door is None else door
    config = uvicorn.Config(
        make(service),
        http=type("Http", (Guarded,), {"counted": service.connections, "door": door}),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        h11_max_incomplete_event_size=MOST_HEADERS,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=2,
        ssl_certfile=listen.certificate,
        ssl_keyfile=listen.key,
        ssl_ca_certs=str(listen.client_ca) if listen.client_ca else None,
        ssl_cert_reqs=ssl.CERT_REQUIRED if listen.client_ca else ssl.CERT_NONE,
    )
    try:
        config.load()
    except (OSError, ssl.SSLError) as error:
        raise EtalonError(f"TLS with {listen.certificate}, {listen.key}: {error}") from None
    server = uvicorn.Server(config)

    async def serve() -> None:
        service.hub.attach(asyncio.get_running_loop())
        be_brief(asyncio.get_running_loop())
        await server.serve(sockets=[entrance])

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="api", daemon=True)
    thread.start()

    def stop() -> None:
        server.should_exit = True
        service.hub.close()
        thread.join(5)

    return stop
