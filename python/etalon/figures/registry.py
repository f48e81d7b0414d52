# SPDX-License-Identifier: MIT OR Apache-2.0
"""The figures that exist. A new figure is one file here with `draw` and `interactive`, and one line below."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from etalon.figures.types import WebFigure


@dataclass(frozen=True)
class Entry:
    """A figure: its name, which is its module's, and what it shows."""

    name: str
    summary: str
    shows: Literal["run", "runs", "sweep", "numbers"] = "run"
    """One run; one or several by name; runs over the values of a parameter; numbers of no particular run."""

    @property
    def of_a_run(self) -> bool:
        """Whether a run alone is enough for it."""
        return self.shows in ("run", "runs")

    @property
    def draw(self) -> Callable[..., Figure]:
        """The function that draws it for print, in our style."""
        function: Callable[..., Figure] = import_module(f"etalon.figures.{self.name}").draw

        @wraps(function)
        def styled(*args: Any, **kwargs: Any) -> Figure:
            from etalon.figures import style

            with style.context():
                figure = function(*args, **kwargs)
                if not any(hasattr(one, "transAxes") for one in (*args, kwargs.get("ax"))):
                    style.note_empty(figure)
                return figure

        return styled

    @property
    def interactive(self) -> Callable[..., WebFigure]:
        """The function that draws it for a browser; takes the arguments of `draw` except `ax`."""
        function: Callable[..., WebFigure] = import_module(
            f"etalon.figures.{self.name}"
        ).interactive
        return function


FIGURES: Final = (
    Entry(
        "sequence", "expected sequence number and VOQ length over a week, days shaded", shows="runs"
    ),
    Entry("voq", "length of the VOQ over a week, days shaded", shows="runs"),
    Entry("utilization", "circuit utilisation over a parameter", shows="sweep"),
    Entry("latency", "latency percentiles over a parameter", shows="sweep"),
    Entry("latency_cdf", "distribution of latency through the switch, by network", shows="runs"),
    Entry("fct_cdf", "distribution of flow completion times, by class", shows="runs"),
    Entry("fct_size", "completion times over the size of flows: mean and tail", shows="runs"),
    Entry("throughput_cdf", "distribution of the throughput of finite flows", shows="runs"),
    Entry("write_cdf", "distribution of times to write a file to HDFS", shows="runs"),
    Entry("gantt", "each rank's steps in an iteration of a job, and its waits for others"),
    Entry("network_bytes", "payload that each network carried", shows="runs"),
    Entry("bars", "one number of each run", shows="numbers"),
    Entry("lines", "any number of runs over a parameter", shows="sweep"),
    Entry(
        "fct_uptime",
        "completion time of a transfer over the length of a day, by queue size",
        shows="numbers",
    ),
    Entry(
        "congestion_controls",
        "circuit utilisation by congestion control",
        shows="sweep",
    ),
    Entry("schedule", "circuits of a week and the packet gate of the measured pair"),
    Entry(
        "slices",
        "to which rack each uplink of a rack leads over time, with nights",
        shows="numbers",
    ),
    Entry("path", "a packet's path over circuits: racks, hops, waits over time", shows="numbers"),
    Entry("demand", "a demand matrix beside the week computed for it, with idle time"),
    Entry("goodput", "goodput of each flow and its fairness"),
    Entry("ports", "utilisation, queue, drops or marks of egress ports, the largest first"),
    Entry("links", "utilisation of uplinks, and of links to and from hosts, over time"),
    Entry("rack_pairs", "one number of every rack pair, as a heat map"),
    Entry("cwnd", "cwnd, ssthresh and smoothed RTT of chosen flows over time"),
    Entry(
        "reordering", "distribution of reordering over the days of the measured pair", shows="runs"
    ),
    Entry("shares", "each control's share beside each other one, as a heat map", shows="numbers"),
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

    names = [entry.name for entry in FIGURES]
    near = get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"
    raise EtalonError(f"there is no figure {name!r}; {hint}")
