# SPDX-License-Identifier: MIT OR Apache-2.0
"""Congestion controls written in Python, for tests: Reno (RFC 5681), CUBIC (RFC 9438), and Halving."""

from __future__ import annotations

from typing import Any

import etalon as et


class Reno(et.CongestionControl):
    """Reno: slow start, one segment a round trip, half on loss (RFC 5681)."""

    def on_ack(self, window: Any, ack: Any) -> None:
        acked = ack.delivered
        if window.cwnd < window.ssthresh:
            acked = window.slow_start(acked)
        if acked > 0:
            window.additive_increase(window.cwnd, acked)

    def on_loss(self, window: Any) -> None:
        window.ssthresh = max(2, window.cwnd // 2)


class Halving(et.CongestionControl):
    """Reno in fractions, as one writes it first."""

    beta = et.Parameter(
        0.5, min=0.1, max=0.9, description="share of the window that a reduction leaves"
    )

    def on_ack(self, window: Any, ack: Any) -> None:
        window.cwnd += ack.newly_acked / window.cwnd

    def on_loss(self, window: Any) -> None:
        window.ssthresh = window.cwnd = max(2, window.cwnd * self.beta)


class Cubic(et.CongestionControl):
    """CUBIC without HyStart (RFC 9438), with the curve read on the host's timer, in 1/1024 s and whole segments."""

    beta = et.Parameter(717 / 1024, min=0.1, max=0.99)
    c = et.Parameter(410 / 1024, min=0.01, max=10)

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Section 4.8: a timeout forgets the curve."""
        self.start: int | None = None
        self.w_max = self.pace = self.last_cwnd = self.last_time = 0
        self.rtt_min = 0

    def on_every_ack(self, window: Any, ack: Any) -> None:
        self.hz = ack.hz
        young = self.start is not None and ack.jiffies - self.start < ack.hz
        if ack.rtt_ns is not None and not young:
            rtt = max((ack.rtt_ns + 999 - ack.now_ns % 1000) // 1000, 1)
            self.rtt_min = min(self.rtt_min or rtt, rtt)

    def on_ack(self, window: Any, ack: Any) -> None:
        acked = window.slow_start(ack.delivered) if window.in_slow_start else ack.delivered
        if acked > 0:
            self.update(int(window.cwnd), acked, ack.jiffies, ack.hz)
            window.additive_increase(self.pace, acked)

    def update(self, cwnd: int, acked: int, jiffies: int, hz: int) -> None:
        """Segments to be acknowledged for each segment of growth."""
        self.acked = acked if self.start is None else self.acked + acked
        since = jiffies - self.last_time
        if cwnd == self.last_cwnd and since <= hz // 32:
            return
        if self.start is None or since:
            self.last_cwnd, self.last_time = cwnd, jiffies
            if self.start is None:
                self.begin(cwnd, jiffies)
            # Section 4.2: the curve, one smallest RTT ahead.
            ahead = -(-self.rtt_min // (1_000_000 // hz))
            t = ((jiffies - self.start + ahead) << 10) // hz
            growth = int(self.c * abs(t - self.k) ** 3 / 2**30)
            target = self.origin + growth if t >= self.k else self.origin - growth
            self.pace = cwnd // (target - cwnd) if target > cwnd else 100 * cwnd
            if not self.w_max:
                self.pace = min(self.pace, 20)
        # Section 4.3: at least as fast as Reno.
        window = max(cwnd * int(8 * (1 + self.beta) / (3 * (1 - self.beta))) // 8, 1)
        steps = max(-(-self.acked // window) - 1, 0)
        self.acked -= steps * window
        self.w_est += steps
        if self.w_est > cwnd:
            self.pace = min(self.pace, cwnd // int(self.w_est - cwnd))
        self.pace = max(self.pace, 2)

    def begin(self, cwnd: int, jiffies: int) -> None:
        """Section 4.2: K and the plateau of a new epoch."""
        self.start, self.w_est = jiffies, cwnd
        self.origin = max(self.w_max, cwnd)
        self.k = int(1024 * (max(self.w_max - cwnd, 0) / self.c) ** (1 / 3) + 1e-6)

    def on_loss(self, window: Any) -> None:
        self.start = None
        # Section 4.7: fast convergence.
        shrinks = window.cwnd < self.w_max
        self.w_max = int(window.cwnd * (1 + self.beta) / 2) if shrinks else int(window.cwnd)
        window.ssthresh = max(2, int(window.cwnd * self.beta))

    def on_state(self, window: Any, state: str, now_ns: int) -> None:
        if state == "timeout":
            self.forget()

    def on_restart(self, window: Any, now_ns: int, idle_ns: int) -> None:
        # Section 5.8: idle time is not part of the epoch.
        if self.start is not None:
            tick = 10**9 // self.hz
            idle = now_ns // tick - (now_ns - idle_ns) // tick
            self.start = min(self.start + idle, now_ns // tick)
