# SPDX-License-Identifier: MIT OR Apache-2.0
"""Committed pages with measured numbers, and whether what measured them still behaves the same.

Such a page carries a stamp, a comment that no reader sees:

    <!-- measured by
    again = ["etalon validate --out docs/validation.md"]
    sim = ["papers/nsdi20/plans/strobe"]
    linux = ["examples/tdtcp"]
    digest = "0123456789abcdef"
    -->

`sim` and `linux` name its *witnesses*: plans that the golden runs (`tests/python/test_golden.py`) hold to the byte on that
engine, and whose behaviour the page rests on. The digest mixes what the witnesses gave when the page was measured: their
digests, which know every packet, and their summaries. It stays when documentation, comments or speed change, and moves when
results do. Commands that write a page stamp it; what is made by hand is stamped by `python docs/measured.py --accept PAGE`.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from etalon import api, files
from etalon.errors import PlanError
from etalon.plan import Plan
from etalon.results import Run

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/python/__snapshots__/test_golden.ambr"
ENGINES = {"sim": "test_simulator", "linux": "test_linux"}
"""By engine: the golden test that holds its runs."""

METRICS = (
    "bytes_unfinished", "circuit_latency_p50", "circuit_latency_p99", "circuit_utilization",
    "circuit_utilization_nsdi20", "days_in_order", "drops", "fct_p50", "fct_p99", "fct_p999", "goodput", "job_time",
    "latency_p50", "latency_p99", "marked", "packet_latency_p50", "packet_latency_p99", "packet_utilization",
    "retransmits", "rtos", "slowdown_p50", "slowdown_p99", "spurious", "voq_mean", "write_p50", "write_p99",
    "write_throughput",
)  # fmt: skip
"""What pages print. A new metric is on no page yet: it comes to this list with a page that has it."""

_STAMP = re.compile(r"<!-- measured by\n(.*?)-->", re.DOTALL)
_OLD = re.compile(r"^> [^\n]*to be measured again\.\n\n?", re.MULTILINE)
"""What a page whose numbers are known to be old tells its readers."""

Record = Mapping[str, str]
"""What a witness gave: its digest, and its summary as text."""


@dataclass(frozen=True)
class Stamp:
    """What measured a page, as the page says."""

    again: tuple[str, ...]
    """The commands that measure it again."""
    sim: tuple[str, ...] = ()
    linux: tuple[str, ...] = ()
    digest: str = ""

    def witnesses(self) -> Iterator[tuple[str, str]]:
        """Engine and name, in the order in which the digest has them."""
        for engine in ENGINES:
            yield from ((engine, name) for name in getattr(self, engine))

    def mixed(self, records: Mapping[tuple[str, str], Record]) -> str:
        """The digest over what its witnesses gave, 16 hexadecimal digits."""
        whole = hashlib.sha256()
        for witness in self.witnesses():
            record = records[witness]
            values = (record.get(name, "none") for name in ("digest", *METRICS))
            whole.update(" ".join((*witness, *values, "\n")).encode())
        return whole.hexdigest()[:16]


def record(run: Run) -> dict[str, str]:
    """A run's digest and summary, in as many digits as a change of the arithmetic's order leaves alone."""
    summary = {
        key: "none" if value is None else f"{value:.9g}" for key, value in run.summary().items()
    }
    return {"digest": run.meta["digest"], **summary}


def golden(path: Path = GOLDEN) -> dict[tuple[str, str], Record]:
    """The golden runs of the tree, by engine and name."""
    engines = {test: engine for engine, test in ENGINES.items()}
    found: dict[tuple[str, str], Record] = {}
    for part in path.read_text(encoding="utf-8").split("# name: ")[1:]:
        test, name = part.partition("]")[0].split("[")
        found[engines[test], name] = dict(re.findall(r"'(\w+)': '([^']*)'", part))
    return found


def stamp_of(text: str, page: str) -> Stamp | None:
    """The stamp that a page's text carries, if it has one.

    Raises:
        PlanError: if it cannot be read.
    """
    found = _STAMP.search(text)
    if found is None:
        return None
    try:
        values = tomllib.loads(found[1])
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"its stamp is no TOML: {error}", file=page) from None
    known = {field.name for field in fields(Stamp)}
    if not values.get("again") or values.keys() - known:
        raise PlanError(f"its stamp has `again` and some of {', '.join(sorted(known))}", file=page)
    lists = {key: tuple(value) for key, value in values.items() if key != "digest"}
    return Stamp(**lists, digest=values.get("digest", ""))


def comment(text: str) -> str:
    """The stamp of a page's text as it stands there; nothing if it has none."""
    found = _STAMP.search(text)
    return found[0] if found else ""


def says_it_is_old(text: str) -> bool:
    """Whether a page tells its readers that its numbers are old."""
    return _OLD.search(text) is not None


def stale(text: str, page: str, records: Mapping[tuple[str, str], Record]) -> str | None:
    """The sentence about a page whose numbers are older than these golden runs; None if they are not, or it has none."""
    stamp = stamp_of(text, page)
    if stamp is None:
        return None
    missing = [
        f"{name} ({engine})" for engine, name in stamp.witnesses() if (engine, name) not in records
    ]
    if missing:
        return f"{page}: its stamp names {', '.join(missing)}, but there is no such golden run."
    if stamp.digest == stamp.mixed(records) and not says_it_is_old(text):
        return None
    again = "; ".join(f"`{command}`" for command in stamp.again)
    return (
        f"{page} was measured when its witnesses behaved otherwise than now. Measure it again: {again}. "
        f"What does not stamp the page itself is followed by `python docs/measured.py --accept {page}`."
    )


def stamped(text: str, page: str) -> str:
    """The text of a page that has just been measured, with what its witnesses give by this core and kernel, which are run.

    A note that its numbers are old goes. Text without a stamp stays as it is.
    """
    stamp = stamp_of(text, page)
    if stamp is None:
        return text
    records: dict[tuple[str, str], Record] = {}
    for engine in ENGINES:
        names = getattr(stamp, engine)
        plans = [Plan.load(ROOT / f"{name}.toml") for name in names]
        runs = api.run_many(plans, engine=engine) if plans else []
        records |= {(engine, name): record(run) for name, run in zip(names, runs, strict=True)}
    lines = [line for line in comment(text).splitlines() if not line.startswith("digest")]
    lines.insert(-1, f'digest = "{stamp.mixed(records)}"')
    return _OLD.sub("", text.replace(comment(text), "\n".join(lines)))


BEGIN, END = "<!-- measured -->", "<!-- end of what was measured -->"
"""Between them stands what a command writes into a page; what people wrote around it stays."""


def marks(part: str = "") -> tuple[str, str]:
    """The two marks of a page's measured part; pages that several commands write have named parts beside the first."""
    if not part:
        return BEGIN, END
    return f"<!-- measured: {part} -->", f"<!-- end of what was measured: {part} -->"


def check(page: Path, part: str = "") -> tuple[str, str]:
    """What stands before and behind the measured part. A page that is not there has none.

    Raises:
        PlanError: if the page has no such marks.
    """
    if not page.exists():
        return "", "\n"
    text = page.read_text(encoding="utf-8")
    first, last = marks(part)
    head, begin, rest = text.partition(first)
    _, end, tail = rest.partition(last)
    if not begin or not end:
        raise PlanError(
            f"has no line {first} with a line {last} after it; the results go between the two",
            file=str(page),
        )
    return head, tail


def put(
    page: Path, measured: str, title: str = "", by: str = "", part: str = ""
) -> tuple[str, ...]:
    """Writes what was measured between the two marks of a page, and its stamp. A page that is not there begins with `title`.

    Where the page is measured `by` more commands than this one, it is not stamped: returns the others. A named `part` never
    stamps its page: the page's first command does.

    Raises:
        PlanError: if the page has no such marks.
    """
    head, tail = check(page, part)
    first, last = marks(part)
    text = f"{head or title}{first}\n\n{measured}\n{last}{tail}"
    stamp = stamp_of(text, str(page))
    others = tuple(command for command in stamp.again if by and command != by) if stamp else ()
    files.put(page, text if others or part else stamped(text, str(page)))
    return others


def every() -> list[Path]:
    """All pages of the tree."""
    folders = (".", "docs", "docs/recipes", "benches", "kernel", "hdfs", "papers/*", "crates/*")
    return sorted(path for folder in folders for path in ROOT.glob(f"{folder}/*.md"))


def accept(page: Path) -> None:
    """Stamps a page that was made by hand.

    Raises:
        PlanError: if it has no stamp to be renewed.
    """
    text = page.read_text(encoding="utf-8")
    if stamp_of(text, str(page)) is None:
        raise PlanError(
            "has no stamp (python/etalon/pages.py shows what one looks like)", file=str(page)
        )
    files.put(page, stamped(text, str(page)))
