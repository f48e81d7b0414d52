# SPDX-License-Identifier: MIT OR Apache-2.0
"""How often a segment is resent once more although its last retransmission was not lost.

RACK would do so where an ACK tells of a segment that left at the same instant as the retransmission, but before it: by time and
sequence number the retransmission is the older one (`judge_retransmissions` in `scoreboard.rs` goes by the order of sending).
Asked of the reference plans; `python tests/python/test_fresh.py` prints the counts of both engines.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest

from conftest import ROOT
from etalon import _core
from etalon import engine as engines
from etalon.plan import Plan
from oracle import packets

PLANS = {
    "papers/nsdi20/plans/strobe.toml": 40,
    "papers/nsdi20/plans/validation.toml": 40,
    "papers/sigcomm22/plans/bw-lat.toml": 60,
}
"""Reference plans, and how many of their weeks are looked at."""


class Found(NamedTuple):
    """Counts of one run."""

    segments: int
    resent: int
    needless: int


def traced(name: str, engine: str, folder: Path) -> list[packets.Packet]:
    """The packets of a reference plan's first weeks."""
    plan = Plan.load(ROOT / name)
    until = PLANS[name] * plan.week_ns
    capture = folder / "trace.pcapng"
    shorter = plan.replace({"duration": f"{until}ns", "warmup": "0s"})
    engines.named(engine).trace(shorter, _core.Control(), 0, until, capture)
    return packets.read(capture)


def count(seen: list[packets.Packet]) -> Found:
    """Counts what enters the network more than once, and how often a copy follows a retransmission that was not dropped."""
    copies = defaultdict(list)
    for packet in seen:
        if packet.payload and (packet.place.endswith("-in") or packet.place == "drops"):
            flow = packet.src, packet.dst, packet.ports
            copies[flow, packet.seq].append(packet.place == "drops")
    needless = 0
    for happened in copies.values():
        entries = [at for at, dropped in enumerate(happened) if not dropped]
        for earlier, later in pairwise(entries[1:]):
            needless += later == earlier + 1
    entered = [len(happened) - sum(happened) for happened in copies.values()]
    return Found(sum(entered), sum(entered) - len(entered), needless)


@pytest.mark.parametrize("name", PLANS)
def test_few_retransmissions_are_resent_in_vain(name: str, tmp_path: Path) -> None:
    found = count(traced(name, "sim", tmp_path))
    assert found.resent > 1000, "the plan loses little"
    assert found.needless <= found.resent / 100


def main() -> None:
    """Prints the counts."""
    for name in PLANS:
        for engine in ("sim", "linux"):
            with TemporaryDirectory() as folder:
                print(name, engine, count(traced(name, engine, Path(folder))))


if __name__ == "__main__":
    main()
