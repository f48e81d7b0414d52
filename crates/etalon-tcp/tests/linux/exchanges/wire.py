# SPDX-License-Identifier: MIT OR Apache-2.0
"""TCP segments as bytes, and the device that they go through: the loopback device of a host of the Linux engine.

Packets to addresses that nobody has come back on that device, where the kernel ignores them and a packet socket sees them.
Packets from such an address, written to the packet socket, reach the kernel's TCP. Nothing takes time.
"""

from __future__ import annotations

import ctypes
import socket
import struct
from dataclasses import dataclass, field

FIN, SYN, RST, PSH, ACK, ECE, CWR = 1, 2, 4, 8, 16, 64, 128
LOCAL = "10.8.0.1"
PORT = 5001

SO_TIMESTAMPNS = 35
OUTGOING = 4
ECT0, CE = 2, 3


@dataclass
class Segment:
    """A TCP segment with `len` bytes of payload; sequence numbers as on the wire, `sack` as pairs of them."""

    seq: int
    ack: int = 0
    flags: int = ACK
    len: int = 0
    win: int = 0
    ecn: int = 0
    mss: int = 0
    scale: int | None = None
    sack_ok: bool = False
    ts: tuple[int, int] | None = None
    sack: list[tuple[int, int]] = field(default_factory=list)

    def options(self) -> bytes:
        """The options, padded."""
        out = b""
        if self.mss:
            out += struct.pack(">BBH", 2, 4, self.mss)
        if self.sack_ok:
            out += b"\x01\x01\x04\x02"
        if self.ts:
            out += b"\x01\x01\x08\x0a" + struct.pack(">II", self.ts[0] % 2**32, self.ts[1] % 2**32)
        if self.scale is not None:
            out += struct.pack(">BBBB", 1, 3, 3, self.scale)
        if self.sack:
            out += struct.pack(">BBBB", 1, 1, 5, 2 + 8 * len(self.sack))
            out += b"".join(struct.pack(">II", a % 2**32, b % 2**32) for a, b in self.sack)
        return out

    def packet(self, source: str, to: str, port: int) -> bytes:
        """The Ethernet frame from `source` to the kernel's `port`."""
        options = self.options()
        words = (
            PORT,
            port,
            self.seq % 2**32,
            self.ack % 2**32,
            (5 + len(options) // 4) << 4,
            self.flags,
            self.win,
        )
        tcp = struct.pack(">HHIIBBHHH", *words, 0, 0) + options
        ends = socket.inet_aton(source) + socket.inet_aton(to)
        total = len(tcp) + self.len
        pseudo = ends + struct.pack(">BBH", 0, 6, total)
        tcp = tcp[:16] + struct.pack(">H", checksum(pseudo + tcp)) + tcp[18:]
        ip = struct.pack(">BBHHHBBH", 0x45, self.ecn, 20 + total, 0, 0x4000, 64, 6, 0) + ends
        ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
        return bytes(12) + b"\x08\x00" + ip + tcp + bytes(self.len)


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    if len(data) % 2:
        data += b"\x00"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def parse(frame: bytes) -> tuple[str, str, Segment] | None:
    """Source, destination and segment of a frame; None if it has none."""
    if frame[12:14] != b"\x08\x00" or frame[23] != 6:
        return None
    ip = frame[14:]
    size = (ip[0] & 15) * 4
    (total,) = struct.unpack(">H", ip[2:4])
    source, to = socket.inet_ntoa(ip[12:16]), socket.inet_ntoa(ip[16:20])
    tcp = ip[size:total]
    seq, ack, offset, flags, win = struct.unpack(">IIBBH", tcp[4:16])
    header = (offset >> 4) * 4
    segment = Segment(seq, ack, flags, len(tcp) - header, win, ip[1] & 3)
    read_options(segment, tcp[20:header])
    return source, to, segment


def read_options(segment: Segment, options: bytes) -> None:
    """Puts a segment's options in their fields."""
    while options:
        kind = options[0]
        if kind == 0:
            return
        if kind == 1:
            options = options[1:]
            continue
        body = options[2 : options[1]]
        if kind == 2:
            (segment.mss,) = struct.unpack(">H", body)
        elif kind == 3:
            segment.scale = body[0]
        elif kind == 4:
            segment.sack_ok = True
        elif kind == 5:
            edges = struct.unpack(f">{len(body) // 4}I", body)
            segment.sack = list(zip(edges[::2], edges[1::2], strict=True))
        elif kind == 8:
            segment.ts = struct.unpack(">II", body)
        options = options[options[1] :]


class Timespec(ctypes.Structure):
    """As C has it."""

    _fields_ = (("seconds", ctypes.c_long), ("ns", ctypes.c_long))


class Pollfd(ctypes.Structure):
    """As C has it."""

    _fields_ = (("fd", ctypes.c_int), ("events", ctypes.c_short), ("found", ctypes.c_short))


class Vector(ctypes.Structure):
    """As C has it: struct iovec."""

    _fields_ = (("base", ctypes.c_char_p), ("len", ctypes.c_size_t))


class Message(ctypes.Structure):
    """As C has it: struct mmsghdr."""

    _fields_ = (
        ("name", ctypes.c_void_p),
        ("name_len", ctypes.c_uint),
        ("vector", ctypes.c_void_p),
        ("vectors", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_len", ctypes.c_size_t),
        ("flags", ctypes.c_int),
        ("sent", ctypes.c_ulong),
    )


LIBC = ctypes.CDLL(None, use_errno=True)


def wait(fd: int, ns: int) -> bool:
    """Waits until `fd` is readable, at most `ns` nanoseconds; whether it is."""
    poll = Pollfd(fd, 1, 0)
    timeout = Timespec(ns // 10**9, ns % 10**9)
    return bool(LIBC.ppoll(ctypes.byref(poll), 1, ctypes.byref(timeout), None) > 0)


class Tap:
    """The packet socket."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.bind(("lo", 3))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        for force in (32, 33):  # SO_SNDBUFFORCE, SO_RCVBUFFORCE
            self.socket.setsockopt(socket.SOL_SOCKET, force, 64 << 20)
        self.socket.setblocking(False)

    def read(self) -> list[tuple[int, str, Segment]]:
        """What the kernel has sent: when in nanoseconds of the wall clock, to whom, what."""
        found = []
        while True:
            try:
                frame, extra, _, address = self.socket.recvmsg(70_000, 64)
            except BlockingIOError:
                return found
            if address[2] != OUTGOING:
                continue
            parsed = parse(frame)
            if parsed and parsed[0] == LOCAL:
                seconds, ns = struct.unpack("qq", extra[0][2])
                found.append((seconds * 10**9 + ns, parsed[1], parsed[2]))

    def write(self, frames: list[bytes]) -> None:
        """Gives frames to the kernel, all at the same instant."""
        count = len(frames)
        vectors = (Vector * count)(*((frame, len(frame)) for frame in frames))
        messages = (Message * count)()
        for index, message in enumerate(messages):
            message.vector = ctypes.addressof(vectors) + index * ctypes.sizeof(Vector)
            message.vectors = 1
        if LIBC.sendmmsg(self.socket.fileno(), messages, count, 0) != count:
            raise OSError(ctypes.get_errno(), "sendmmsg")
