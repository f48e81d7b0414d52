# SPDX-License-Identifier: MIT OR Apache-2.0
"""Switches of a whole network in a process of their own: they do what a packet-out says, and hand in what arrives.

It reads one line of JSON: file descriptors by switch, and for each switch and port who is there, a switch's port or the
hardware address of a host, which answers ARP.
"""

from __future__ import annotations

import json
import selectors
import socket
import struct
import sys
from typing import Any

CONTROLLER = 0xFFFFFFFD


def packet_in(number: int, frame: bytes) -> bytes:
    """The message of a switch: OpenFlow 1.3.5, section 7.4.1."""
    match = struct.pack("!HHHBBI4x", 1, 12, 0x8000, 0, 4, number)
    body = struct.pack("!IHBBQ", 0xFFFFFFFF, len(frame), 1, 0, 0) + match + b"\0\0" + frame
    return struct.pack("!BBHI", 4, 10, 8 + len(body), 0) + body


def answer(request: bytes, mac: bytes) -> bytes:
    """A host's ARP reply (RFC 826)."""
    to, sender, target = request[22:28], request[28:32], request[38:42]
    return to + mac + request[12:20] + b"\0\2" + mac + target + to + sender + bytes(18)


def leave(sockets: Any, there: Any, switch: str, message: bytes) -> None:
    """A packet-out's frame leaves by each port of its actions, and arrives."""
    actions = int.from_bytes(message[16:18], "big")
    frame = message[24 + actions :]
    for at in range(24, 24 + actions, 16):
        number = int.from_bytes(message[at + 4 : at + 8], "big")
        who = [switch, number] if number == CONTROLLER else there[switch][str(number)]
        if isinstance(who, str):
            who, arrived = [switch, number], answer(frame, bytes.fromhex(who))
        else:
            arrived = frame
        sockets[who[0]].sendall(packet_in(who[1], arrived))


def main() -> None:
    told = json.loads(sys.stdin.readline())
    sockets = {name: socket.socket(fileno=number) for name, number in told["sockets"].items()}
    there, selector = told["there"], selectors.DefaultSelector()
    for name, one in sockets.items():
        selector.register(one, selectors.EVENT_READ, (name, bytearray()))
    while selector.get_map():
        for key, _ in selector.select():
            switch, rest = key.data
            data = sockets[switch].recv(65536)
            if not data:
                selector.unregister(sockets[switch])
            rest += data
            while len(rest) >= 8 and len(rest) >= (length := int.from_bytes(rest[2:4], "big")):
                message = bytes(rest[:length])
                del rest[:length]
                if message[1] == 2:
                    sockets[switch].sendall(bytes([4, 3]) + message[2:])
                elif message[1] == 13:
                    leave(sockets, there, switch, message)


if __name__ == "__main__":
    main()
