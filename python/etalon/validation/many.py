# SPDX-License-Identifier: MIT OR Apache-2.0
"""Drawn plans on both engines: their numbers, kept as they come, so that a call goes on where the last one was stopped."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

from etalon import _core
from etalon import engine as engines
from etalon.campaign.runs import prepare, run_all
from etalon.engine import Engine, Options, Progress, Status
from etalon.errors import EngineFailed, PlanError
from etalon.plan import Plan
from etalon.results import Run
from etalon.validation.drawn import Drawn
from etalon.validation.judged import SEEDS, Judged, Numbers
from etalon.validation.quantities import ANY_PLAN

MOST_SEEDS = 20
"""Of a plan whose engines `SEEDS` seeds do not tell apart."""
NUMBERS = "numbers.jsonl"
PLANS = "plans"
TOGETHER = 24
"""Plans whose runs are in memory at a time."""


@dataclass
class Kept:
    """The numbers in a folder, a line of JSON a run."""

    folder: Path
    rows: dict[tuple[str, str, str], Numbers] = field(default_factory=dict)
    """By digest of the plan, engine and build of the engine."""

    @classmethod
    def of(cls, folder: Path) -> Kept:
        """What the folder has; a line that was cut off is measured again.

        Raises:
            PlanError: if there is something else.
        """
        if folder.exists() and not folder.is_dir():
            raise PlanError("is no folder", file=str(folder))
        if folder.exists() and any(folder.iterdir()) and not (folder / NUMBERS).exists():
            raise PlanError(f"is not empty and has no {NUMBERS}: name another", file=str(folder))
        kept = cls(folder)
        if (folder / NUMBERS).exists():
            for line in (folder / NUMBERS).read_text(encoding="utf-8").splitlines():
                try:
                    row = Numbers(**json.loads(line))
                except (ValueError, TypeError):
                    continue
                kept.rows[row.plan, row.engine, row.build] = row
        return kept

    def begin(self, drawn: Sequence[Drawn]) -> None:
        """Writes the plans, so that each can be run by hand, and ends a line that was cut off."""
        (self.folder / PLANS).mkdir(parents=True, exist_ok=True)
        for one in drawn:
            one.plan.save(self.folder / PLANS / f"{one.plan.name}.toml", force=True)
        with (self.folder / NUMBERS).open("a+b") as file:
            if file.tell() and not _ends_a_line(file):
                file.write(b"\n")

    def add(self, row: Numbers) -> None:
        """Keeps a run's numbers."""
        self.rows[row.plan, row.engine, row.build] = row
        with (self.folder / NUMBERS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(row)) + "\n")

    def get(self, plan: Plan, engine: Engine) -> Numbers | None:
        """The plan's numbers by this build of the engine."""
        return self.rows.get((plan.digest, engine.NAME, engine.digest(plan)))


def _ends_a_line(file: Any) -> bool:
    file.seek(-1, 2)
    return bool(file.read(1) == b"\n")


@dataclass
class Enduring:
    """An engine that gives what was measured where the other would fail, and takes the time."""

    engine: Engine
    seconds: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    """By digest of the plan: why it did not come to its end."""
    NAME: str = field(init=False)
    DESCRIPTION: str = field(init=False)

    def __post_init__(self) -> None:
        self.NAME, self.DESCRIPTION = self.engine.NAME, self.engine.DESCRIPTION

    @property
    def options(self) -> Options:
        """As the other's."""
        return self.engine.options

    def problems(self, plan: Plan) -> list[PlanError]:
        """As the other's."""
        return self.engine.problems(plan)

    def missing(self, plans: Sequence[Plan]) -> str:
        """As the other's."""
        return self.engine.missing(plans)

    def prepare(
        self, plans: Sequence[Plan], progress: Progress | None = None, status: Status | None = None
    ) -> None:
        """As the other's."""
        self.engine.prepare(plans, progress, status)

    def digest(self, plan: Plan) -> str:
        """As the other's."""
        return self.engine.digest(plan)

    def run(self, plan: Plan, control: _core.Control) -> Run:
        """Runs a plan. Raises `EngineFailed` only if nothing was measured."""
        begun = time.monotonic()
        try:
            return self.engine.run(plan, control)
        except EngineFailed as failure:
            self.failed[plan.digest] = str(failure)
            if failure.run is None:
                raise
            return cast(Run, failure.run)
        finally:
            self.seconds[plan.digest] = time.monotonic() - begun

    def trace(
        self, plan: Plan, control: _core.Control, start_ns: int, end_ns: int, pcapng: Path | None
    ) -> dict[str, Any]:
        """As the other's."""
        return self.engine.trace(plan, control, start_ns, end_ns, pcapng)


def judge(
    drawn: Sequence[Drawn],
    folder: Path,
    *,
    names: Sequence[str | Engine] = ("sim", "linux"),
    jobs: int | None = None,
    progress: Progress | None = None,
) -> list[Judged]:
    """Runs what the folder lacks of the plans on both engines, those that are out of bounds with more seeds, and judges them.

    Raises:
        Interrupted: after Ctrl-C; what was measured is kept.
    """
    both = [Enduring(engines.named(name)) for name in names]
    kept = Kept.of(folder)
    for engine in both:
        prepare([one.plan for one in drawn], engine)
    kept.begin(drawn)
    first, second = 0.5, 0.7  # of the work, about

    def part(least: float, most: float) -> Progress | None:
        return progress and (lambda share: progress(least + (most - least) * share))

    _measure([one.plan for one in drawn], both, kept, jobs, part(0, first))
    rows = [_judged(one, both, kept) for one in drawn]
    more = [plan for row in rows if not row.holds for plan in _seeds(row.drawn.plan, SEEDS)]
    _measure(more, both, kept, jobs, part(first, second))
    rows = [_judged(one, both, kept) for one in drawn]
    most = [plan for row in rows if row.undecided for plan in _seeds(row.drawn.plan, MOST_SEEDS)]
    _measure(most, both, kept, jobs, part(second, 1))
    return [_judged(one, both, kept) for one in drawn]


def _seeds(plan: Plan, count: int) -> Iterator[Plan]:
    """The plan with its seed, and with others."""
    for more in range(count):
        yield plan.replace(seed=plan.seed + 10_000 * more) if more else plan


def _measure(
    plans: Sequence[Plan],
    both: Sequence[Enduring],
    kept: Kept,
    jobs: int | None,
    progress: Progress | None,
) -> None:
    """Runs what is missing, a few plans at a time."""
    for begin in range(0, len(plans), TOGETHER):
        for place, engine in enumerate(both):
            chunk = plans[begin : begin + TOGETHER]
            missing = [plan for plan in chunk if kept.get(plan, engine) is None]

            def keep(_: int, run: Run, engine: Enduring = engine) -> None:
                kept.add(_numbers(run, engine))

            def told(share: float, begin: int = begin, place: int = place) -> None:
                if progress is not None:
                    done = begin + (place + share) / len(both) * TOGETHER
                    progress(min(done / len(plans), 1.0))

            run_all(missing, engine, jobs=jobs, progress=told, done=keep)


def _numbers(run: Run, engine: Enduring) -> Numbers:
    """What is kept of a run."""
    plan = run.plan
    values = {quantity.key: quantity.of(run) for quantity in ANY_PLAN}
    return Numbers(
        plan=plan.digest,
        name=plan.name,
        engine=engine.NAME,
        build=engine.digest(plan),
        seed=plan.seed,
        seconds=round(engine.seconds.get(plan.digest, 0.0), 3),
        packets=sum(run.total("pairs", f"{plane}_packets") for plane in run.planes),
        failed=engine.failed.get(plan.digest, "it was stopped" if run.partial else ""),
        numbers={key: None if value != value else value for key, value in values.items()},
    )


def _judged(one: Drawn, both: Sequence[Enduring], kept: Kept) -> Judged:
    """The plan by all seeds that both engines have."""
    found: list[Mapping[str, Numbers]] = []
    for plan in _seeds(one.plan, MOST_SEEDS):
        rows = {engine.NAME: kept.get(plan, engine) for engine in both}
        if any(row is None for row in rows.values()):
            break
        found.append({name: row for name, row in rows.items() if row is not None})
    sim, linux = (tuple(rows[engine.NAME] for rows in found) for engine in both)
    return Judged(one, sim, linux)
