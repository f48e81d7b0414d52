"""The `[tcp]` table: the end hosts' stack. Times here are host time, `tdf` times as fast as the network's."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from etalon.plan.base import Table
from etalon.units import MS, SIZE, Duration, Size, Time, problem, shown

LARGEST_BUFFER = 1 << 30


def _buffer(size: int) -> int:
    if size > LARGEST_BUFFER:
        raise problem(
            f"{shown(SIZE.format(size))} is too large: a buffer is at most 1GiB (RFC 7323)"
        )
    return size


Buffer = Annotated[Size, AfterValidator(_buffer)]
"""Bytes of a socket's buffer."""


class Tcp(Table):
    """Parameters of every endpoint. The defaults are Linux's, with HZ 250."""

    hz: int = Field(default=250, strict=True, ge=10, le=10_000)
    """Timer ticks a second: the granularity of what Linux counts in jiffies."""
    initial_cwnd: int = Field(default=10, strict=True, ge=1, le=1000)
    """Initial congestion window in segments (RFC 6928)."""
    min_rto: Duration = 200 * MS
    """Smallest retransmission timeout."""
    min_delayed_ack: Time = 40 * MS
    """Smallest delay of an ACK that waits for a second segment."""
    max_delayed_ack: Time = 200 * MS
    """Largest delay of such an ACK."""
    receive_buffer: Buffer = 64 << 10
    """Receive buffer at first, in bytes of payload (Linux offers half of `tcp_rmem`, which starts at 128 KiB)."""
    max_receive_buffer: Buffer = 3 << 20
    """Largest receive buffer that autotuning goes to; none if it is not larger than `receive_buffer`."""
    sack: bool = Field(default=True, strict=True)
    """Selective acknowledgements (RFC 2018), and with them RACK-TLP (RFC 8985)."""
    timestamps: bool = Field(default=True, strict=True)
    """RFC 7323."""
    ecn: bool = Field(default=False, strict=True)
    """RFC 3168 for all flows; congestion controls that need it have it anyway."""
    pacing: bool = Field(default=False, strict=True)
    """Segments of a window are spread over the round trip."""
