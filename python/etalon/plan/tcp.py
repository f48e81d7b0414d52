"""The `[tcp]` table: the end hosts' stack. Times here are host time, `tdf` times as fast as the network's."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from etalon.plan.base import Table
from etalon.units import MS, SIZE, Duration, Size, Time, problem, shown

LARGEST_BUFFER = 1 << 30
FIRST_SEND_BUFFER = 16 << 10
MAX_SEND_BUFFER = 4 << 20
"""What Linux sets `tcp_wmem` to."""

Window = Annotated[int, Field(strict=True, ge=1, le=65535)]
"""A congestion window in segments."""


def _buffer(size: int) -> int:
    if size > LARGEST_BUFFER:
        raise problem(
            f"{shown(SIZE.format(size))} is too large: a buffer is at most 1GiB (RFC 7323)"
        )
    return size


Buffer = Annotated[Size, AfterValidator(_buffer)]
"""Bytes of a socket's buffer."""


def _send_buffer(size: int) -> int:
    if size < FIRST_SEND_BUFFER:
        raise problem(
            f"{shown(SIZE.format(size))} is too small: a send buffer has at least 16KiB (tcp_wmem)"
        )
    return size


SendBuffer = Annotated[Buffer, AfterValidator(_send_buffer)]
"""Bytes of a socket's send buffer."""


class TcpPath(Table):
    """Parameters that differ by how far apart two hosts are in a network of switches; what is left out is that of `[tcp]`, or
    OTCP's."""

    layer: Literal["rack", "pod", "core", "spine"]
    """Between hosts of one rack; of a tree's pod, or of two pods; of two racks of a leaf-spine network."""
    min_rto: Duration | None = None
    """Smallest retransmission timeout."""
    initial_rto: Duration | None = None
    """Retransmission timeout before the first sample of the RTT."""
    initial_cwnd: Window | None = None
    """Initial congestion window in segments."""
    max_cwnd: Window | None = None
    """Largest congestion window in segments."""


class Tcp(Table):
    """Parameters of every endpoint. The defaults are Linux's, with HZ 250."""

    hz: int = Field(default=250, strict=True, ge=10, le=10_000)
    """Timer ticks a second: the granularity of what Linux counts in jiffies."""
    initial_cwnd: int = Field(default=10, strict=True, ge=1, le=1000)
    """Initial congestion window in segments (RFC 6928)."""
    min_rto: Duration = 200 * MS
    """Smallest retransmission timeout."""
    initial_rto: Duration | None = None
    """Retransmission timeout before the first sample of the RTT; without it, 1s (RFC 6298)."""
    max_cwnd: Window | None = None
    """Largest congestion window in segments; without it, there is no bound."""
    path: tuple[TcpPath, ...] = ()
    """Parameters by how far apart two hosts are, in a tree or a leaf-spine network."""
    otcp: bool = Field(default=False, strict=True)
    """OTCP (CNSM'16): the four parameters of a path follow, layer by layer, from the network's delays, rates and queues, by the
    equations of the controller (`etalon otcp`). What `[[tcp.path]]` says goes before."""
    otcp_alpha: int = Field(default=100, strict=True, ge=1, le=65535)
    """Flows that OTCP expects to start together: they share the largest window as their initial ones."""
    min_delayed_ack: Time = 40 * MS
    """Smallest delay of an ACK that waits for a second segment."""
    max_delayed_ack: Time = 200 * MS
    """Largest delay of such an ACK."""
    receive_buffer: Buffer = 64 << 10
    """Receive buffer at first, in bytes of payload (Linux offers half of `tcp_rmem`, which starts at 128 KiB)."""
    max_receive_buffer: Buffer = 3 << 20
    """Largest receive buffer that autotuning goes to; none if it is not larger than `receive_buffer`."""
    max_send_buffer: SendBuffer | None = None
    """Memory that a socket's send buffer grows to at most (`tcp_wmem`), for what a program has written and is not acknowledged;
    without it, twice `max_receive_buffer` and at least 4 MiB, Linux's own bound, so that it does not hold a sender back
    before its receiver does. On the simulator it bounds what hosts announce of demand, and not what they have in flight."""
    sack: bool = Field(default=True, strict=True)
    """Selective acknowledgements (RFC 2018), and with them RACK-TLP (RFC 8985)."""
    timestamps: bool = Field(default=True, strict=True)
    """RFC 7323."""
    ecn: bool = Field(default=False, strict=True)
    """RFC 3168 for all flows; congestion controls that need it have it anyway."""
    pacing: bool = Field(default=False, strict=True)
    """Segments of a window are spread over the round trip."""
    tso_win_divisor: int = Field(default=3, strict=True, ge=0, le=1000)
    """TSO deferral: segments wait while less than this part of the window is free and an ACK is expected within a millisecond
    and half a round trip (Linux's `tcp_tso_win_divisor`; 0: while fewer than four segments fit). 100 switches it off."""
