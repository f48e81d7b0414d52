# SPDX-License-Identifier: MIT OR Apache-2.0
"""A ring in which each host passes on what it receives, for tests of programs that poll: `polling.py HOW INDEX PEER`.

It prints how many nanoseconds each round took. HOW says how it waits: `sleep` blocks, `recv` receives in vain again and again,
`poll` polls first, `select` looks at the clock too, `yield` gives the processor away.
"""

from __future__ import annotations

import os
import select
import socket
import sys
import time
from contextlib import suppress

ROUNDS, BYTES = 8, 20_000


def wait(how: str, stream: socket.socket) -> None:
    """Returns when there may be something to read."""
    if how == "poll":
        poll = select.poll()
        poll.register(stream, select.POLLIN)
        while not poll.poll(0):
            pass
    elif how == "select":
        while not select.select([stream], [], [], 0)[0] and time.monotonic() > 0:
            pass
    elif how == "yield":
        os.sched_yield()


def receive(how: str, stream: socket.socket) -> None:
    """A whole message."""
    got = 0
    while got < BYTES:
        wait(how, stream)
        with suppress(BlockingIOError):
            got += len(stream.recv(BYTES - got))


def main() -> None:
    """Runs the ring: host 0 begins each round."""
    how, index, peer = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    listener = socket.create_server(("0.0.0.0", 9000))
    time.sleep(0.001)
    out = socket.create_connection((peer, 9000))
    out.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    into, _ = listener.accept()
    into.setblocking(how == "sleep")
    time.sleep(0.01)
    message = bytes(BYTES)
    for _ in range(ROUNDS):
        began = time.monotonic_ns()
        if index:
            receive(how, into)
        out.sendall(message)
        if not index:
            receive(how, into)
        print(time.monotonic_ns() - began)


if __name__ == "__main__":
    main()
