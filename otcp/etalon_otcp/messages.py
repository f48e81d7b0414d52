# SPDX-License-Identifier: MIT OR Apache-2.0
"""Two OpenFlow 1.3 messages by hand, of which there is one for each probe: os-ken's classes take most of a probe's time."""

from __future__ import annotations

import struct
from collections.abc import Iterable

_HEADER = struct.Struct("!BBHI")
_VERSION, _PACKET_OUT = 4, 13
_OUT = struct.Struct("!IIH6x")
_OUTPUT = struct.Struct("!HHIH6x")
_NO_BUFFER, _CONTROLLER, _WHOLE = 0xFFFFFFFF, 0xFFFFFFFD, 0xFFFF


def packet_out(ports: Iterable[int], frame: bytes) -> bytes:
    """A frame to leave by ports (section 7.3.7), as if the controller's port had received it."""
    actions = b"".join(_OUTPUT.pack(0, _OUTPUT.size, port, _WHOLE) for port in ports)
    body = _OUT.pack(_NO_BUFFER, _CONTROLLER, len(actions)) + actions + frame
    return _HEADER.pack(_VERSION, _PACKET_OUT, _HEADER.size + len(body), 0) + body
