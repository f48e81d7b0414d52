# SPDX-License-Identifier: MIT OR Apache-2.0
"""A program for emulated hosts that tells what TCP_INFO says of their sockets, as one JSON document."""

from __future__ import annotations

import argparse
import json
import math
import socket
import struct
import time
from pathlib import Path
from typing import Any

PORT = 5002
BLOCK = bytes(1 << 16)
WORDS = {"rto_us": 8, "rtt_us": 68, "snd_cwnd": 80}
"""Fields of struct tcp_info, and where they are."""


def info(sock: socket.socket) -> dict[str, int]:
    """What TCP_INFO says of a socket."""
    raw = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    return {name: struct.unpack_from("=I", raw, at)[0] for name, at in WORDS.items()}


def server(args: argparse.Namespace) -> dict[str, Any]:
    """Takes a connection, reads to its end, and sends as much."""
    with socket.create_server(("", PORT)) as listener:
        sock, _ = listener.accept()
    while sock.recv(1 << 20):
        pass
    begun, windows = info(sock), []
    for _ in range(args.blocks):
        sock.sendall(BLOCK)
        windows.append(info(sock)["snd_cwnd"])
    return {"begun": begun, "largest": max(windows)}


def client(args: argparse.Namespace) -> dict[str, Any]:
    """Connects at a time after the start, which is a full second, and sends."""
    time.sleep(math.ceil(time.monotonic() - 0.5) + args.at - time.monotonic())
    begin = time.monotonic()
    sock = socket.socket()
    sock.setblocking(False)
    sock.connect_ex((args.server, PORT))
    asked = info(sock)
    sock.settimeout(300)
    while sock.connect_ex((args.server, PORT)):
        time.sleep(0.0001)
    seconds, begun, windows = time.monotonic() - begin, info(sock), []
    for _ in range(args.blocks):
        sock.sendall(BLOCK)
        windows.append(info(sock)["snd_cwnd"])
    sock.shutdown(socket.SHUT_WR)
    while sock.recv(1 << 20):
        pass
    retries = Path("/proc/sys/net/ipv4/tcp_syn_retries").read_text()
    return {
        "asked": asked,
        "seconds": seconds,
        "begun": begun,
        "largest": max(windows),
        "retries": int(retries),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=("server", "client"))
    parser.add_argument("--server")
    parser.add_argument("--at", type=float, default=0.1, help="seconds after the start")
    parser.add_argument("--blocks", type=int, default=30)
    args = parser.parse_args()
    print(json.dumps({"server": server, "client": client}[args.role](args)))


if __name__ == "__main__":
    main()
