# SPDX-License-Identifier: MIT OR Apache-2.0
"""What happened in a part of a run: packets for Wireshark, a timeline for Perfetto."""

from __future__ import annotations

from etalon.tracing.capture import at_point, count, points
from etalon.tracing.timeline import write_timeline
from etalon.tracing.trace import PCAPNG, TIMELINE, write

__all__ = ["PCAPNG", "TIMELINE", "at_point", "count", "points", "write", "write_timeline"]
