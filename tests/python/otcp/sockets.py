# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sockets of the tests."""

from __future__ import annotations

import socket


def is_open(far: socket.socket) -> bool:
    """Whether the other end has not closed a connection."""
    far.settimeout(0.05)
    try:
        return far.recv(1) != b""
    except TimeoutError:
        return True
    except OSError:
        return False


def keep_port() -> socket.socket:
    """A socket whose port another process may listen at: the system gives it to nobody else while this one is open.

    Both have SO_REUSEADDR, and this one never listens (socket(7)).
    """
    kept = socket.socket()
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    kept.bind(("127.0.0.1", 0))
    return kept
