# SPDX-License-Identifier: MIT OR Apache-2.0
"""What `etalon validate --random` reports on drawn plans, in a terminal and on a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from etalon import pages
from etalon.validation.judged import SEEDS, Judged, Share, clusters, shares

PART = "drawn plans"
"""Of the page."""
ITSELF = "Linux beside itself"
"""Another."""


def share_rows(rows: Sequence[Judged]) -> Iterator[tuple[str, ...]]:
    """By transport: the share within bounds, the plans that their seeds leave open, the share without these, and the share
    by five seeds and by one."""
    decided = shares([row for row in rows if not row.undecided])
    five = shares(rows, lambda row: row.held_by(SEEDS))
    first = shares(rows, lambda row: row.held_by(1))
    for transport, share in shares(rows).items():
        without = decided.get(transport, Share(0, 0))
        yield (
            transport,
            str(share),
            f"{share.of - without.of}",
            str(without),
            f"{five[transport].percent:.0f} %",
            f"{first[transport].percent:.0f} %",
        )


SHARE_COLUMNS = (
    "transport", "within all bounds (95 %)", "left open", "of those decided (95 %)", "by five seeds", "by one",
)  # fmt: skip


def cluster_lines(rows: Sequence[Judged]) -> Iterator[str]:
    """What the plans out of bounds have in common."""
    for cluster in clusters(rows):
        of = f" of {cluster.of}" if cluster.name != "others" else ""
        differs = "; ".join(cluster.differs) or "no quantity in half of them"
        names = ", ".join(row.drawn.plan.name for row in cluster.rows)
        yield f"{cluster.name}: {len(cluster.rows)}{of} ({differs}): {names}"


def plan_rows(rows: Sequence[Judged]) -> Iterator[tuple[str, ...]]:
    """A row a plan: what it is, its packets, the time of each engine in s, and what differs."""
    for row in rows:
        traits = " ".join(value for _, value in row.drawn.traits if value != "none")
        seconds = (f"{sum(x.seconds for x in engine):.1f}" for engine in (row.sim, row.linux))
        yield row.drawn.plan.name, traits, f"{row.sim[0].packets}", *seconds, verdict(row)


def plan_columns(first: str) -> tuple[str, ...]:
    """The columns of these rows, where `first` is beside Linux."""
    return "plan", "traits", "packets", f"{first} (s)", "linux (s)", "out of bounds"


def verdict(row: Judged) -> str:
    """What is out of bounds, the first engine / Linux, the furthest first; empty if nothing is."""
    if row.failed:
        return row.failed
    worst = row.worst
    if worst is None:
        return ""
    more = f" and {len(row.outside) - 1} more" if len(row.outside) > 1 else ""
    spread = " (left open by its seeds)" if row.undecided else ""
    return f"{worst.quantity.key} {worst.sim:.4g} / {worst.linux:.4g}{more}{spread}"


def headline(rows: Sequence[Judged], seed: int) -> str:
    """What was run."""
    packets = sum(x.packets for row in rows for x in (*row.sim, *row.linux))
    seconds = sum(row.seconds for row in rows)
    took = f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.0f} s"
    runs = sum(len(row.sim) + len(row.linux) for row in rows)
    return (
        f"{len(rows)} plans of seed {seed}, {runs} runs, {packets / 1e6:.1f} million packets; "
        f"one after another, the runs took {took}"
    )


def as_dict(row: Judged, first: str) -> dict[str, Any]:
    """The row of the JSON list, where the engine `first` is beside Linux."""
    return {
        "plan": row.drawn.plan.name,
        **dict(row.drawn.traits),
        "seeds": len(row.sim),
        "holds": row.holds,
        "undecided": row.undecided,
        "failed": row.failed,
        "seconds": {
            first: sum(x.seconds for x in row.sim),
            "linux": sum(x.seconds for x in row.linux),
        },
        "numbers": {
            one.quantity.key: {first: one.sim, "linux": one.linux, "holds": one.holds}
            for one in row.beside
        },
    }


def write(rows: Sequence[Judged], seed: int, page: Path, part: str) -> None:
    """Writes the shares and clusters into this part of the page."""
    lines = [
        f"{headline(rows, seed)}.",
        "",
        f"| {' | '.join(SHARE_COLUMNS)} |",
        "|---|" + "---:|" * (len(SHARE_COLUMNS) - 1),
        *(f"| {' | '.join(row)} |" for row in share_rows(rows)),
        "",
        "Plans out of bounds, grouped by what they have in common (in brackets: quantities out of bounds in at least half of "
        "them, and the median difference):",
        "",
        *(f"- {line}" for line in cluster_lines(rows)),
    ]
    pages.put(page, "\n".join(lines) + "\n", "# Drawn plans\n\n", part=part)
