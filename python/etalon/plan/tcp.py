# SPDX-License-Identifier: MIT OR Apache-2.0
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
    """"rack": between hosts of one rack; "pod", "core": of one pod or of two pods of a tree; "spine": of two racks of a
    leaf-spine network."""
    min_rto: Duration | None = None
    """Smallest retransmission timeout."""
    initial_rto: Duration | None = None
    """Retransmission timeout before the first RTT sample."""
    initial_cwnd: Window | None = None
    """Initial congestion window in segments."""
    max_cwnd: Window | None = None
    """Largest congestion window in segments."""


class Tcp(Table):
    """Parameters of every endpoint. The defaults are Linux's, with HZ 250."""

    hz: int = Field(default=250, strict=True, ge=10, le=10_000)
    """Timer ticks a second: the granularity of timers that Linux counts in jiffies."""
    initial_cwnd: int = Field(default=10, strict=True, ge=1, le=1000)
    """Initial congestion window in segments (RFC 6928)."""
    min_rto: Duration = 200 * MS
    """Smallest retransmission timeout."""
    initial_rto: Duration | None = None
    """Retransmission timeout before the first RTT sample; by default 1s (RFC 6298)."""
    max_cwnd: Window | None = None
    """Largest congestion window in segments; unbounded by default."""
    path: tuple[TcpPath, ...] = ()
    """Parameters by the layer that two hosts have in common, in a tree or a leaf-spine network."""
    otcp: bool = Field(default=False, strict=True)
    """Whether OTCP (CNSM'16) sets the four parameters of each layer, from the network's delays, rates and queues, by the
    controller's equations (`etalon otcp`). `[[tcp.path]]` overrides them."""
    otcp_alpha: int = Field(default=100, strict=True, ge=1, le=65535)
    """Number of flows that OTCP expects to start together; their initial windows share the largest window."""
    min_delayed_ack: Time = 40 * MS
    """Smallest delay of an ACK that waits for a second segment."""
    max_delayed_ack: Time = 200 * MS
    """Largest delay of such an ACK."""
    receive_buffer: Buffer = 64 << 10
    """Initial receive buffer, in bytes of payload (Linux offers half of `tcp_rmem`, which starts at 128 KiB)."""
    max_receive_buffer: Buffer = 3 << 20
    """Largest receive buffer that autotuning reaches; no autotuning unless it exceeds `receive_buffer`."""
    max_send_buffer: SendBuffer | None = None
    """Largest send buffer of a socket (`tcp_wmem`), which holds data that a program has written and the peer has not
    acknowledged. By default twice `max_receive_buffer`, and at least 4 MiB, Linux's own bound, so that the receiver
    limits a sender first. On the simulator flows without end do not wait for it."""
    sack: bool = Field(default=True, strict=True)
    """Selective acknowledgements (RFC 2018), and with them RACK-TLP (RFC 8985)."""
    timestamps: bool = Field(default=True, strict=True)
    """RFC 7323."""
    ecn: bool = Field(default=False, strict=True)
    """Whether all flows negotiate ECN (RFC 3168); congestion controls that need ECN negotiate it anyway."""
    pacing: bool = Field(default=False, strict=True)
    """Whether senders spread the segments of a window over the round trip."""
    tso_win_divisor: int = Field(default=3, strict=True, ge=0, le=1000)
    """TSO deferral: segments wait while less than 1/n of the window is free and an ACK is expected within a millisecond
    and half a round trip (Linux's `tcp_tso_win_divisor`; 0: while fewer than four segments fit). 100 switches it off."""
    slow_start_after_idle: bool = Field(default=True, strict=True)
    """Whether a sender's window is halved for each retransmission timeout that it is idle (RFC 2861, section 3.1). Jobs that
    compute for long between messages start slowly with it; operators of such clusters switch it off."""
