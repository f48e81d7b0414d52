# SPDX-License-Identifier: MIT OR Apache-2.0
"""An OpenFlow 1.3 message by hand, since each probe needs one: os-ken's classes take most of a probe's time."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from etalon_otcp.entries import WHOLE
from etalon_otcp.probing import CONTROLLER_PORT

_HEADER = struct.Struct("!BBHI")
_VERSION, _PACKET_OUT = 4, 13
_OUT = struct.Struct("!IIH6x")
_OUTPUT = struct.Struct("!HHIH6x")
_NO_BUFFER = 0xFFFFFFFF


def packet_out(ports: Iterable[int], frame: bytes) -> bytes:
    """A frame to leave by ports (section 7.3.7), as if the controller's port had received it."""
    actions = b"".join(_OUTPUT.pack(0, _OUTPUT.size, port, WHOLE) for port in ports)
    body = _OUT.pack(_NO_BUFFER, CONTROLLER_PORT, len(actions)) + actions + frame
    return _HEADER.pack(_VERSION, _PACKET_OUT, _HEADER.size + len(body), 0) + body
