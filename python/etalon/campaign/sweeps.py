# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sweeps: one plan over a grid of values and seeds, as one tidy table; resumable from its folder."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import polars as pl

from etalon import _core, amounts, files, markup
from etalon import engine as engines
from etalon.arguments import checked
from etalon.campaign import executors
from etalon.campaign.plots import SweepPlots
from etalon.campaign.runs import prepare, run_all, run_missing, warn_of
from etalon.campaign.store import Store
from etalon.custom import source
from etalon.engine import Engine, Progress
from etalon.errors import EtalonError, Interrupted, Occupied, PlanError
from etalon.figures import sweeps as figures_of
from etalon.plan import Plan
from etalon.results import Run, store
from etalon.results.metrics import METRICS
from etalon.units import counted, shown

MOST_POINTS = 100_000
"""Runs of a sweep."""
TABLE = "table"
PARTIAL_TABLE = "table.partial"
"""Name of the table, without suffix, of a sweep that is not complete."""
DESCRIPTION = {"version": str, "engine": str, "plan": dict, "grid": dict, "seeds": list}
"""Keys of `sweep.json`."""


@dataclass(frozen=True)
class Point:
    """One plan of a sweep, with the values that distinguish it."""

    values: dict[str, Any]
    plan: Plan

    @property
    def folder(self) -> str:
        """The name of its run's folder."""
        return folder_of(self.plan)


@dataclass(frozen=True, repr=False)
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
    @checked
    def load(cls, folder: str | Path) -> Self:
        """Reads a complete sweep's folder back."""
        folder = Path(folder)
        said = read_description(folder)
        plan = Plan.from_dict(said["plan"], file=str(folder / store.SWEEP))
        varies_seed = any("seed" in _together(key) for key in said["grid"])
        seeds = None if varies_seed else said["seeds"]
        grid = {key: source.with_texts(values, folder) for key, values in said["grid"].items()}
        points = points_of(plan, grid, seeds)
        missing = sum(not store.complete(folder / folder_of(point.plan)) for point in points)
        if missing:
            raise EtalonError(
                f"{folder}: {missing} of {len(points)} runs are missing; `etalon sweep` continues it"
            )
        return cls(plan, points, [Run.load(folder / folder_of(point.plan)) for point in points])

    @cached_property
    def plot(self) -> SweepPlots:
        """Figures of this sweep: `sweep.plot.utilization(x="network.voq", hue="bulk.cc")`; see `etalon list figures`."""
        return SweepPlots(self)

    @checked
    def select(self, values: Mapping[str, Any]) -> Self:
        """The part of the sweep at some values: sweep.select({"network.voq": 16, "seed": 1}).plot.latency()."""
        there = {key: figures_of.values_of(self, key) for key in figures_of.varied(self)}
        for point in self.points[:1]:
            there |= {key: [one] for key, one in point.values.items() if key not in there}
        there["seed"] = list(dict.fromkeys(point.plan.seed for point in self.points))
        for key, value in values.items():
            if key not in there:
                known = ", ".join(there)
                raise PlanError(
                    f"the sweep does not vary {shown(key)}; it has {known}", key=str(key)
                )
            if value not in there[key]:
                known = ", ".join(map(shown, there[key]))
                raise PlanError(f"the sweep has no {shown(value)}; it has {known}", key=str(key))
        kept = [
            (point, run)
            for point, run in zip(self.points, self.runs, strict=True)
            if all((point.values | {"seed": point.plan.seed})[key] == values[key] for key in values)
        ]
        return type(self)(self.plan, [point for point, _ in kept], [run for _, run in kept])

    @property
    def keys(self) -> list[str]:
        """The keys that the sweep varies; the seed if it varies nothing else."""
        return figures_of.varied(self) or ["seed"]

    @property
    def shared_plan(self) -> Plan:
        """The plan with the values that all runs share."""
        first = self.points[0].values if self.points else {}
        alike = {
            key: value
            for key, value in first.items()
            if all(point.values[key] == value for point in self.points)
        }
        return self.plan.replace(alike) if alike else self.plan

    @property
    def answer(self) -> str:
        """One sentence that tells where the first metric of `SHOWN` that its runs have is least, and where it is greatest."""
        found = [name for name in SHOWN if self.table[name].null_count() < self.table.height]
        if not found or self.keys == ["seed"]:
            return f"{counted(len(self.runs), 'run')} of {self.plan.name}."
        name, metric = found[0], METRICS[found[0]]
        means = self.table.group_by(self.keys, maintain_order=True).agg(pl.col(name).mean())
        means = means.drop_nulls().sort(name, maintain_order=True)
        ends = []
        for row in (means.row(0, named=True), means.row(-1, named=True)):
            at = ", ".join(f"{key} {_said(row[key])}" for key in self.keys)
            ends.append(f"{amounts.humane(row[name], metric.unit)} ({at})")
        what = name.replace("_", " ").replace("utilization", "utilisation")
        return f"{what[:1].upper()}{what[1:]} goes from {ends[0]} to {ends[1]}."

    def __repr__(self) -> str:
        said = [f"{key} ({_listed(figures_of.values_of(self, key))})" for key in self.keys]
        seeds = len({point.plan.seed for point in self.points})
        over = "" if self.keys == ["seed"] else f" over {' and '.join(said)}"
        return f"<Sweep {self.plan.name}: {counted(len(self.runs), 'run')}{over}{f', {seeds} seeds' if seeds > 1 else ''}>"

    def _repr_html_(self) -> str:
        """For a notebook: what was varied, the main figure, and the numbers that are looked at first."""
        parts = [f"<p><b>{markup.inline(self.plan.name)}</b>: {markup.inline(self.answer)}</p>"]
        for name, caption in list(figures_of.suitable(self).items())[:1]:
            with suppress(PlanError):  # of more panels than can be looked at
                from etalon.figures import style

                figure = figures_of.draw(self, name)
                parts.append(markup.image(style.png(figure), caption, style.on_screen(figure)))
        columns, rows = overview(self)
        more = (
            "" if len(rows) <= MOST_SHOWN else f"<p>the first {MOST_SHOWN} of {len(rows)} runs</p>"
        )
        numbers = [at for at, name in enumerate(columns) if name not in ("seed", *self.keys)]
        if said := censored(self.table):
            more += f"<p>{said}</p>"
        return "\n".join([*parts, markup.table(columns, rows[:MOST_SHOWN], numbers), more])


SHOWN = {
    "circuit_utilization": "circuit",
    "packet_utilization": "packet",
    "latency_p50": "latency p50",
    "latency_p99": "latency p99",
    "goodput": "goodput",
    "retransmits": "retransmissions",
    "drops": "drops",
    "fct_p50": "completion p50",
    "fct_p99": "completion p99",
    "bytes_unfinished": "unfinished",
}
"""What is looked at first of each run, with its heading; what is unfinished only if something is."""
MOST_SHOWN = 24
"""Runs that a notebook shows."""


def overview(sweep: Sweep) -> tuple[list[str], list[list[str]]]:
    """Headings and rows for people: the keys that vary, the seed if there are several, and what is looked at first.

    A column has one unit, which its heading names.
    """
    return overview_of(sweep.table, [key for key in sweep.keys if key != "seed"])


def overview_of(table: pl.DataFrame, keys: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """The same of a sweep's table."""
    seeds = table["seed"].n_unique() > 1 or not keys
    keys = [*keys, "seed"] if seeds and "seed" not in keys else list(keys)
    names = [name for name in SHOWN if table[name].null_count() < table.height]
    if not censored(table):
        names.remove("bytes_unfinished")
    units = amounts.units_of((METRICS[name].unit, value) for name in names for value in table[name])
    columns, cells = list(keys), [[_said(value) for value in table[key]] for key in keys]
    for name in names:
        scale = units(METRICS[name].unit, table[name])
        word = METRICS[name].unit in ("segments", "packets", "timeouts")
        columns.append(SHOWN[name] + (f" ({scale.unit})" if scale.unit and not word else ""))
        cells.append([scale.text(value) for value in table[name]])
    return columns, [list(row) for row in zip(*cells, strict=True)]


def censored(table: pl.DataFrame) -> str:
    """That percentiles leave flows out, if some did not finish: the slowest are among these. Empty if all did."""
    runs = int((table["bytes_unfinished"] > 0).sum())
    if not runs:
        return ""
    ended = f"{runs} of {counted(table.height, 'run')} ended before all finite flows"
    if table["fct_p50"].null_count() == table.height:
        return ended
    return f"{ended}: percentiles of completion times exclude unfinished flows, and so are too low"


def _said(value: Any) -> str:
    return value if isinstance(value, str) else shown(value)


def _listed(values: Sequence[Any]) -> str:
    """Values in a few words."""
    if len(values) > 6:
        values = [*values[:3], "...", values[-1]]
    return ", ".join(map(_said, values))


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
    """The plans of a grid over dotted keys. `seeds`: how many, from the plan's on, or which; not with `seed` in the grid.

    Several keys may vary together: "network.voq.packets, network.ece.before": [[16, "150us"], [50, "600us"]].
    """
    names = [name for key in grid for name in _together(key)]
    for name in names:
        if names.count(name) > 1:
            raise PlanError("is given twice in the grid", key=name)
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
            _of_each(key, value)
    if "seed" in names and seeds is not None:
        raise PlanError(
            "the grid varies seed; give its values there or seeds, not both", key="seeds"
        )
    seeds = seeds_of(plan, seeds)
    number = math.prod(len(values) for values in grid.values()) * len(seeds)
    if number > MOST_POINTS:
        raise PlanError(f"the sweep has {number} runs; at most {MOST_POINTS} are run in one")
    points = []
    for chosen in itertools.product(*grid.values()):
        together = map(_of_each, grid, chosen)
        point = {name: value for one in together for name, value in one.items()}
        for seed in [point["seed"]] if "seed" in point else seeds:
            points.append(Point(point, plan.replace({**point, "seed": seed})))
    return points


def _together(key: str) -> list[str]:
    """The keys that vary together as one of a grid."""
    return [name.strip() for name in str(key).split(",")]


def _of_each(key: str, value: Any) -> dict[str, Any]:
    """The values of the keys that vary together."""
    names = _together(key)
    if len(names) == 1:
        return {key: value}
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != len(names):
        raise PlanError(
            f"{shown(value)} must be a list of {len(names)} values, one for each key", key=key
        )
    return dict(zip(names, value, strict=True))


def seeds_of(plan: Plan, seeds: int | Sequence[int] | None) -> Sequence[int]:
    """These seeds, or so many from the plan's on; one without."""
    if seeds is None:
        seeds = 1
    if isinstance(seeds, int):
        if seeds < 1:
            raise PlanError(f"{seeds} must be at least 1", key="seeds", value=seeds)
        return range(plan.seed, plan.seed + seeds)
    if not seeds or isinstance(seeds, str) or not all(type(seed) is int for seed in seeds):
        raise PlanError("must be whole numbers, or how many", key="seeds", value=seeds)
    return seeds


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

    Keys that are written as one vary together (`points_of`). With a `folder`, every run is kept in it as soon as it is
    complete, and those already there are not run again, so that a sweep that was interrupted goes on where it stopped, and
    a larger grid of the same keys runs what is new. With `fresh` all are run again, and another sweep that was in the
    folder is replaced.

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
    store = Store(chosen, kept.place)
    seeds, texts = [one.seed for one in plans], source.merged(one.sources for one in plans)
    with kept.opened(plan, grid, seeds, texts, fresh):
        done = run_missing(
            plans, store, fresh=fresh, executor=executor, jobs=jobs, progress=progress
        )
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

    @contextmanager
    def opened(
        self,
        plan: Plan,
        grid: Mapping[str, Sequence[Any]],
        seeds: Sequence[int],
        texts: Mapping[str, str],
        fresh: bool,
    ) -> Iterator[None]:
        """The folder is there in the block. One that it made is gone again if the block fails before any run is kept."""
        is_new, existed = not (self.path / store.SWEEP).is_file(), self.path.exists()
        self._open(plan, grid, seeds, texts, fresh)
        try:
            yield
        except EtalonError:
            if is_new and not any(child.is_dir() for child in self.path.iterdir()):
                for child in self.path.iterdir():
                    child.unlink()
                if not existed:
                    self.path.rmdir()
            raise

    def _open(
        self,
        plan: Plan,
        grid: Mapping[str, Sequence[Any]],
        seeds: Sequence[int],
        texts: Mapping[str, str],
        fresh: bool,
    ) -> None:
        """Makes the folder, or finds that of an earlier sweep that this one goes on with."""
        if (self.path / store.RUN).exists():
            raise PlanError("holds a run; a sweep needs a folder of its own", file=str(self.path))
        values, copies = plan.to_files()
        description: dict[str, Any] = {
            "version": _core.__version__,
            "engine": self.engine,
            "plan": values,
            "grid": {str(key): list(values) for key, values in grid.items()},
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
            for name, content in {**copies, **texts}.items():
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
                f"{path}: does not describe a sweep: {key} is missing or not of type {kind.__name__}"
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
