# SPDX-License-Identifier: MIT OR Apache-2.0
"""Packet captures (pcapng) after they were written: what was seen where, and the packets of one point alone."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from etalon.errors import EtalonError, PlanError

_INTERFACE, _PACKET, _IF_NAME = 1, 6, 2
"""Types of pcapng blocks, and the option with the name of an interface (draft-ietf-opsawg-pcapng)."""


def points(racks: int) -> list[str]:
    """The points of a network with so many racks at which packets can be captured."""
    return [f"tor{rack}" for rack in range(racks)]


def interfaces(at: str, racks: int) -> tuple[str, ...]:
    """The interfaces of a point: what its rack's hosts send, and what they get. Raises `PlanError` for another one."""
    found = re.fullmatch(r"tor(\d{1,5})", at)
    if found is None or int(found[1]) >= racks:
        last = f" to tor{racks - 1}" if racks > 1 else ""
        raise PlanError(f'at: there is no point "{at}"; packets are captured at tor0{last}')
    return f"{at}-in", f"{at}-out"


def count(pcapng: Path) -> dict[str, int]:
    """Packets seen at each interface of a pcapng file, by the interface's name."""
    counts: dict[str, int] = {}
    names: list[str] = []
    with pcapng.open("rb") as stream:
        for kind, _, body in _blocks(stream):
            if kind == _INTERFACE:
                names.append(_interface_name(body))
                counts[names[-1]] = 0
            elif kind == _PACKET:
                counts[names[struct.unpack_from("<I", body)[0]]] += 1
    return counts


def at_point(pcapng: Path, only: Path, wanted: tuple[str, ...]) -> None:
    """Copies the packets of these interfaces from one file to another, byte by byte and in their order."""
    kept: dict[int, int] = {}
    seen = 0
    with pcapng.open("rb") as stream, only.open("wb") as out:
        for kind, head, body in _blocks(stream):
            if kind == _INTERFACE:
                if _interface_name(body) in wanted:
                    kept[seen] = len(kept)
                    out.write(head + body)
                seen += 1
            elif kind == _PACKET:
                number = struct.unpack_from("<I", body)[0]
                if number in kept:
                    out.write(head + struct.pack("<I", kept[number]) + body[4:])
            else:
                out.write(head + body)


def _blocks(stream: IO[bytes]) -> Iterator[tuple[int, bytes, bytes]]:
    """Type, head and the rest of each block."""
    while len(head := stream.read(8)) == 8:
        kind, length = struct.unpack("<II", head)
        yield kind, head, stream.read(length - 8)


def _interface_name(body: bytes) -> str:
    at = 8  # behind link type, reserved and snapshot length
    while at + 4 <= len(body) - 4:
        code, length = struct.unpack_from("<HH", body, at)
        if code == _IF_NAME:
            return body[at + 4 : at + 4 + length].decode()
        at += 4 + length + -length % 4
    raise EtalonError("the capture has an interface without a name")
