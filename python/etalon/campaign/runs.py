# SPDX-License-Identifier: MIT OR Apache-2.0
"""Many runs: all of them, or those that a store lacks."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from etalon import engine as engines
from etalon.campaign import executors
from etalon.campaign.executors.base import Done
from etalon.campaign.store import Store
from etalon.engine import Engine, Progress
from etalon.errors import EngineFailed, Interrupted, warn
from etalon.plan import Plan
from etalon.results import Run


def run_all(
    plans: Sequence[Plan],
    engine: str | Engine,
    *,
    executor: str = "local",
    jobs: int | None = None,
    progress: Progress | None = None,
    done: Done | None = None,
) -> list[Run]:
    """Runs plans, `jobs` at a time; the results are in the order of the plans and depend on neither `jobs` nor `executor`.

    What the engine needs is made first. Ctrl-C stops what runs and raises `Interrupted` with all that was measured. If one
    plan fails, all stop.
    """
    where = executors.named(executor)
    chosen = engines.check(plans, engine)
    prepare(plans, chosen)
    return where.execute(plans, chosen, jobs=jobs, progress=progress, done=done)


def prepare(plans: Sequence[Plan], engine: Engine) -> None:
    """Makes what the engine needs, and says so if that takes long."""
    if missing := engine.missing(plans):
        print(missing, file=sys.stderr)
    engine.prepare(plans)


def warn_of(what: Iterable[Plan | Run]) -> None:
    """Warns of plans or results that do not say what was probably meant, each sentence once."""
    for sentence in dict.fromkeys(sentence for one in what for sentence in one.warnings):
        warn(sentence)


@dataclass
class Outcome:
    """What a campaign did."""

    runs: dict[str, Run] = field(default_factory=dict)
    """The runs that were made, by the digest of their plan; those that Ctrl-C cut short are marked as partial."""
    interrupted: bool = False
    """Ctrl-C came. Whole runs are kept."""


def run_missing(
    plans: Iterable[Plan],
    store: Store,
    *,
    fresh: bool = False,
    keep_partial: bool = False,
    executor: str = "local",
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Runs the plans that the store lacks, each once, or with `fresh` all; keeps each run as soon as it is complete.

    After Ctrl-C the same call goes on from there. `keep_partial` also keeps what interrupted and failed runs have measured,
    unless the store has the whole run. `progress` is the share of all plans, those included that the store has.

    Raises:
        EngineFailed: if a run does not come to its end; `log` says where its console is kept, if it is.
    """
    wanted = {plan.digest: plan for plan in plans}
    missing = [plan for plan in wanted.values() if fresh or not store.has(plan)]
    outcome = Outcome()

    def overall(share: float) -> None:
        if progress is not None:
            progress((len(wanted) - len(missing) + share * len(missing)) / max(len(wanted), 1))

    def keep(_: int, run: Run) -> None:
        store.add(run)
        outcome.runs[run.plan.digest] = run

    try:
        run_all(missing, store.engine, executor=executor, jobs=jobs, progress=overall, done=keep)
    except Interrupted as stop:
        outcome.interrupted = True
        for run in stop.runs:
            if run.plan.digest in outcome.runs:
                continue
            outcome.runs[run.plan.digest] = run
            if not run.partial or (keep_partial and not store.whole(run.plan)):
                store.add(run)
    except EngineFailed as failure:
        if keep_partial and failure.run is not None and not store.whole(failure.run.plan):
            failure.log = store.add_failed(failure)
        raise
    return outcome
