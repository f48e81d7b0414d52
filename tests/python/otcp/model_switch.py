# SPDX-License-Identifier: MIT OR Apache-2.0
"""A switch that is only a connection: it says who it is and which ports it has, and answers echoes while it may."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress

HELLO, ECHO_REPLY, ECHO_REQUEST = 0, 3, 2
FEATURES_REQUEST, FEATURES_REPLY = 5, 6
MULTIPART_REQUEST, MULTIPART_REPLY, PORT_DESC = 18, 19, 13
QUEUES_REQUEST, QUEUES_REPLY = 22, 23


def message(kind: int, body: bytes = b"", transaction: int = 0) -> bytes:
    """OpenFlow 1.3.5, section 7.1."""
    return struct.pack("!BBHI", 4, kind, 8 + len(body), transaction) + body


def port(number: int, name: bytes = b"p") -> bytes:
    """A port's description, up, of 1 Gb/s (section 7.2.1)."""
    rates = (0, 0, 0, 0, 0, 0, 10**6, 10**6)
    return struct.pack("!I4x6s2x16s8I", number, b"\2\0" + number.to_bytes(4, "big"), name, *rates)


class ModelSwitch:
    """`answers` says whether it answers echoes; it closes at the end of a `with`. `address` is where it connects from."""

    def __init__(self, to: int, dpid: int, ports: int = 2, address: str = "127.0.0.1") -> None:
        self.dpid, self.ports, self.answers = dpid, ports, True
        self.socket = socket.create_connection(("127.0.0.1", to), source_address=(address, 0))
        self.peer = "{}:{}".format(*self.socket.getsockname())
        self.has_ended = threading.Event()
        self._saying = threading.Lock()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __enter__(self) -> ModelSwitch:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(20)
        self.socket.close()

    def say(self, data: bytes) -> None:
        """Sends bytes as they are, from any thread."""
        with self._saying:
            self.socket.sendall(data)

    def _run(self) -> None:
        rest = bytearray()
        with suppress(OSError):
            self.say(message(HELLO))
            while data := self.socket.recv(65536):
                rest += data
                while len(rest) >= 8 and len(rest) >= (length := int.from_bytes(rest[2:4], "big")):
                    self._take(bytes(rest[:length]))
                    del rest[:length]
        self.has_ended.set()

    def _take(self, asked: bytes) -> None:
        kind, transaction, body = asked[1], int.from_bytes(asked[4:8], "big"), asked[8:]
        if kind == ECHO_REQUEST and self.answers:
            self.say(message(ECHO_REPLY, body, transaction))
        elif kind == FEATURES_REQUEST:
            features = struct.pack("!QIBB10x", self.dpid, 0, 254, 0)
            self.say(message(FEATURES_REPLY, features, transaction))
        elif kind == MULTIPART_REQUEST:
            what = int.from_bytes(body[:2], "big")
            found = b"".join(map(port, range(1, self.ports + 1))) if what == PORT_DESC else b""
            self.say(message(MULTIPART_REPLY, struct.pack("!HH4x", what, 0) + found, transaction))
        elif kind == QUEUES_REQUEST:
            self.say(message(QUEUES_REPLY, struct.pack("!I4x", 0xFFFFFFFF), transaction))
