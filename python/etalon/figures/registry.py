"""The figures that exist. A new figure is one file here with `draw` and `interactive`, and one line below."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from etalon.figures.types import WebFigure


@dataclass(frozen=True)
class Entry:
    """A figure: its name, which is its module's, and what it shows."""

    name: str
    summary: str
    of_a_run: bool = True
    """Whether it shows one run (or several to compare); otherwise it shows points over a parameter."""

    @property
    def draw(self) -> Callable[..., Figure]:
        """The function that draws it for print, in our style."""
        function: Callable[..., Figure] = import_module(f"etalon.figures.{self.name}").draw

        @wraps(function)
        def styled(*args: Any, **kwargs: Any) -> Figure:
            from etalon.figures import style

            with style.context():
                return function(*args, **kwargs)

        return styled

    @property
    def interactive(self) -> Callable[..., WebFigure]:
        """The function that draws it for a browser; takes the arguments of `draw` except `ax`."""
        function: Callable[..., WebFigure] = import_module(
            f"etalon.figures.{self.name}"
        ).interactive
        return function


FIGURES: Final = (
    Entry("sequence", "expected sequence number and VOQ length over a week, days shaded"),
    Entry("voq", "length of the VOQ over a week, days shaded"),
    Entry("utilization", "circuit utilisation over a parameter", of_a_run=False),
    Entry("latency", "latency percentiles over a parameter", of_a_run=False),
    Entry("latency_cdf", "distribution of latency through the switch, by network"),
    Entry("fct_cdf", "distribution of flow completion times, by class"),
    Entry("throughput_cdf", "distribution of the throughput of finite flows"),
    Entry("write_cdf", "distribution of the times in which files were written to HDFS"),
    Entry("network_bytes", "payload that each network carried"),
    Entry("bars", "one number of each run", of_a_run=False),
    Entry("lines", "any number of runs over a parameter", of_a_run=False),
    Entry(
        "fct_uptime",
        "completion time of a transfer over the length of a day, by queue size",
        of_a_run=False,
    ),
    Entry("congestion_controls", "circuit utilisation by congestion control", of_a_run=False),
    Entry("schedule", "circuits of a week and the packet gate of the measured pair"),
    Entry("demand", "a demand matrix beside the week computed for it, with idle time"),
    Entry("goodput", "goodput of each flow and its fairness"),
    Entry("ports", "utilisation, queue, drops or marks of egress ports, the largest first"),
    Entry("rack_pairs", "one number of every rack pair, as a heat map"),
    Entry("cwnd", "cwnd, ssthresh and smoothed RTT of chosen flows over time"),
    Entry("reordering", "distribution of reordering over the days of the measured pair"),
    Entry("repairs", "fast recoveries, tail loss probes and timeouts of each flow"),
)


def get(name: str) -> Entry:
    """The figure called `name`.

    Raises:
        EtalonError: if there is none; the message lists those that exist.
    """
    for entry in FIGURES:
        if entry.name == name:
            return entry
    from etalon.errors import EtalonError

    raise EtalonError(
        f"no figure is called {name!r}: there are {', '.join(entry.name for entry in FIGURES)}"
    )
