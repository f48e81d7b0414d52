# SPDX-License-Identifier: MIT OR Apache-2.0
"""Users' congestion controls: a class with the hooks of Rust's `CongestionControl` (`crates/etalon-tcp/src/cc`)."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from etalon._core import Ack, RateSample, Window
from etalon.arguments import checked
from etalon.custom import source
from etalon.errors import EtalonError, PlanError
from etalon.units import shown

State = Literal["open", "limited-transmit", "cwr", "fast-recovery", "timeout"]
"""States of a path's loss recovery: the normal state; duplicate ACKs, but no loss yet (RFC 3042); window reduced by ECE
(RFC 3168); fast recovery (RFC 5681); after a retransmission timeout (RFC 6298)."""


@dataclass(frozen=True)
class ParameterOf:
    """A parameter of a congestion control: `beta = etalon.Parameter(0.5, min=0.1, max=0.9)`."""

    default: float
    min: float
    max: float
    description: str = ""
    whole: bool = False


@checked
def Parameter(
    default: float, *, min: float, max: float, description: str = "", whole: bool = False
) -> Any:
    """A parameter, declared in the body of a congestion control. Its hooks read the value as `self.NAME`.

    Plans set it with `params = { NAME = 0.7 }`, Python with `etalon.bulk(0, 1, cc=Halving, NAME=0.7)`.

    Args:
        default: the value that applies otherwise.
        min: the smallest value.
        max: the largest value.
        description: a line for `etalon list cc --from`.
        whole: whether it must be a whole number.

    Raises:
        PlanError: if the default is not between `min` and `max`.
    """
    found = ParameterOf(float(default), float(min), float(max), description, whole)
    if not found.min <= found.default <= found.max:
        raise PlanError(f"the default {default:g} must lie between {min:g} and {max:g}")
    return found


class CongestionControl:
    """The base class of your congestion controls. Each hook has a default; together the defaults are Reno (RFC 5681).

        class Halving(etalon.CongestionControl):
            beta = etalon.Parameter(0.5, min=0.1, max=0.9)

            def on_ack(self, window, ack):
                window.cwnd += ack.newly_acked / window.cwnd

            def on_loss(self, window):
                window.ssthresh = max(2, window.cwnd * self.beta)

    Each path of each flow has an instance of its own, so keep state in `self`; `__init__` takes no arguments. Windows are in
    segments. They may be fractions, but only whole segments are sent. Times are in ns of the hosts' clock.
    """

    wants_pacing: ClassVar[bool] = False
    """Whether the sender paces segments, at `pacing_rate`."""
    wants_rate_samples: ClassVar[bool] = False
    """Whether the sender calls `on_rate_sample`, which costs memory for each segment."""
    wants_dctcp_feedback: ClassVar[bool] = False
    """Whether flows negotiate ECN and receivers echo each mark (RFC 8257, section 3.2)."""
    reads_ece_without_ecn: ClassVar[bool] = False
    """Whether ECE sets `ack.ece` although ECN is off, as reTCP needs (NSDI 2020, section 5.3)."""

    def on_ack(self, window: Window, ack: Ack) -> None:
        """An ACK arrives that may grow the window: no reduction is under way, and the window limited the sender.

        May change `window.cwnd`. Default: slow start, then one segment a round trip.
        """
        acked = window.slow_start(ack.delivered) if window.in_slow_start else ack.delivered
        if acked:
            window.additive_increase(window.cwnd, acked)

    def on_every_ack(self, window: Window, ack: Ack) -> None:
        """An ACK arrives, in any state; called before `on_ack`, for RTT samples and marks. May set `window.ssthresh`, as
        HyStart does; leave `window.cwnd` to `on_ack`. Default: nothing."""

    def on_loss(self, window: Window) -> None:
        """A congestion event: a loss, an ECN mark or a timeout. Called once for each reduction.

        Sets `window.ssthresh`, 2 or more: the sender reduces its window to it (after a timeout to 1, then grows up to it). A
        change of `window.cwnd` has no effect here. Default: half of the window.
        """
        window.ssthresh = max(2, window.cwnd // 2)

    def on_state(self, window: Window, state: State, now_ns: int) -> None:
        """Loss recovery enters another state, or a further timeout expires. May change the window. Default: nothing."""

    def on_restart(self, window: Window, now_ns: int, idle_ns: int) -> None:
        """A segment is sent with nothing in flight, `idle_ns` after the last one. May change the window. Default: nothing."""

    def on_rate_sample(self, window: Window, sample: RateSample) -> None:
        """An ACK yields a sample of the delivery rate (draft-ietf-ccwg-bbr); called before `on_every_ack`, if
        `wants_rate_samples`. May change the window. Default: nothing."""

    def on_tdn(self, window: Window, tdn: int) -> None:
        """The host learns that another network leads to the peer's rack: 0 is the packet network, others are kinds of
        circuits (SIGCOMM 2022, section 4.2). `[network.notify]` sets the time. May change the window. Default: nothing."""

    def undo(self, window: Window, prior_cwnd: int) -> float:
        """Returns the window to restore when a reduction from `prior_cwnd` proves spurious, in segments. Default: the larger
        one."""
        return max(window.cwnd, prior_cwnd)

    def pacing_rate(self, window: Window, mss: int) -> float | None:
        """Returns the pacing rate in bytes a second, for segments of `mss` bytes. Default: None, Linux's rate from the window
        and the smoothed RTT."""
        return None


HOOKS = (
    *("on_ack", "on_every_ack", "on_loss", "on_state", "on_restart", "on_rate_sample"),
    *("on_tdn", "undo", "pacing_rate"),
)
SWITCHES = ("wants_pacing", "wants_rate_samples", "wants_dctcp_feedback", "reads_ece_without_ecn")


def parameters(control: type[CongestionControl]) -> dict[str, ParameterOf]:
    """The parameters of a congestion control, by name."""
    found: dict[str, ParameterOf] = {}
    for one in reversed(control.__mro__):
        found |= {name: v for name, v in vars(one).items() if isinstance(v, ParameterOf)}
    return found


def description(control: type[CongestionControl]) -> str:
    """The first line of its docstring."""
    own = vars(control).get("__doc__") or ""
    return inspect.cleandoc(own).partition("\n")[0]


class Written:
    """A congestion control of a user's in one run, as the core has it: `make` is a new instance."""

    def __init__(
        self, reference: str, texts: Mapping[str, str], params: Mapping[str, float]
    ) -> None:
        file, self.name = source.split(reference)
        found = source.load(reference, texts)
        if not (isinstance(found, type) and issubclass(found, CongestionControl)):
            raise PlanError(
                f"{file}: {self.name} is not a congestion control: make it a class that inherits from etalon.CongestionControl"
            )
        self.control = found
        self.file = file
        self.values = values(reference, found, params)
        self.hooks = [
            hook for hook in HOOKS if getattr(found, hook) is not getattr(CongestionControl, hook)
        ]
        self.switches = {name: bool(getattr(found, name)) for name in SWITCHES}
        self.make()  # which fails now rather than in the middle of a run

    def make(self) -> CongestionControl:
        """A new instance, with its parameters."""
        made = self.control.__new__(self.control)
        for name, value in self.values.items():
            setattr(made, name, value)
        try:
            made.__init__()  # type: ignore[misc]
        except Exception as error:
            raise EtalonError(
                f"{source.where(error, self.file)}: {self.name}() raised {source.told(error)}"
            ) from error
        return made

    def failed(self, hook: str, flow: int, error: BaseException) -> EtalonError:
        """The sentence for an exception in a hook."""
        made = EtalonError(
            f"{source.where(error, self.file)}: {self.name}.{hook} raised {source.told(error)}; it was flow {flow}'s"
        )
        made.__cause__ = error
        return made


def values(
    reference: str, control: type[CongestionControl], given: Mapping[str, float]
) -> dict[str, float]:
    """A value for each parameter. Raises `PlanError` for one that it does not have or does not take."""
    known = parameters(control)
    for name, value in given.items():
        if name not in known:
            there = ", ".join(known) or "none"
            raise PlanError(f"{reference} has no parameter {shown(name)}; it has {there}")
        one = known[name]
        fits = math.isfinite(value) and one.min <= value <= one.max
        if not fits or (one.whole and value != int(value)):
            kind = "a whole number" if one.whole else "a number"
            raise PlanError(
                f"{name} of {reference} must be {kind} from {one.min:g} to {one.max:g}, not {value:g}"
            )
    return {name: float(given.get(name, one.default)) for name, one in known.items()}


def written(reference: str, texts: Mapping[str, str], params: Mapping[str, float]) -> Written:
    """A congestion control as a run has it. Raises `EtalonError` if its code may not run or fails."""
    return Written(reference, texts, params)
