# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads the packets of a trace: what entered, left and was lost, from the bytes of a pcapng file."""

from __future__ import annotations

import struct
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

ETHERNET = 14


@dataclass(frozen=True)
class Packet:
    """A TCP packet as it was seen at one place."""

    time: int  # ns
    place: str  # "tor3-in", "tor3-out" or "drops"
    src: tuple[int, int]  # rack, host
    dst: tuple[int, int]
    ports: tuple[int, int]
    seq: int
    ack: int
    flags: int
    payload: int  # bytes
    size: int  # bytes, of the Ethernet frame
    stamp: int | None  # TSval
    comment: str  # why it was dropped

    @property
    def pair(self) -> tuple[int, int]:
        return self.src[0], self.dst[0]

    @property
    def syn(self) -> bool:
        return bool(self.flags & 2)


def read(path: Path) -> list[Packet]:
    """All IPv4 TCP packets of a capture, in the order of the file."""
    data = path.read_bytes()
    places: list[str] = []
    resolution: list[int] = []
    packets = []
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        body = data[at + 8 : at + length - 4]
        if kind == 1:
            options = _options(body[8:])
            places.append(options[2].decode())
            resolution.append(options[9][0] if 9 in options else 6)
        elif kind == 6:
            interface, high, low, kept, _ = struct.unpack_from("<IIIII", body)
            assert resolution[interface] == 9, "nanoseconds"
            options = _options(body[20 + (kept + 3) // 4 * 4 :])
            comment = options.get(1, b"").decode()
            frame = body[20 : 20 + kept]
            packet = _packet(high << 32 | low, places[interface], frame, comment)
            if packet is not None:
                packets.append(packet)
        at += length
    return packets


def _options(data: bytes) -> dict[int, bytes]:
    options = {}
    while len(data) >= 4:
        code, length = struct.unpack_from("<HH", data)
        if code == 0:
            break
        options[code] = data[4 : 4 + length]
        data = data[4 + (length + 3) // 4 * 4 :]
    return options


def _packet(time: int, place: str, frame: bytes, comment: str) -> Packet | None:
    if frame[12:14] != b"\x08\x00":
        return None
    ip = frame[ETHERNET:]
    if ip[9] != 6:
        return None
    header = (ip[0] & 15) * 4
    (total,) = struct.unpack_from(">H", ip, 2)
    tcp = ip[header:]
    sport, dport, seq, ack = struct.unpack_from(">HHII", tcp)
    return Packet(
        time=time,
        place=place,
        src=_host(ip[12:16]),
        dst=_host(ip[16:20]),
        ports=(sport, dport),
        seq=seq,
        ack=ack,
        flags=tcp[13],
        payload=total - header - (tcp[12] >> 4) * 4,
        size=ETHERNET + total,
        stamp=_stamp(tcp[20 : (tcp[12] >> 4) * 4]),
        comment=comment,
    )


def _stamp(options: bytes) -> int | None:
    """TSval of the Timestamps option (RFC 7323, section 3.2)."""
    while options and options[0] != 0:
        if options[0] == 1:
            options = options[1:]
        elif options[0] == 8:
            return int.from_bytes(options[2:6], "big")
        else:
            options = options[options[1] :]
    return None


def _host(address: bytes) -> tuple[int, int]:
    """10.rack.host+1, the rack in two bytes."""
    return address[1] << 8 | address[2], address[3] - 1


def leaving(packets: list[Packet]) -> dict[tuple[int, int], list[Packet]]:
    """The packets that left the network, by rack pair, in order."""
    found = defaultdict(list)
    for packet in packets:
        if packet.place.endswith("-out"):
            found[packet.pair].append(packet)
    return found


def entering(packets: list[Packet]) -> dict[tuple[int, int], list[Packet]]:
    """The packets that entered the network, by rack pair, in order."""
    found = defaultdict(list)
    for packet in packets:
        if packet.place.endswith("-in"):
            found[packet.pair].append(packet)
    return found
