# SPDX-License-Identifier: MIT OR Apache-2.0
"""A ring all-reduce over plain sockets, to compare with a job: `socket_ring.py INDEX PEER RANKS BYTES ITERATIONS`.

It prints when each iteration began and ended, in nanoseconds, and whether the sums were right.
"""

from __future__ import annotations

import select
import socket
import sys
import time
from array import array

PORT = 9000


def exchange(
    out: socket.socket, into: socket.socket, message: memoryview, room: memoryview
) -> None:
    """Sends a message to the next rank while one of the same length comes from the rank before."""
    sent = got = 0
    poll = select.poll()
    while sent < len(message) or got < len(room):
        poll.register(out, select.POLLOUT if sent < len(message) else 0)
        poll.register(into, select.POLLIN if got < len(room) else 0)
        for descriptor, _ in poll.poll():
            if descriptor == out.fileno():
                sent += out.send(message[sent:])
            else:
                got += into.recv_into(room[got:])


def main() -> None:
    """Sums vectors of ones, as the algorithm "ring" of a job does."""
    index, peer, ranks, size, iterations = int(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:])
    listener = socket.create_server(("0.0.0.0", PORT))
    time.sleep(0.001)
    out = socket.create_connection((peer, PORT))
    out.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    into, _ = listener.accept()
    out.setblocking(False)
    into.setblocking(False)
    share = size // ranks
    vector = [array("b", [1]) * share for _ in range(ranks)]
    room = array("b", bytes(share))
    time.sleep(0.002)
    for _ in range(iterations):
        began = time.monotonic_ns()
        for step in range(2 * (ranks - 1)):
            reduces = step < ranks - 1
            put, take = (index - step) % ranks, (index - step - 1) % ranks
            exchange(out, into, memoryview(vector[put]), memoryview(room))
            if reduces:
                vector[take] = array("b", [vector[take][0] + room[0]]) * share
            else:
                vector[take] = array("b", room)
        ended = time.monotonic_ns()
        print(began, ended, {piece[0] for piece in vector} == {ranks}, flush=True)
        vector = [array("b", [1]) * share for _ in range(ranks)]


if __name__ == "__main__":
    main()
