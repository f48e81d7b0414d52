# SPDX-License-Identifier: MIT OR Apache-2.0
"""Where switches connect: so many connections at a time, TLS, and a time in which a switch has to say who it is.

os-ken's own server takes any number of connections, and tells nobody about certificates.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from etalon.errors import EtalonError
from etalon_otcp.channel import Channel, Reader
from etalon_otcp.config import Listen, OpenFlow
from etalon_otcp.seldom import STRANGERS

UNKNOWN_S = 10.0
"""A connection that has not told its datapath id by then is dropped."""
SPARE = 32
"""Connections besides two for each switch of the file: an old one, and the one that follows."""


class Connection:
    """A connection, which may become a switch's; `names` are those of its certificate, None without."""

    def __init__(self, at: socket.socket, address: str) -> None:
        self.socket = at
        self.address = address
        self.since = time.monotonic()
        self.names: frozenset[str] | None = None
        self.datapath: Any = None

    @property
    def is_known(self) -> bool:
        """Whether it has said whose it is, and is that switch's: anybody can name a switch that nobody knows."""
        return self.datapath is not None and self.datapath.taker is not None

    def drop(self) -> None:
        """Ends it: its threads see that, and close it."""
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self.socket, socket.SHUT_RDWR)  # TLS stays for who reads

    def close(self) -> None:
        """Once nobody serves it any more."""
        self.drop()
        with contextlib.suppress(OSError):
            self.socket.close()


class Listening:
    """Accepts switches at a bound socket, which is os-ken's to run.

    Raises:
        EtalonError: if certificate, key or CA cannot be used.
    """

    def __init__(self, at: socket.socket, listen: OpenFlow, switches: int) -> None:
        self._at = at
        self._most = 2 * switches + SPARE
        self._context = context(listen)
        self._connections: set[Connection] = set()
        self._lock = threading.Lock()
        self._reader = Reader()
        self.refused = 0
        """Connections that were too many, or did not say who they are."""

    def __call__(self) -> None:
        """Accepts until the socket is closed."""
        threading.Thread(target=self._tidy, daemon=True, name="strangers").start()
        while True:
            try:
                found, address = self._at.accept()
            except OSError as error:  # out of descriptors: others may go meanwhile
                if self._at.fileno() < 0:
                    return
                STRANGERS.warn("a switch cannot be let in: %s", error)
                time.sleep(0.1)
                continue
            connection = Connection(found, address[0])
            if not self._enter(connection):
                connection.close()
                continue
            serving = threading.Thread(target=self._serve, args=(connection, address), daemon=True)
            try:
                serving.start()
            except RuntimeError as error:  # no more threads
                STRANGERS.warn("a switch cannot be let in: %s", error)
                with self._lock:
                    self._connections.discard(connection)
                connection.close()
                time.sleep(0.1)

    def __len__(self) -> int:
        return len(self._connections)

    def _enter(self, connection: Connection) -> bool:
        """Whether it may stay. One that nobody knows has to go for it: the oldest of the address that has most of these, so
        that who comes from one address in a flood crowds out no switch that is about to say who it is."""
        with self._lock:
            if len(self._connections) >= self._most:
                self.refused += 1
                unknown = [one for one in self._connections if not one.is_known]
                if not unknown:
                    return False
                crowds = Counter(one.address for one in unknown)
                oldest = min(unknown, key=lambda one: (-crowds[one.address], one.since))
                self._connections.discard(oldest)
                oldest.drop()
            self._connections.add(connection)
            return True

    def _tidy(self) -> None:
        while True:
            time.sleep(1)
            now = time.monotonic()
            with self._lock:
                late = [
                    one
                    for one in self._connections
                    if not one.is_known and now - one.since > UNKNOWN_S
                ]
                self._connections.difference_update(late)
                self.refused += len(late)
            for one in late:
                one.drop()

    def _serve(self, connection: Connection, address: Any) -> None:
        with self._counted(connection):
            if self._context:
                try:
                    if not self._shake_hands(connection, self._context):
                        return
                except (OSError, ValueError) as error:
                    STRANGERS.warn("%s: no TLS: %s", address[0], error)
                    return
            with contextlib.closing(Channel(connection.socket, address, self._reader)) as datapath:
                connection.datapath = datapath
                datapath.names = connection.names
                try:
                    datapath.serve()
                except Exception as error:
                    STRANGERS.warn("the connection of %s has failed: %r", address[0], error)

    def _shake_hands(self, connection: Connection, context: ssl.SSLContext) -> bool:
        """TLS's handshake, which `Connection.drop` ends; False if it had to go before.

        Raises:
            OSError, ValueError: if it fails.
        """
        with self._lock:
            if connection not in self._connections:
                return False
            connection.socket.settimeout(UNKNOWN_S)
            wrapped = context.wrap_socket(
                connection.socket, server_side=True, do_handshake_on_connect=False
            )
            connection.socket = wrapped  # the other one is empty now, and could not be shut down
        wrapped.do_handshake()
        if context.verify_mode == ssl.CERT_REQUIRED:
            connection.names = frozenset(names_of(wrapped.getpeercert() or {}))
        return True

    @contextlib.contextmanager
    def _counted(self, connection: Connection) -> Iterator[None]:
        try:
            yield
        finally:
            with self._lock:
                self._connections.discard(connection)
            connection.close()


def names_of(certificate: Any) -> Iterator[str]:
    """The names that a certificate gives its owner: common name, and DNS names (`ssl.SSLSocket.getpeercert`)."""
    for part in certificate.get("subject", ()):
        for key, value in part:
            if key == "commonName":
                yield value
    for kind, value in certificate.get("subjectAltName", ()):
        if kind == "DNS":
            yield value


def context(listen: Listen) -> ssl.SSLContext | None:
    """How to speak TLS there; None for plain text.

    Raises:
        EtalonError: if certificate, key or CA cannot be used.
    """
    if listen.certificate is None or listen.key is None:
        return None
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        made.load_cert_chain(listen.certificate, listen.key)
        if listen.client_ca:
            made.load_verify_locations(listen.client_ca)
            made.verify_mode = ssl.CERT_REQUIRED
    except (OSError, ssl.SSLError) as error:
        raise EtalonError(f"TLS with {listen.certificate}, {listen.key}: {error}") from None
    return made
