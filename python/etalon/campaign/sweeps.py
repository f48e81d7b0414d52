"""Sweeps: one plan over a grid of values and seeds, as one tidy table; resumable from its folder."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from etalon import _core, files
from etalon import engine as engines
from etalon.campaign import executors
from etalon.campaign.runs import prepare, run_all, run_missing, warn_of
from etalon.campaign.store import Store
from etalon.engine import Engine, Progress
from etalon.errors import EtalonError, Interrupted, Occupied, PlanError
from etalon.plan import Plan
from etalon.results import Run, store
from etalon.units import shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_POINTS = 100_000
"""Runs of a sweep."""
TABLE = "table"
PARTIAL_TABLE = "table.partial"
"""Name of the table, without suffix, of a sweep that is not complete."""
DESCRIPTION = {"version": str, "engine": str, "plan": dict, "grid": dict, "seeds": list}
"""Keys of `sweep.json`."""


@dataclass(frozen=True)
class Point:
    """One plan of a sweep, with the values that set it apart."""

    values: dict[str, Any]
    plan: Plan

    @property
    def folder(self) -> str:
        """The name of its run's folder."""
        return folder_of(self.plan)


@dataclass(frozen=True)
class Sweep:
    """The runs of a grid, in the order of the grid; seeds vary fastest."""

    plan: Plan
    points: list[Point]
    runs: list[Run]

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row a run: the values of the grid, the seed, every metric."""
        return tabulate(zip(self.points, self.runs, strict=True))

    @classmethod
    def load(cls, folder: str | Path) -> Sweep:
        """Reads a complete sweep's folder back."""
        folder = Path(folder)
        said = read_description(folder)
        plan = Plan.from_dict(said["plan"], file=str(folder / store.SWEEP))
        seeds = None if "seed" in said["grid"] else said["seeds"]
        points = points_of(plan, said["grid"], seeds)
        missing = sum(not store.complete(folder / folder_of(point.plan)) for point in points)
        if missing:
            raise EtalonError(
                f"{folder}: {missing} of {len(points)} runs are missing; `etalon sweep` goes on with it"
            )
        return cls(plan, points, [Run.load(folder / folder_of(point.plan)) for point in points])

    def plot(
        self, figure: str, x: str | None = None, series: str | None = None, **more: Any
    ) -> Figure:
        """Draws the sweep: sweep.plot("utilization", x="network.voq", series="bulk.cc").

        Args:
            figure: utilization, latency, congestion_controls or another figure over a parameter; `etalon list figures`.
            x: the key along the axis; without it, the only one that fits.
            series: the key that tells the series apart; without it, the other one that varies, if there is one.
            more: further arguments of the figure.
        """
        from etalon.figures import sweeps

        return sweeps.draw(self, figure, x, series, **more)

    def select(self, **values: Any) -> list[Run]:
        """The runs at some values; write the dots of a key as double underscores: select(network__voq=16)."""
        wanted = {key.replace("__", "."): value for key, value in values.items()}
        unknown = set(wanted) - {"seed", *(key for point in self.points for key in point.values)}
        if unknown:
            raise EtalonError(f"the sweep does not vary {', '.join(sorted(unknown))}")
        return [
            run
            for point, run in zip(self.points, self.runs, strict=True)
            if all(
                (point.values | {"seed": point.plan.seed})[key] == value
                for key, value in wanted.items()
            )
        ]


def tabulate(results: Iterator[tuple[Point, Run]]) -> pl.DataFrame:
    """One row a run: the values of the grid, the seed, every metric, whether it is partial."""
    rows = [
        {key: _cell(value) for key, value in point.values.items()}
        | {"seed": run.plan.seed}
        | run.summary()
        | {"partial": run.partial}
        for point, run in results
    ]
    return pl.DataFrame(rows, infer_schema_length=None, strict=False)


def _cell(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float, str)) else json.dumps(value)


def folder_of(plan: Plan) -> str:
    """The name of the folder with a point's run."""
    return plan.digest[:16]


def points_of(
    plan: Plan, grid: Mapping[str, Sequence[Any]], seeds: int | Sequence[int] | None = None
) -> list[Point]:
    """The plans of a grid over dotted keys. `seeds`: how many, from the plan's on, or which; not with `seed` in the grid."""
    for key, values in grid.items():
        if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
            raise PlanError(
                f"a sweep takes a list of values, not {values!r}", key=key, value=values
            )
        if not values:
            raise PlanError("the list of values is empty", key=key)
        for at, value in enumerate(values):
            if value in values[:at]:
                raise PlanError(f"{shown(value)} is given twice", key=key, value=value)
    if "seed" in grid and seeds is not None:
        raise PlanError(
            "the grid varies seed; give its values there or seeds, not both", key="seeds"
        )
    if seeds is None:
        seeds = 1
    if isinstance(seeds, int):
        if seeds < 1:
            raise PlanError(f"{seeds} must be at least 1", key="seeds", value=seeds)
        seeds = range(plan.seed, plan.seed + seeds)
    number = math.prod(len(values) for values in grid.values()) * len(seeds)
    if number > MOST_POINTS:
        raise PlanError(f"the sweep has {number} runs; at most {MOST_POINTS} are run in one")
    points = []
    for chosen in itertools.product(*grid.values()):
        point = dict(zip(grid, chosen, strict=True))
        for seed in [point["seed"]] if "seed" in point else seeds:
            points.append(Point(point, plan.replace({**point, "seed": seed})))
    return points


def sweep(
    plan: Plan,
    grid: Mapping[str, Sequence[Any]],
    *,
    seeds: int | Sequence[int] | None = None,
    jobs: int | None = None,
    folder: str | Path | None = None,
    engine: str | Engine = "sim",
    executor: str = "local",
    fresh: bool = False,
    progress: Progress | None = None,
) -> Sweep:
    """Runs a plan at every point of a grid: sweep(plan, {"network.voq": [4, 8, 16]}, seeds=3).

    With a `folder`, every run is kept in it as soon as it is complete, and those already there are not run again, so
    that a sweep that was interrupted goes on where it stopped, and a larger grid of the same keys runs what is new. With
    `fresh` all are run again, and another sweep that was in the folder is replaced.

    `executor` says where they run, `jobs` at a time: "local", "ray", "dask" or "slurm" (`etalon list executors`). The
    results are the same, and a sweep may go on with another executor.
    """
    executors.named(executor)  # or a sentence, before anything is written
    points = points_of(plan, grid, seeds)
    plans = [point.plan for point in points]
    warn_of(plans)
    if folder is None:
        runs = run_all(plans, engine, executor=executor, jobs=jobs, progress=progress)
        warn_of(runs)
        return Sweep(plan, points, runs)
    chosen = engines.check(plans, engine)
    prepare(plans, chosen)  # and with it its digest
    kept = _Folder(Path(folder), chosen.NAME)
    kept.open(plan, grid, [one.seed for one in plans], fresh)
    store = Store(chosen, kept.place)
    done = run_missing(plans, store, fresh=fresh, executor=executor, jobs=jobs, progress=progress)
    if done.interrupted:
        whole = [(point, store.load(point.plan)) for point in points if store.has(point.plan)]
        if whole:
            kept.write(tabulate(iter(whole)), partial=len(whole) < len(points))
        raise Interrupted([run for _, run in whole])
    warn_of(done.runs.values())
    result = Sweep(plan, points, [store.load(one) for one in plans])
    kept.write(result.table)
    return result


@dataclass(frozen=True)
class _Folder:
    """A sweep's folder: sweep.json, the table, and one run's folder a point, named by the digest of its plan."""

    path: Path
    engine: str

    def open(
        self, plan: Plan, grid: Mapping[str, Sequence[Any]], seeds: Sequence[int], fresh: bool
    ) -> None:
        """Makes the folder, or finds that of an earlier sweep that this one goes on with."""
        if (self.path / store.RUN).exists():
            raise PlanError("holds a run; a sweep needs a folder of its own", file=str(self.path))
        values, copies = plan.to_files()
        description: dict[str, Any] = {
            "version": _core.__version__,
            "engine": self.engine,
            "plan": values,
            "grid": {key: list(values) for key, values in grid.items()},
            "seeds": sorted(set(seeds)),
        }
        text = json.dumps(description, indent=2) + "\n"
        if not (self.path / store.SWEEP).is_file():
            store.claim(self.path)
        elif not _goes_on(read_description(self.path), json.loads(text)):
            if not fresh:
                raise Occupied("another sweep", file=str(self.path))
            self._forget_table(TABLE, PARTIAL_TABLE)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            for name, content in copies.items():
                files.put(self.path / name, content)
            files.put(self.path / store.SWEEP, text)
        except OSError as error:
            raise EtalonError(f"{self.path}: could not be written: {error.strerror}") from error

    def place(self, plan: Plan) -> Path:
        """Where the run of a point is kept."""
        return self.path / folder_of(plan)

    def write(self, table: pl.DataFrame, *, partial: bool = False) -> None:
        """Writes the table; one that lacks points has a name that says so. No other table stays."""
        name, other = (PARTIAL_TABLE, TABLE) if partial else (TABLE, PARTIAL_TABLE)
        try:
            store.put_table(self.path / f"{name}.parquet", table)
            files.put(self.path / f"{name}.csv", table.write_csv())
            self._forget_table(other)
        except OSError as error:
            raise EtalonError(f"{self.path}: could not be written: {error.strerror}") from error

    def _forget_table(self, *names: str) -> None:
        for name in names:
            for suffix in ("parquet", "csv"):
                (self.path / f"{name}.{suffix}").unlink(missing_ok=True)


def read_description(folder: Path) -> dict[str, Any]:
    """What `sweep.json` says: version, engine, plan, grid and seeds."""
    path = folder / store.SWEEP
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise EtalonError(f"{path}: cannot be read: {error}") from None
    if not isinstance(description, dict):
        raise EtalonError(f"{path}: does not describe a sweep")
    for key, kind in DESCRIPTION.items():
        if not isinstance(description.get(key), kind):
            raise EtalonError(
                f"{path}: does not describe a sweep: {key} is missing or no {kind.__name__}"
            )
    return description


def _goes_on(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether the new sweep has every point of the old one."""
    return (
        all(old.get(key) == new[key] for key in ("engine", "plan"))
        and old["grid"].keys() == new["grid"].keys()
        and all(value in new["grid"][key] for key in old["grid"] for value in old["grid"][key])
        and set(old["seeds"]) <= set(new["seeds"])
    )
