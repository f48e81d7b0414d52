# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs for emulated hosts, for the tests of TDTCP in the kernel. Each prints one JSON document when it is done."""

from __future__ import annotations

import argparse
import contextlib
import errno
import itertools
import json
import socket
import struct
import time
from pathlib import Path
from typing import Any

TCP_TDTCP, TCP_TDTCP_CC, TCP_TDTCP_INFO = 100, 101, 102
STRICT, SHARED_PIPE, ALL_RTTS, PUSH, NO_OPTIONS, PACE_BURST = (0x100 << bit for bit in range(6))
FIELDS = ("cwnd", "ssthresh", "srtt_us", "pipe", "lost", "delivered", "ca_state", "cc")
PORT = 5002
BLOCK = bytes(1 << 17)


def info(sock: socket.socket) -> dict[str, Any]:
    """TCP_TDTCP_INFO: what is known of each TDN."""
    raw = sock.getsockopt(socket.IPPROTO_TCP, TCP_TDTCP_INFO, 512)
    count, tdn = struct.unpack_from("=II", raw)
    paths = []
    for i in range(count):
        path = dict(zip(FIELDS, struct.unpack_from("=7I16s", raw, 8 + 44 * i), strict=True))
        paths.append({**path, "cc": path["cc"].rstrip(b"\0").decode()})
    return {"tdns": count, "tdn": tdn, "paths": paths}


def tcp(value: int, cc: str | None = None) -> socket.socket:
    """A TCP socket with this value of TCP_TDTCP and these congestion controls."""
    sock = socket.socket()
    sock.setsockopt(socket.IPPROTO_TCP, TCP_TDTCP, value)
    if cc:
        sock.setsockopt(socket.IPPROTO_TCP, TCP_TDTCP_CC, cc.encode())
    return sock


def server(args: argparse.Namespace) -> dict[str, Any]:
    """Takes one connection and reads to its end."""
    listener = tcp(args.value, args.cc)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("", PORT))
    listener.listen()
    sock, _ = listener.accept()
    value, received = sock.getsockopt(socket.IPPROTO_TCP, TCP_TDTCP), 0
    while block := sock.recv(1 << 20):
        received += len(block)
    return {"value": value, "received": received}


def client(args: argparse.Namespace) -> dict[str, Any]:
    """Connects and writes for some time, or until so much is written; downgrades in between, if it is to."""
    sock = tcp(args.value, args.cc)
    sock.connect((args.server, PORT))
    value = sock.getsockopt(socket.IPPROTO_TCP, TCP_TDTCP)
    begin, sent, seen, downgraded = time.monotonic(), 0, [], None
    stall, last = 0.0, begin
    while time.monotonic() - begin < args.seconds:
        sent += sock.send(BLOCK)
        stall, last = max(stall, time.monotonic() - last), time.monotonic()
        seen.append(info(sock))
        due = args.downgrade and downgraded is None and last - begin > args.downgrade
        if due:
            while args.in_recovery and not recovers(info(sock)):
                time.sleep(0.0001)
            sock.setsockopt(socket.IPPROTO_TCP, TCP_TDTCP, 0)
            downgraded = sent
    late = refusal(sock, TCP_TDTCP, 3)
    after = sock.getsockopt(socket.IPPROTO_TCP, TCP_TDTCP)
    sock.shutdown(socket.SHUT_WR)
    sock.recv(1)
    return {
        "value": value,
        "late": late,
        "after": after,
        "sent": sent,
        "sent_before_downgrade": downgraded,
        "stall": stall,
        "seconds": time.monotonic() - begin,
        "info": seen[-1],
        "used": sorted({state["tdn"] for state in seen if state["tdns"]}),
        "cwnd": [max(state["paths"][i]["cwnd"] for state in seen) for i in range(seen[-1]["tdns"])],
    }


def recovers(state: dict[str, Any]) -> bool:
    """Whether the path in use is in Recovery, with segments that are lost."""
    tdn, paths = state["tdn"], state["paths"]
    return paths[tdn]["ca_state"] == 3 and paths[tdn]["lost"] > 0


def checksum(content: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    words = struct.unpack(f">{len(content) // 2}H", content[: len(content) // 2 * 2])
    total = sum(words) + (content[-1] << 8 if len(content) % 2 else 0)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def icmp(kind: int, code: int, body: bytes) -> bytes:
    """An ICMP message."""
    message = struct.pack(">BBH", kind, code, 0) + body
    return message[:2] + struct.pack(">H", checksum(message)) + message[4:]


def notification(tdn: int, rack: int) -> bytes:
    """This TDN leads to that rack."""
    return icmp(7, 0, struct.pack(">BBH", tdn, 0, rack))


def tor(args: argparse.Namespace) -> dict[str, Any]:
    """Tells a host of each TDN in turn: `1:0.004 0:0.024` are seconds of the host's clock for which it is active."""
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    at = time.monotonic()
    for step in itertools.islice(itertools.cycle(args.steps), args.count):
        tdn, seconds = step.split(":")
        time.sleep(max(0.0, at - time.monotonic()))
        raw.sendto(notification(int(tdn), args.rack), (args.host, 0))
        at += float(seconds)
    return {"told": args.count}


def bad_notifications(args: argparse.Namespace) -> dict[str, Any]:
    """Tells a host what no ToR would."""
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    good = notification(1, 1)
    messages = [
        notification(200, args.rack),  # no such TDN
        notification(4, 0xFFFF),
        notification(1, 999),  # no such rack
        icmp(7, 0, b"\1"),  # too short, too long
        icmp(7, 0, bytes([1, 0, 0, args.rack, 9])),
        icmp(7, 1, bytes([1, 0, 0, args.rack])),  # another code
        good[:2] + b"\0\0" + good[4:],  # a bad checksum
        icmp(7, 0, b""),
    ]
    for _ in range(args.count):
        for message in messages:
            raw.sendto(message, (args.host, 0))
            time.sleep(0.001)
    return {"told": args.count * len(messages)}


def push(args: argparse.Namespace) -> dict[str, Any]:
    """A connection that is idle while the TDN changes: what it knows then, and after it has sent."""
    sock = tcp(args.value)
    sock.connect((args.server, PORT))
    seen = []
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    for tdn in (0, 1, 1, 0):
        raw.sendto(notification(tdn, 1), (args.host, 0))
        time.sleep(args.seconds)
        sock.send(b"x")
        time.sleep(args.seconds)
        seen.append(info(sock)["tdn"])
    return {"seen": seen}


def refusals(args: argparse.Namespace) -> dict[str, Any]:
    """What the socket options say to values that they do not take."""
    said = {}
    for value in (5, 0xFF, NO_OPTIONS, 2 | 0x4000, -1):
        with contextlib.closing(socket.socket()) as sock:
            said[f"{value:#x}"] = refusal(sock, TCP_TDTCP, value)
    for names in ("cubic", "cubic,cubic,cubic", "cubic,nonsense", "", ","):
        with contextlib.closing(tcp(2)) as sock:
            said[names] = refusal(sock, TCP_TDTCP_CC, names.encode())
    with contextlib.closing(socket.socket()) as sock:
        said["no TDTCP"] = refusal(sock, TCP_TDTCP_CC, b"cubic,cubic")
        said["info"] = info(sock)
    return said


def refusal(sock: socket.socket, option: int, value: int | bytes) -> str | None:
    """The error's name."""
    try:
        sock.setsockopt(socket.IPPROTO_TCP, option, value)
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return None


def bad_options(args: argparse.Namespace) -> dict[str, Any]:
    """Copies of this host's segments to a port, with other options: of kind 35, and not as they should be."""
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    options = (
        "2300",
        "2302",
        "2328200301000100",
        "230820ff01000100",
        "23041002",
        "0101010123",
        "2308f00301000100",
    )
    sent = 0
    while sent < args.count:
        packet, (_, _, kind, *_) = wire.recvfrom(65536)
        if kind != socket.PACKET_OUTGOING or packet[9] != socket.IPPROTO_TCP:
            continue
        if packet[22:24] != struct.pack(">H", PORT):
            continue
        raw.sendto(
            with_options(packet[:40], bytes.fromhex(options[sent % len(options)])), (args.server, 0)
        )
        sent += 1
    return {"sent": sent}


def bad_syns(args: argparse.Namespace) -> dict[str, Any]:
    """SYNs of nobody with options of kind 35 that are not as they should be, or name other numbers of TDNs."""
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    source, to = (socket.inet_aton(socket.gethostbyname(name)) for name in (args.host, args.server))
    options = (
        "2300",
        "2302",
        "23031002",
        "2328100200000000",
        "0101010123",
        *("23041000", "23041001", "23041005", "230410ff", "23047002"),  # numbers, and a subtype
        "2308100200000000",
        "2308200301000100",
        "2304100223041003",
    )
    for sent in range(args.count):
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 0, sent, 0, 64, 6, 0, source, to)
        header = struct.pack(">HHIIBBHHH", 50_000 + sent, PORT, 1000 * sent, 0, 0, 2, 65_535, 0, 0)
        packet = with_options(ip + header, bytes.fromhex(options[sent % len(options)]))
        raw.sendto(packet, (args.server, 0))
        time.sleep(0.0001)
    return {"sent": sent + 1}


def with_options(headers: bytes, options: bytes) -> bytes:
    """A packet of 20 bytes of IPv4, 20 bytes of TCP and these options, without data."""
    options += bytes(-len(options) % 4)
    tcp_header = (
        headers[20:32] + bytes([(20 + len(options)) << 2]) + headers[33:36] + bytes(4) + options
    )
    pseudo = headers[12:20] + struct.pack(">HH", socket.IPPROTO_TCP, len(tcp_header))
    tcp_header = (
        tcp_header[:16] + struct.pack(">H", checksum(pseudo + tcp_header)) + tcp_header[18:]
    )
    return headers[:2] + struct.pack(">H", 20 + len(tcp_header)) + headers[4:20] + tcp_header


def main() -> None:
    """One program."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=[f.__name__ for f in PROGRAMS])
    parser.add_argument("--value", type=lambda text: int(text, 0), default=0)
    parser.add_argument("--cc")
    parser.add_argument("--server", default="r1h0")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--rack", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--downgrade", type=float)
    parser.add_argument("--in-recovery", action="store_true")
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--steps", nargs="+", default=[])
    args = parser.parse_args()
    Path("/proc/sys/kernel/panic_on_warn").write_text("1")
    program = {f.__name__: f for f in PROGRAMS}[args.what]
    print(json.dumps(program(args)))


PROGRAMS = (server, client, tor, bad_notifications, bad_options, bad_syns, push, refusals)

if __name__ == "__main__":
    main()
