# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a congestion control in Python costs: processor time a call of its hooks, and of a run of a million packets.

python benches/hooks.py              # three turns; the table that docs/write.md has
python benches/hooks.py --turns 9    # on a busy machine: the fastest run of each counts

One flow fills a link: with the control written in Python, and with the built-in Reno, by turns. The difference for each
packet, divided by the calls for each packet (counted in a shorter run), is the time of a call.
"""

from __future__ import annotations

import argparse
import sys
import time
import types
from typing import Any

import etalon as et
from etalon import _core
from etalon.custom.control import HOOKS
from etalon.engine.sim import Simulator

SHORT, LONG = "100ms", "1300ms"
"""Durations: calls are counted in the first; the second delivers a million packets."""


class Nothing(et.CongestionControl):
    """Reno built in, and a hook that does nothing."""

    def on_every_ack(self, window: Any, ack: Any) -> None:
        """Nothing."""


class Reno(et.CongestionControl):
    """Reno in Python (RFC 5681)."""

    def on_ack(self, window: Any, ack: Any) -> None:
        """Slow start, then a segment a round trip."""
        acked = window.slow_start(ack.delivered) if window.in_slow_start else ack.delivered
        if acked:
            window.additive_increase(window.cwnd, acked)

    def on_loss(self, window: Any) -> None:
        """Half."""
        window.ssthresh = max(2, window.cwnd // 2)


class Holding(et.CongestionControl):
    """The notebook's: two hooks an ACK."""

    limit = et.Parameter(1.5, min=1, max=10)

    def __init__(self) -> None:
        self.shortest = float("inf")
        self.queued = False

    def on_every_ack(self, window: Any, ack: Any) -> None:
        """Looks for a queue."""
        if ack.rtt_ns is not None:
            self.shortest = min(self.shortest, ack.rtt_ns)
            self.queued = ack.rtt_ns > self.limit * self.shortest

    def on_ack(self, window: Any, ack: Any) -> None:
        """Grows if there is none."""
        if not self.queued:
            super().on_ack(window, ack)


def plan(cc: Any, duration: str) -> et.Plan:
    """One flow over a link of 10 Gb/s with a queue of 40 packets."""
    line = et.dumbbell("10Gbps", "30us", 40, hosts=1)
    return et.experiment(line, et.bulk(0, 1, cc=cc, flows=1), duration=duration, tdf=20)


def seconds(what: et.Plan) -> tuple[float, int]:
    """Processor time of a run, and its data packets."""
    begin = time.thread_time()
    made = Simulator().run(what, _core.Control())
    return time.thread_time() - begin, made.meta["packets_delivered"]


def calls(control: type[et.CongestionControl]) -> float:
    """How many hooks a run calls, for each data packet."""
    count = 0

    def note(frame: types.FrameType, event: str, _: Any) -> None:
        nonlocal count
        name = str(frame.f_globals.get("__name__", ""))
        count += event == "call" and name.startswith("etalon_code_")

    short = plan(control, SHORT)
    sys.setprofile(note)
    try:
        _, packets = seconds(short)
    finally:
        sys.setprofile(None)
    return count / packets


def cost(
    control: type[et.CongestionControl], turns: int, duration: str = LONG
) -> tuple[float, float, float]:
    """Calls a packet; processor time of a call, and of a packet with all that it takes, in us: the fastest of all turns."""
    plans = plan(control, duration), plan("reno", duration)
    both = [[seconds(one) for one in plans] for _ in range(turns)]
    python, rust = (
        min(spent / packets for spent, packets in runs) for runs in zip(*both, strict=True)
    )
    each = calls(control)
    return each, 1e6 * (python - rust) / each, 1e6 * python


def main() -> None:
    """Measures, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=3)
    turns = parser.parse_args().turns
    seconds(plan("reno", SHORT))
    print("| control | hooks | calls a packet | time a call | a million packets |")
    print("|---|---|---:|---:|---:|")
    for control in (Nothing, Reno, Holding):
        each, call, packet = cost(control, turns)
        hooks = ", ".join(f"`{name}`" for name in HOOKS if name in vars(control))
        print(f"| {control.__doc__} | {hooks} | {each:.2f} | {call:.2f} us | {packet:.1f} s |")
    spent, packets = min(seconds(plan("reno", LONG)) for _ in range(turns))
    print(f"| The built-in Reno. | | | | {1e6 * spent / packets:.1f} s |")


if __name__ == "__main__":
    main()
