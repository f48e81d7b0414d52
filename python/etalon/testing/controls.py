# SPDX-License-Identifier: MIT OR Apache-2.0
"""The properties that congestion controls must have, as `cc_model.rs` of `etalon-tcp` holds the built-in ones.

The model goes by rounds. In each, a window of segments crosses one bottleneck of a fixed rate with a finite queue; the RTT is
what the queue makes of it. Overflow loses a segment, and a queue above a third marks where the control asks for DCTCP's
feedback. Retransmissions, timeouts and delayed ACKs are the simulator's, which draws the figure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import polars as pl

from etalon import api
from etalon._core import Ack, Window
from etalon.custom import source
from etalon.custom.capture import capture
from etalon.custom.control import CongestionControl, Written, parameters, written
from etalon.figures import style
from etalon.testing.report import Checked, CheckFailed

MSS = 8_948
MS = 10**6
MOST = 1 << 20
ROUNDS = 400
HZ = 250


@dataclass(frozen=True)
class Path:
    """A path of the model: RTT in ns without a queue, segments that fill it, and segments that fit into the queue."""

    base_rtt_ns: int
    bdp: int
    queue: int

    def __str__(self) -> str:
        return f"a path of {self.base_rtt_ns / 1e6:g} ms, {self.bdp} segments and a queue of {self.queue}"


def paths() -> Iterator[Path]:
    """Windows of a few to a hundred segments and RTTs of 1 to 10 ms of host time: where reconfigurable networks live."""
    for bdp, queue in ((4, 4), (10, 5), (20, 16), (50, 16), (20, 128)):
        yield Path(MS, bdp, queue)
    for bdp, queue in ((10, 5), (20, 16)):
        yield Path(10 * MS, bdp, queue)


@dataclass
class Sender:
    """A sender in the model."""

    cc: CongestionControl
    name: str
    window: Window = field(default_factory=lambda: Window(10))
    now_ns: int = 1000 * MS
    una: int = 0

    @property
    def cwnd(self) -> int:
        """Whole segments."""
        return self.whole("its window", self.window.cwnd)

    def whole(self, what: str, value: float) -> int:
        """A number of segments as the sender takes it."""
        if not isinstance(value, (int, float, np.integer, np.floating)) or not math.isfinite(value):
            raise CheckFailed(
                f"{self.name}: {what} becomes {value!r}, and must be a number of segments"
            )
        return min(max(int(value), 1), MOST)

    def ack(self, rtt_ns: int | None, **more: Any) -> Ack:
        """An ACK of one segment."""
        before, self.una = self.una, self.una + MSS
        return Ack(
            **{
                "now_ns": self.now_ns, "acked": 1, "delivered": 1, "rtt_ns": rtt_ns, "srtt_ns": rtt_ns or 0,
                "cwnd_limited": True, "prior_una": before % 2**32, "una": self.una % 2**32, "nxt": self.una % 2**32,
                "jiffies": self.now_ns * HZ // 10**9, "hz": HZ,
            }
            | more
        )  # fmt: skip

    def hear(self, ack: Ack, grows: bool) -> None:
        """An ACK, as the sender has it heard."""
        before = self.window.cwnd
        self.cc.on_every_ack(self.window, ack)
        if self.window.cwnd != before:
            raise CheckFailed(
                f"{self.name}.on_every_ack changes the window from {before:g} to {self.window.cwnd:g}: leave that to on_ack"
            )
        if grows and ack.cwnd_limited:
            self.cc.on_ack(self.window, ack)
            self.window.cwnd = min(max(self.window.cwnd, 1), MOST) if self.cwnd else 1

    def reduce(self, state: Any) -> None:
        """A congestion event: the new threshold, and the window down to it."""
        before = self.cwnd
        self.cc.on_loss(self.window)
        found = self.whole("ssthresh", self.window.ssthresh)
        if self.window.ssthresh < 2:
            raise CheckFailed(
                f"{self.name}.on_loss sets ssthresh to {self.window.ssthresh:g} at a window of {before}: the least is 2"
            )
        if found > max(before, 2):
            raise CheckFailed(
                f"{self.name}.on_loss sets ssthresh to {found} at a window of {before}: a reduction must not grow the window"
            )
        self.window.cwnd = 1 if state == "timeout" else min(before, found)
        self.window.cwnd_count = 0
        self.cc.on_state(self.window, state, self.now_ns)
        back = self.whole("the result of undo", self.cc.undo(self.window, before))
        if back < before:
            raise CheckFailed(
                f"{self.name}.undo answers {back} for a window of {before} that was reduced unnecessarily: the least "
                f"is {before}"
            )


@dataclass
class Outcome:
    """The result of a run of the model."""

    utilisation: float = 0
    losses: int = 0
    windows: list[int] = field(default_factory=list)


def model(cc: Written, path: Path, rounds: int = ROUNDS) -> Outcome:
    """A run of the model."""
    sender, outcome = Sender(cc.make(), cc.name), Outcome()
    carried = capacity = 0.0
    marked = False
    for _ in range(rounds):
        sent = sender.cwnd
        queued = max(sent - path.bdp, 0)
        lost = queued > path.queue
        queued = min(queued, path.queue)
        delivered = min(sent, path.bdp + queued)
        segment = path.base_rtt_ns // path.bdp
        rtt, spread = path.base_rtt_ns + queued * segment, delivered * segment
        carried += delivered
        capacity += max(rtt, spread) / segment
        begin = sender.now_ns
        for at in range(delivered):
            sender.now_ns = begin + spread * at // delivered
            sender.hear(sender.ack(rtt, ece=marked), grows=not lost)
        sender.now_ns = begin + max(rtt, spread)
        if lost:
            outcome.losses += 1
            sender.reduce("fast-recovery")
        elif marked:
            sender.reduce("cwr")
        sender.cc.on_state(sender.window, "open", sender.now_ns)
        marked = cc.switches["wants_dctcp_feedback"] and queued > path.queue // 3
        outcome.windows.append(sender.cwnd)
    outcome.utilisation = carried / capacity
    return outcome


def check_control(thing: Any, cases: int, seed: int) -> Checked:
    """Checks a congestion control; see `check`."""
    given = thing if isinstance(thing, str) else capture(thing)
    reference, texts = source.read(given, FilePath(), "cc")
    source.allow(texts.values())
    fresh = partial(written, reference, texts)
    cc = fresh({})
    uses = []
    for path in paths():
        outcome = model(cc, path)
        uses.append(outcome.utilisation)
        if outcome.utilisation <= 0.7:
            raise CheckFailed(
                f"{cc.name} uses {100 * outcome.utilisation:.0f} % of {path}: the built-in ones use more than 70 %"
            )
        if outcome.losses > ROUNDS // 2 + 40:
            raise CheckFailed(
                f"{cc.name} loses in {outcome.losses} of {ROUNDS} round trips on {path}: it loses in more than every second one"
            )
        if model(cc, path, 100).windows != model(cc, path, 100).windows:
            raise CheckFailed(
                f"{cc.name} has different windows in the second run on {path}: keep state only in self, and draw no "
                "random numbers"
            )
    _anything(fresh, cases, seed)
    properties = (
        f"it uses {100 * min(uses):.0f} % or more of each of {len(uses)} paths of 1 to 10 ms, with rare losses",
        "the same ACKs give the same windows: no state carries over between flows",
        f"in {cases} random orders of events, with random parameters, windows are numbers, ssthresh is 2 or more, a "
        "reduction never grows the window, and undoing one never shrinks it",
    )
    return Checked(cc.name, properties, partial(_figure, given, cc))


def _anything(fresh: Callable[..., Written], cases: int, seed: int) -> None:
    """Random events in random orders, with parameters from all of their ranges."""
    rng = np.random.default_rng(seed)
    known = parameters(fresh({}).control)
    for _ in range(cases):
        share = rng.random(len(known))
        params = {
            name: one.min + at * (one.max - one.min)
            for (name, one), at in zip(known.items(), share, strict=True)
        }
        params = {k: float(round(v)) if known[k].whole else v for k, v in params.items()}
        cc = fresh(params)
        sender = Sender(cc.make(), cc.name, Window(int(rng.integers(1, 200))))
        for _ in range(100):
            sender.now_ns += int(rng.integers(1, 1 << 34))
            _event(sender, rng)


def _event(sender: Sender, rng: np.random.Generator) -> None:
    kind, window = rng.random(), sender.window
    if kind < 0.75:
        acked = int(rng.integers(0, 5))
        rtt = int(rng.integers(1, 1 << 32)) if rng.random() < 0.8 else None
        ece, limited = rng.random() < 0.2, rng.random() < 0.8
        ack = sender.ack(
            rtt, acked=acked, delivered=acked, ece=bool(ece), cwnd_limited=bool(limited)
        )
        sender.hear(ack, grows=bool(rng.random() < 0.7))
    elif kind < 0.9:
        sender.reduce(("cwr", "fast-recovery", "timeout")[int(rng.integers(3))])
    elif kind < 0.95:
        sender.cc.on_state(
            window, ("open", "limited-transmit")[int(rng.integers(2))], sender.now_ns
        )
    else:
        sender.cc.on_restart(window, sender.now_ns, int(rng.integers(1 << 40)))
    window.cwnd = min(max(window.cwnd, 1), MOST) if sender.cwnd else 1


SETTINGS = (
    ("10 Gb/s, 60 us, queue 16", {"rate": "10Gbps", "delay": "30us", "queue": 16}),
    ("10 Gb/s, 60 us, queue 100", {"rate": "10Gbps", "delay": "30us", "queue": 100}),
    ("10 Gb/s, 1 ms, queue 100", {"rate": "10Gbps", "delay": "500us", "queue": 100}),
    ("1 Gb/s, 200 us, queue 16", {"rate": "1Gbps", "delay": "100us", "queue": 16}),
)
"""Bottlenecks of the figure, beside a rotating circuit."""


def _figure(given: str, cc: Written) -> Any:
    """Windows over time in five settings, and shares of the rate beside itself and beside CUBIC."""
    with style.context():
        figure = style.new(style.PAGE, 4.2)
        axes = list(figure.subplots(2, 3).flat)
        for ax, (title, line) in zip(axes, SETTINGS, strict=False):
            net = api.dumbbell(hosts=1, **line)  # type: ignore[arg-type]
            _windows(ax, title, api.bulk(0, 1, cc=given, flows=1), net)
        work, title = api.bulk(0, 1, cc=given, flows=1), "circuits, a day of 180 us a week"
        _windows(axes[4], title, work, api.network(racks=3, hosts=1), tdf=20)
        _shares(axes[5], given, cc)
        return figure


def _windows(ax: Any, title: str, work: Any, net: Any, tdf: int = 1) -> None:
    run = api.run(net, work, duration="60ms", tdf=tdf, measure={"flows": [0]})
    table = run.tcp.filter(pl.col("flow") == 0)
    ax.plot(table["t_ns"] / 1e6, table["cwnd"], lw=0.8)
    ax.set_title(title)
    ax.set_xlabel("time (ms)")
    ax.set_ylabel("cwnd (segments)")
    ax.set_ylim(bottom=0)


def _shares(ax: Any, given: str, cc: Written) -> None:
    net = api.dumbbell("10Gbps", "30us", 64, hosts=2)
    for at, (other, label) in enumerate(((given, cc.name), ("cubic", "cubic"))):
        flows = [api.bulk(0, 1, cc=one, flows=1) for one in (given, other)]
        goodputs = api.run(net, *flows, duration="200ms", tdf=1).flows["bytes_delivered"]
        total = max(float(goodputs.sum()), 1)
        for name, goodput, x, colour in zip(
            (cc.name, label), goodputs, (at - 0.2, at + 0.2), (0, 1 + at), strict=True
        ):
            ax.bar(x, 100 * float(goodput) / total, 0.4, color=style.PALETTE[colour])
            ax.annotate(
                name, (x, 2), ha="center", fontsize=6, color="white", rotation=90, va="bottom"
            )
    ax.set_xticks([0, 1], ["beside itself", "beside CUBIC"])
    ax.set_title("shares of 10 Gb/s")
    ax.set_ylabel("share (%)")
    ax.set_ylim(0, 100)
