# SPDX-License-Identifier: MIT OR Apache-2.0
"""The paper's equations: from RTT, queues and rate of a path to TCP's parameters (CNSM'16, section III).

Where the paper contradicts itself, this follows its Table I:

- Equation 2 sums the queues of one direction; Table I has those of the switches there and back.
- Equation 5 has `min(1, ...)`; Table I has the larger, rounded up.
- Equations 2 and 3 write RTO for the idle RTT; RTOmax takes it unrounded.
"""

from __future__ import annotations

from dataclasses import dataclass

MSS = 1460
"""Bytes of data in a segment: Table I's."""
ALPHA = 100
"""Flows that are expected to start together: the paper's."""
LEAST_RWND = 10
"""Segments of Linux's own initial window: a peer without parameters sends as many at once (RFC 6928)."""
LARGEST_WINDOW = 65_535
"""Segments that a window of the protocol has at most."""
MS = 1_000_000


@dataclass(frozen=True, slots=True)
class PathInputs:
    """What the equations take, of the way to a destination and back.

    `rtt_ns` of the idle network; `queueing_ns`: how long the full queues of all switches there and back take to drain;
    `rate_bps`, `rate_back_bps`: the slowest link there, and back; `alpha`, `alpha_back`: flows that share the way.
    """

    rtt_ns: int
    queueing_ns: int
    rate_bps: int
    rate_back_bps: int
    alpha: int = ALPHA
    alpha_back: int = ALPHA


@dataclass(frozen=True, slots=True)
class Parameters:
    """TCP's parameters towards a destination. Times in ns, windows in segments."""

    rto_min_ns: int
    rto_max_ns: int
    rto_init_ns: int
    max_cwnd: int
    initial_cwnd: int
    initial_rwnd: int


def rto_min_ns(rtt_ns: int) -> int:
    """The RTT, rounded up to the millisecond in which Linux counts it (section IV.B)."""
    return -(-rtt_ns // MS) * MS


def rto_max_ns(rtt_ns: int, queueing_ns: int) -> int:
    """Equation 2, with the unrounded RTT and the queues of both directions."""
    return rtt_ns + queueing_ns


def rto_init_ns(rto_max: int) -> int:
    """Twice RTOmax, for what busy hosts add (section III.A.2)."""
    return 2 * rto_max


def max_cwnd(rtt_ns: int, rate_bps: int, mss: int = MSS) -> int:
    """Equations 3 and 4: the bandwidth-delay product in whole segments."""
    return rtt_ns * rate_bps // (8 * 1_000_000_000 * mss)


def initial_cwnd(most: int, alpha: int) -> int:
    """Equation 5: `most` (CWNDmax) shared by `alpha` flows, rounded up, at least 1."""
    return max(1, -(-most // alpha))


def initial_rwnd(max_cwnd_back: int) -> int:
    """What the peer may have under way, so that the offered window never holds it up; not below Linux's own IW."""
    return max(LEAST_RWND, max_cwnd_back)


def compute(inputs: PathInputs, mss: int = MSS) -> Parameters:
    """All parameters of a path, without bounds."""
    longest = rto_max_ns(inputs.rtt_ns, inputs.queueing_ns)
    window = max_cwnd(inputs.rtt_ns, inputs.rate_bps, mss)
    back = max_cwnd(inputs.rtt_ns, inputs.rate_back_bps, mss)
    return Parameters(
        rto_min_ns=rto_min_ns(inputs.rtt_ns),
        rto_max_ns=longest,
        rto_init_ns=rto_init_ns(longest),
        max_cwnd=window,
        initial_cwnd=initial_cwnd(window, inputs.alpha),
        initial_rwnd=initial_rwnd(back),
    )
