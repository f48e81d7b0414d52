"""The `[tcp]` table: the end hosts' stack. Times here are host time, `tdf` times as fast as the network's."""

from __future__ import annotations

from pydantic import Field

from etalon.plan_base import Table
from etalon.units import MS, Duration, Size, Time


class Tcp(Table):
    """Parameters of every endpoint. The defaults are Linux's, with HZ 250."""

    hz: int = Field(default=250, strict=True, ge=10, le=10_000)
    """Timer ticks a second: the granularity of what Linux counts in jiffies."""
    initial_cwnd: int = Field(default=10, strict=True, ge=1, le=1000)
    """Initial congestion window in segments (RFC 6928)."""
    min_rto: Duration = 200 * MS
    """Smallest retransmission timeout."""
    min_delayed_ack: Time = 40 * MS
    max_delayed_ack: Time = 200 * MS
    receive_buffer: Size = 64 << 20
    sack: bool = Field(default=True, strict=True)
    """Selective acknowledgements (RFC 2018), and with them RACK-TLP (RFC 8985)."""
    timestamps: bool = Field(default=True, strict=True)
    """RFC 7323."""
    ecn: bool = Field(default=False, strict=True)
    """RFC 3168 for all flows; congestion controls that need it have it anyway."""
    pacing: bool = Field(default=False, strict=True)
