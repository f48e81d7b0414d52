"""Types of the Rust core (crates/etalon-py)."""

from typing import Any, final

__all__ = [
    "Control",
    "__version__",
    "congestion_controls",
    "format_bytes",
    "format_rate",
    "format_span",
    "parse_bytes",
    "parse_rate",
    "parse_span",
    "run",
    "strobe",
    "trace",
]

__version__: str

@final
class Control:
    """Shared by the thread that runs and the one that watches."""

    def __init__(self) -> None: ...
    def stop(self) -> None:
        """The run ends soon and returns what it measured, with meta["partial"] set."""

    @property
    def progress(self) -> float:
        """Share of the simulated time that is done, 0 to 1."""

def run(plan_json: str, control: Control | None = None) -> dict[str, dict[str, Any]]:
    """Runs a resolved plan. Releases the GIL. ValueError for a bad plan."""

def trace(
    plan_json: str,
    pcapng_path: str | None,
    start_ns: int,
    end_ns: int,
    control: Control | None = None,
) -> dict[str, dict[str, Any]]:
    """Runs a resolved plan up to `end_ns`; keeps the events of [start_ns, end_ns), and its packets in a pcapng."""

def congestion_controls() -> list[dict[str, Any]]:
    """Name, description and parameters of each congestion control."""

def strobe(
    racks: int, day_ns: int, night_ns: int, mimicked: int | None = None
) -> list[dict[str, Any]]:
    """The configurations of a strobe schedule: per destination its source rack, day and night in ns."""

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
