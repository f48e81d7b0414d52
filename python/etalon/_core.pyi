# SPDX-License-Identifier: MIT OR Apache-2.0
"""Types of the Rust core (crates/etalon-py)."""

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "LINUX_MOST_FLOWS",
    "LINUX_MOST_HOSTS",
    "Ack",
    "CircuitWays",
    "Control",
    "KernelError",
    "RateSample",
    "Scenario",
    "Window",
    "__version__",
    "circuit_hops",
    "collective_algorithms",
    "collective_steps",
    "compute_week",
    "congestion_controls",
    "deal_circuits",
    "draw_circuits",
    "format_bytes",
    "format_rate",
    "format_span",
    "goal_contents",
    "heaviest_matching",
    "is_fast",
    "job_circuits",
    "job_messages",
    "job_problem",
    "job_steps",
    "match_graph",
    "maximum_matching",
    "parse_bytes",
    "parse_rate",
    "parse_span",
    "read_demand",
    "read_week",
    "routing_entries",
    "run",
    "run_linux",
    "run_stream",
    "scenario_schema",
    "schedulers",
    "serve_week",
    "strobe",
    "tournament",
    "trace",
]

__version__: str
is_fast: bool
"""Whether this core is optimised: one that `make setup` builds is made to be built often."""

LINUX_MOST_FLOWS: int
"""Flows of a plan on the Linux engine; each has a port of its own."""
LINUX_MOST_HOSTS: int
"""Hosts of a rack that have an address."""

class KernelError(Exception):
    """A run that Linux gave no complete result of. `args`: message, console, what was measured or None."""

@final
class Control:
    """Shared by the thread that runs and the one that watches."""

    def __init__(self) -> None: ...
    def stop(self) -> None:
        """The run ends soon and returns what it measured, with meta["partial"] set."""

    @property
    def progress(self) -> float:
        """Share of the simulated time that is done, 0 to 1."""

    def live(self) -> dict[str, Any] | None:
        """What was measured so far, as the engine told it last, which it is asked to do again; None before it did.

        now_ns; utilization of the measured pair by network, (name, 0 to 1); voq of that pair and all drops, in packets;
        retransmits of all flows, in segments.
        """

@final
class Scenario:
    """A resolved plan as the simulator has it, whose text is needed no longer. ValueError for a bad plan."""

    def __init__(self, plan_json: str) -> None: ...

class Window:
    """The window of a path, in segments. It may be a fraction, but only whole segments are sent."""

    cwnd: float
    """Congestion window in segments."""
    ssthresh: float
    """Slow-start threshold in segments; infinite before the first loss."""
    cwnd_count: int
    """Segments acknowledged towards the next increase by one in congestion avoidance."""

    def __init__(self, cwnd: float, ssthresh: float = ..., cwnd_count: int = 0) -> None: ...
    @property
    def in_slow_start(self) -> bool:
        """Whether cwnd is below ssthresh."""

    def slow_start(self, acked: int) -> int:
        """A segment for each one acknowledged, not beyond ssthresh (RFC 5681, RFC 3465 with L unbounded). Returns the
        acknowledged segments that are left for congestion avoidance."""

    def additive_increase(self, w: float, acked: int) -> None:
        """Additive increase (RFC 5681, equation 3): one segment for every `w` segments acknowledged."""

class Ack:
    """The facts that one incoming ACK brings. Times in ns of the hosts' clock."""

    now_ns: int
    """When it arrived."""
    jiffies: int
    """Ticks of the host's timer at that moment."""
    acked: int
    """Segments newly acknowledged cumulatively, whether or not they were SACKed before."""
    delivered: int
    """Segments newly delivered: by SACK, or cumulatively if they were not SACKed before. Windows grow by these."""
    rtt_ns: int | None
    """Round-trip time of the segment sent last among those newly delivered; None if one was retransmitted (Karn's rule)."""
    srtt_ns: int
    """Smoothed round-trip time; 0 before the first sample."""
    cwnd_limited: bool
    """The sender was limited by its window. Told to `on_ack` only, where it is true."""
    ece: bool
    """ECE flag of the ACK."""
    prior_una: int
    """SND.UNA before the ACK, a sequence number."""
    una: int
    """SND.UNA after the ACK."""
    nxt: int
    """SND.NXT."""
    hz: int
    """Timer ticks a second."""

    def __init__(
        self,
        *,
        now_ns: int = 0,
        jiffies: int = 0,
        acked: int = 1,
        delivered: int = 1,
        rtt_ns: int | None = None,
        srtt_ns: int = 0,
        cwnd_limited: bool = True,
        ece: bool = False,
        prior_una: int = 0,
        una: int = 0,
        nxt: int = 0,
        hz: int = 250,
    ) -> None: ...
    @property
    def newly_acked(self) -> int:
        """Segments newly delivered: another name of `delivered`."""

class RateSample:
    """The delivery rate during one segment's flight: of the segment sent last among those that an ACK newly delivers."""

    delivered: int
    """Segments delivered during the flight."""
    lost: int
    """Segments lost during the flight."""
    interval_ns: int
    """Its length, in ns of the hosts' clock: of sending or of acknowledging, whichever took longer."""
    app_limited: bool
    """The application, not the window, limited the sender."""
    @property
    def segments_per_second(self) -> float:
        """Segments delivered a second."""

def run(
    scenario: Scenario,
    control: Control | None = None,
    plugins: dict[str, Any] | None = None,
) -> dict[str, dict[str, Any]]:
    """Runs a plan. Releases the GIL. ValueError for one that cannot be run.

    `plugins` are functions of the user's, whose exceptions end the run: "scheduler" takes the time in ns and a demand matrix,
    and answers with days: per destination its source rack (-1 for none), day and night in ns.
    """

def scenario_schema() -> str:
    """The JSON schema of a resolved plan, from the types that the core reads it into."""

def trace(
    scenario: Scenario,
    pcapng_path: str | None,
    start_ns: int,
    end_ns: int,
    control: Control | None = None,
    plugins: dict[str, Any] | None = None,
) -> dict[str, dict[str, Any]]:
    """Runs a plan up to `end_ns`; keeps the events of [start_ns, end_ns), and its packets in a pcapng."""

def run_stream(
    plan_json: str,
    come: Callable[[], tuple[NDArray[np.int64], ...] | None],
    take: Callable[[dict[str, Any]], None],
    control: Control | None = None,
    plugins: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Runs a resolved plan whose flows are kinds of those that `come` returns, batch by batch in order of start, and None after
    the last: columns of start in ns, numbers of the sending and the receiving host, bytes (-1 without end), when it is killed
    (-1 for never), and kind. `take` is given rows of flows that are over; the table of flows has none."""

def run_linux(
    plan_json: str,
    image: str,
    hz: int,
    control: Control | None = None,
    *,
    programs: Sequence[tuple[int, int, Sequence[str], int, Sequence[str]]] | None = None,
    mode: str = "run",
    folder: str | None = None,
    trace: tuple[int, int, str | None] | None = None,
    memory_mib: int | None = None,
    call_ns: int | None = None,
    polling_ns: int | None = None,
    patience_s: float | None = None,
    output: Callable[[int, int, bytes], None] | None = None,
    plugins: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Runs a resolved plan on the kernel `image`, built for `hz`. Releases the GIL.

    `programs` (rack, host, arguments, start in ns, NAME=VALUE of the environment) run before the plan's. In mode "exec" the end
    of the first program ends the run, in mode "shell" it also has the terminal. `trace` is start and end in ns, and the
    pcapng's path. `output` is told program, stream (1 or 2) and bytes of what programs write. Returns what `run` does, and
    `programs`, `polled`, `console` and with `trace` `events`. ValueError for a plan that Linux cannot run.
    """

def congestion_controls() -> list[dict[str, Any]]:
    """Name, description and parameters of each congestion control."""

def strobe(
    racks: int, day_ns: int, night_ns: int, mimicked: int | None = None
) -> list[dict[str, Any]]:
    """The configurations of a strobe schedule: per destination its source rack, day and night in ns."""

def tournament(racks: int, day_ns: int, night_ns: int) -> list[dict[str, Any]]:
    """The configurations of a tournament schedule, like those of `strobe`."""

def schedulers() -> list[tuple[str, str]]:
    """Name and description of each scheduler."""

def compute_week(
    name: str,
    demand: NDArray[np.uint64],
    *,
    window_ns: int,
    min_day_ns: int,
    night_ns: int,
    circuit_bps: int,
    packet_bps: int,
    threshold_bytes: int,
    only_big: bool,
    seed: int,
) -> dict[str, Any]:
    """Configurations, bytes served, idle time and the time taken. ValueError if there is no such week."""

def serve_week(
    demand: NDArray[np.uint64], days: Sequence[tuple[Sequence[int], int, int]], circuit_bps: int
) -> dict[str, Any]:
    """Bytes served and idle time of a week, whose days are source racks by destination, day and night in ns."""

def read_week(text: str, racks: int, dilation: int) -> list[dict[str, Any]]:
    """The configurations that a file holds. ValueError if it is none."""

def read_demand(text: str) -> list[list[int]]:
    """The demand matrix that a file holds. ValueError if it is none."""

def maximum_matching(matrix: NDArray[np.uint64], threshold: int) -> list[int]:
    """The column of each row in a matching of the most entries of `threshold` or more, -1 for none."""

def heaviest_matching(matrix: NDArray[np.uint64]) -> list[int]:
    """The column of each row in the assignment of largest sum."""

def draw_circuits(
    kind: str, racks: int, switches: int, seed: int
) -> tuple[NDArray[np.uint16], list[int | None]]:
    """A random network: whom each rack meets, by slice, rack and switch (65535: nobody); and the switch that turns dark at each
    slice's end."""

def circuit_hops(
    racks: int,
    switches: int,
    peers: NDArray[np.uint16],
    ending: list[int | None],
    failed: NDArray[np.bool_],
) -> NDArray[np.uint8]:
    """Hops between all racks in all slices; 255 where there is no way."""

def routing_entries(racks: int, switches: int) -> int:
    """Entries of a ToR's tables in Opera."""

class CircuitWays:
    """The routing tables of a network of circuits."""
    def __new__(cls, plan: str) -> CircuitWays:
        """Of a resolved plan, in JSON."""
    def bytes(self) -> int:
        """Bytes of all tables."""
    def next(
        self,
        slices: tuple[int, int],
        racks: tuple[int, int, int],
        hops: int,
        class_: int,
        label: int,
    ) -> tuple[str, int]:
        """What becomes of a packet: ("deliver", 0), ("now", uplink), ("await", rack) or ("nowhere", 0)."""

def match_graph(neighbours: list[list[int]]) -> list[list[int]]:
    """A static graph as matchings, uplink by uplink: for each node the one that it leads to, 65535 for none."""

def parse_span(text: str) -> int:
    """Nanoseconds of "180us"."""

def parse_rate(text: str) -> int:
    """Bits a second of "10Gbps"."""

def parse_bytes(text: str) -> int:
    """Bytes of "1MB"."""

def format_span(ns: int) -> str:
    """Nanoseconds as text, exact."""

def format_rate(bps: int) -> str:
    """Bits a second as text, exact."""

def format_bytes(n: int) -> str:
    """Bytes as text, exact."""

def collective_algorithms() -> list[tuple[str, str, str]]:
    """The algorithms of collectives: what each is for, its name, and a line about it; the default of a collective first."""

def job_steps(deeds: str, ranks: int) -> int:
    """Steps of an iteration of a list of work (JSON) among so many ranks; those of algorithms that do not fit are none."""

def job_circuits(
    job: str,
    first: Sequence[tuple[int, int]],
    packets: bool,
    bypass: bool,
    reach: tuple[int, int],
) -> tuple[str, str] | None:
    """What is wrong with the circuits that a job (JSON) asks for: its key, and a sentence. `first` are up at the start.
    `reach`: uplinks of a rack, and circuits in a row that messages may take."""

def job_messages(job: str) -> list[tuple[int, list[tuple[int, int, int]]]]:
    """Steps of an iteration of a job (JSON) in which racks exchange messages: the number of each, and (source, destination,
    bytes)."""

def deal_circuits(circuits: Sequence[tuple[int, int]], uplinks: int) -> list[tuple[int, int, int]]:
    """Of each circuit its uplink, source and destination rack, so that no rack uses an uplink twice. Raises `ValueError` if a
    rack has more circuits than uplinks."""

def goal_contents(path: str) -> tuple[int, int, int] | tuple[int, str]:
    """What a trace in GOAL comes to: ranks, operations, pairs of ranks; or the line that is wrong (0: the file), and why."""

def job_problem(deeds: str, ranks: int) -> tuple[int, str] | int:
    """The first entry whose algorithm does not fit, and why; else how many connections the ranks will have."""

def collective_steps(
    kind: str, algorithm: str, ranks: int, bytes: int
) -> list[list[tuple[int, int, int]]]:
    """The messages of each step of a collective: from which rank to which, and how many bytes. Raises `ValueError`."""
