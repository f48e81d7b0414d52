# SPDX-License-Identifier: MIT OR Apache-2.0
"""A paper: a folder that holds everything Etalon knows of it.

| file             | what                                                                                        |
|------------------|---------------------------------------------------------------------------------------------|
| `paper.toml`     | title, venue, link; what it introduced; the figures, each with the series that it shows     |
| `series.toml`    | the points that are run: a plan, and the keys of it that vary                                |
| `plans/*.toml`   | plans, as `etalon run` takes them                                                           |
| `published.toml` | what the paper claims, where it stands, and the tolerance; what of it no claim holds, and why |
| `claims.py`      | functions for claims on more than one number: `f(results) -> float`                          |
| `figures.py`     | `DRAWINGS`: for each figure a function `f(results) -> Drawing`, or a list of them            |
"""

from __future__ import annotations

import difflib
import importlib.util
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from etalon import engine as engines
from etalon.controls import controls
from etalon.errors import EtalonError, PlanError
from etalon.plan import Plan

X = int | float | str
"""The value of a point on its figure's axis."""


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Series(_Entry):
    """Points that differ in one value."""

    title: str
    plan: str
    """Name of the file in `plans/`."""
    set: dict[str, Any] = {}
    """Values at dotted keys of the plan, for all points."""
    like: str = ""
    """Another series, which has what this one does not say, and whose `set` this one adds to."""
    vary: tuple[str, ...] = ()
    """Keys that take the point's value; without any, points differ in what `also` says."""
    unit: str = ""
    """Put behind x to make the plan's value."""
    x: tuple[X, ...]
    seeds: int = 1
    """How many, from the plan's on."""
    seeds_on: dict[str, int] = {}
    """Other numbers of seeds, by engine."""
    also: dict[str, dict[str, Any]] = {}
    """Further values at the point of this x."""


class FigureEntry(_Entry):
    """A figure or table of the paper, or one of ours about it."""

    id: str
    title: str
    series: tuple[str, ...]
    points: tuple[X, ...] | None = None
    """The x of its points; without, all."""
    takes: str = ""
    """How long its runs take, if that is more than a minute: it is left out unless it is named, or all are asked for."""
    beside: str = ""
    """Another engine, which runs these points too: a figure of ours that compares the two. That engine itself has no such
    figure, and none of its claims."""
    note: str = ""
    """What a reader has to know: where this differs from the paper and why."""


class ClaimGroup(_Entry):
    """Claims that share all but x: one for each x, or one in all for a `measure` without x."""

    figure: str
    quantity: str
    """In words; `{x}` stands for the value."""
    unit: str
    tolerance: str
    tolerance_on: dict[str, str] = {}
    """Other tolerances, by engine."""
    source: str
    """Where the published value stands."""
    published: float | tuple[float, ...]
    series: str | None = None
    metric: str | None = None
    """Of `etalon list metrics`."""
    x: tuple[X, ...] = ()
    measure: str | None = None
    """A function of `claims.py`: f(results), or f(results, x) for claims with x."""
    name: str | None = None
    """The claim's name if two share a measure."""
    calibrated: str = ""
    """Why it does not count as reproduced if it holds: a setting that the paper leaves open was chosen because it holds there,
    or it was read in this way after its result was known."""
    each_seed: bool = False
    """Every seed of its points has a value: their mean is judged, and the smallest and the largest are shown."""

    def on(self, engine: str) -> ClaimGroup:
        """The claims with the tolerance that holds on an engine."""
        return self.model_copy(
            update={"tolerance": self.tolerance_on.get(engine, self.tolerance), "tolerance_on": {}}
        )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        several = isinstance(self.published, tuple)
        if self.measure is not None:
            if self.series or self.metric or bool(self.x) != several:
                raise ValueError(
                    "a claim with a measure has one published value, or one for each x, and no series or metric"
                )
        elif self.series is None or self.metric is None or not several:
            raise ValueError("a claim needs a measure, or series, metric, x and published values")
        if isinstance(self.published, tuple) and len(self.x) != len(self.published):
            raise ValueError(
                f"{len(self.x)} values of x, but {len(self.published)} published values"
            )
        return self


class Unclaimed(_Entry):
    """Values that the paper prints, or that its curves and bars show, and no claim holds."""

    where: str
    """Figure, table or section."""
    quantity: str
    values: int = Field(ge=1)
    """How many: numbers that are printed, points of curves, bars."""
    why: str


@dataclass(frozen=True)
class Claim:
    """One claim of a paper."""

    id: str
    group: ClaimGroup
    published: float
    x: X | None

    @property
    def quantity(self) -> str:
        """What is claimed, in words."""
        return self.group.quantity.replace("{x}", str(self.x))


@dataclass(frozen=True)
class Point:
    """One point of a series. It has no plans if this version lacks something that it needs: `missing` says what."""

    series: str
    x: X
    plans: tuple[Plan, ...]
    """One for each seed."""
    missing: str = ""


class _Head(_Entry):
    title: str
    authors: str
    venue: str
    link: str
    summary: str
    mechanisms: tuple[str, ...] = ()
    """Names of the schedules, transports and congestion controls that are from it; `etalon cite` cites it for them."""
    held_against: Literal["published", "model"] = "published"
    """What the claims' values are: results that the paper prints, or those of its model, which it does not print."""
    figure: tuple[FigureEntry, ...]


_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(frozen=True)
class Paper:
    """A paper's folder, read and checked."""

    folder: Path
    head: _Head
    series: Mapping[str, Series]
    claims: Sequence[Claim]
    unclaimed: Sequence[Unclaimed] = ()
    """What of the paper no claim holds, on no engine."""
    engine: str = "sim"
    """What runs its points, which some tolerances depend on."""

    @classmethod
    def load(cls, name: str, engine: str = "sim") -> Paper:
        """Reads the paper called `name`, or the folder of that path."""
        folder = _find(name)
        head = _read(_Head, folder / "paper.toml", _toml(folder / "paper.toml"))
        apart = {figure.id for figure in head.figure if figure.beside == engine}
        figures = tuple(figure for figure in head.figure if figure.id not in apart)
        head = head.model_copy(update={"figure": figures})
        path = folder / "series.toml"
        tables = _toml(path)
        series = {key: _read(Series, path, _whole(tables, key, path), key) for key in tables}
        path = folder / "published.toml"
        published = _toml(path)
        groups = _entries(ClaimGroup, path, published, "claims")
        unclaimed = _entries(Unclaimed, path, published, "unclaimed")
        groups = [group for group in groups if group.figure not in apart]
        claims = [claim for group in groups for claim in _claims(group.on(engine))]
        paper = cls(folder, head, series, claims, unclaimed, engine)
        paper._check()
        return paper

    @property
    def name(self) -> str:
        """What the command line calls it."""
        return self.folder.name

    def choose(self, wanted: Sequence[str] | None, *, full: bool = True) -> list[FigureEntry]:
        """The figures of these names, in the paper's order; "9" means 9a, 9b and 9c. None means all; without `full`, those that
        take less than a minute."""
        figures = list(self.head.figure)
        if not wanted:
            return [figure for figure in figures if full or not figure.takes]
        asked = [part.strip().lower() for text in wanted for part in text.split(",")]
        chosen: set[str] = set()
        for name in asked:
            found = [f.id for f in figures if f.id == name] or [
                f.id for f in figures if f.id[:-1] == name and f.id[-1].isalpha() and name.isdigit()
            ]
            if not found:
                there = ", ".join(figure.id for figure in figures)
                raise PlanError(f'{self.name} has no figure "{name}"; it has {there}')
            chosen.update(found)
        return [figure for figure in figures if figure.id in chosen]

    def points(self, figures: Sequence[FigureEntry]) -> list[Point]:
        """The points that these figures need, each once."""
        found: dict[tuple[str, X], Point] = {}
        for figure in figures:
            for name in figure.series:
                for x in self.series[name].x:
                    if (figure.points is None or x in figure.points) and (name, x) not in found:
                        found[name, x] = self.point(name, x)
        return list(found.values())

    def point(self, name: str, x: X) -> Point:
        """One point of a series."""
        series = self.series[name]
        value = f"{x}{series.unit}" if series.unit else x
        changes = {
            **series.set,
            **series.also.get(str(x), {}),
            **{key: self._placed(key, value) for key in series.vary},
        }
        try:
            plan = self._plans[series.plan].replace({**changes, "name": f"{name}-{x}"})
            for problem in engines.named(self.engine).problems(plan):
                return Point(name, x, (), str(problem))
            count = series.seeds_on.get(self.engine, series.seeds)
            seeds = range(plan.seed, plan.seed + count)
            return Point(name, x, tuple(plan.replace(seed=seed) for seed in seeds))
        except PlanError as error:
            if (
                error.key is not None
                and error.key.endswith(".cc")
                and error.value not in controls()
            ):
                return Point(name, x, (), f"there is no {error.value} yet")
            raise error.in_file(f"{self.folder / 'series.toml'}: {name}, {x}") from None

    def _placed(self, key: str, value: X) -> X:
        """A file lies beside the plans."""
        return str(self.folder / "plans" / str(value)) if key.endswith(".file") else value

    @cached_property
    def beside(self) -> tuple[Paper, list[FigureEntry]] | None:
        """The paper on the engine that figures are compared with, and these figures; None if there are none."""
        compared = [figure for figure in self.head.figure if figure.beside]
        return (Paper.load(str(self.folder), compared[0].beside), compared) if compared else None

    @property
    def command(self) -> str:
        """What reproduces it on this engine."""
        engine = "" if self.engine == "sim" else f" --engine {self.engine}"
        return f"etalon reproduce {self.name}{engine}"

    def published(self, figure: str, metric: str) -> tuple[dict[Any, float], str]:
        """Published values by x, and their tolerance."""
        claims = [c for c in self.claims if c.group.figure == figure and c.group.metric == metric]
        return {claim.x: claim.published for claim in claims}, claims[
            0
        ].group.tolerance if claims else ""

    @cached_property
    def measures(self) -> ModuleType:
        """The paper's `claims.py`."""
        return _module(self.folder / "claims.py", f"etalon_paper_{self.name}_claims")

    @cached_property
    def drawings(self) -> Mapping[str, Callable[..., Any]]:
        """How each figure is drawn."""
        drawings: Mapping[str, Callable[..., Any]] = _module(
            self.folder / "figures.py", f"etalon_paper_{self.name}_figures"
        ).DRAWINGS
        return drawings

    @cached_property
    def _plans(self) -> dict[str, Plan]:
        return {
            name: Plan.load(self.folder / "plans" / f"{name}.toml")
            for name in dict.fromkeys(series.plan for series in self.series.values())
        }

    def _check(self) -> None:
        """That every name means something."""
        figures = {figure.id for figure in self.head.figure}
        for figure in self.head.figure:
            for name in figure.series:
                if name not in self.series:
                    raise EtalonError(
                        f"{self.folder / 'paper.toml'}: figure {figure.id}: there is no series {name}"
                    )
        for claim in self.claims:
            group, where = claim.group, f"{self.folder / 'published.toml'}: {claim.id}"
            if group.figure not in figures:
                raise EtalonError(f"{where}: there is no figure {group.figure}")
            if group.series is not None:
                if group.series not in self.series:
                    raise EtalonError(f"{where}: there is no series {group.series}")
                if claim.x not in self.series[group.series].x:
                    raise EtalonError(f"{where}: series {group.series} has no point at {claim.x}")
        ids = [claim.id for claim in self.claims]
        for name in ids:
            if ids.count(name) > 1:
                raise EtalonError(f"{self.folder / 'published.toml'}: {name} occurs twice")


def papers() -> dict[str, str]:
    """The papers there are, by name, with title and venue."""
    return {name: f"{head['title']} ({head['venue']})" for name, head in heads().items()}


def heads() -> dict[str, dict[str, str]]:
    """Title, authors, venue and link of the papers there are, by name."""
    root = _root()
    files = sorted(root.glob("*/paper.toml")) if root else []
    said = {path.parent.name: _toml(path) for path in files}
    keys = ("title", "authors", "venue", "link")
    return {name: {key: str(head[key]) for key in keys} for name, head in said.items()}


def origins() -> dict[str, str]:
    """The paper that a schedule, transport or congestion control is from, by its name."""
    root = _root()
    files = sorted(root.glob("*/paper.toml")) if root else []
    return {name: path.parent.name for path in files for name in _toml(path).get("mechanisms", ())}


def _root() -> Path | None:
    """Where the papers' folders are: beside the package when it was installed, or in the repository."""
    package = Path(__file__).resolve().parents[1]
    places = (package / "papers", package.parents[1] / "papers")
    return next((place for place in places if any(place.glob("*/paper.toml"))), None)


def _whole(tables: Mapping[str, Any], name: str, path: Path) -> Mapping[str, Any]:
    """The table of a series with what it takes from another, which may itself be like a third."""
    table: Mapping[str, Any] = tables[name]
    seen = [name]
    while "like" in tables[seen[-1]]:
        other = tables[seen[-1]]["like"]
        if other not in tables:
            raise EtalonError(f"{path}: {seen[-1]}: there is no series {other} to be like")
        if other in seen:
            raise EtalonError(f"{path}: {name}: {' is like '.join([*seen, other])}")
        both = {**tables[other].get("set", {}), **table.get("set", {})}
        table = {**tables[other], **table, **({"set": both} if both else {})}
        seen.append(other)
    return table


def _find(name: str) -> Path:
    if os.sep in name and (Path(name) / "paper.toml").is_file():
        return Path(name).resolve()
    root = _root()
    if root is None or not (root / name / "paper.toml").is_file():
        near = difflib.get_close_matches(name, papers(), n=1)
        hint = (
            f'did you mean "{near[0]}"?' if near else f"there are {', '.join(papers()) or 'none'}"
        )
        raise PlanError(f'there is no paper "{name}"; {hint}')
    return root / name


def _claims(group: ClaimGroup) -> Iterator[Claim]:
    if isinstance(group.published, tuple):
        for x, value in zip(group.x, group.published, strict=True):
            yield Claim(
                f"{group.figure}/{group.name or group.metric or group.measure}/{x}", group, value, x
            )
    else:
        yield Claim(f"{group.figure}/{group.name or group.measure}", group, group.published, None)


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise EtalonError(f"{path}: cannot be read: {error.strerror}") from None
    except tomllib.TOMLDecodeError as error:
        raise EtalonError(f"{path}: not valid TOML: {error}") from None


def _read(model: type[_Model], path: Path, values: Any, where: str = "") -> _Model:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(filter(None, (where, *map(str, first["loc"]))))
        raise EtalonError(f"{path}: {key}: {first['msg']}") from None


def _entries(model: type[_Model], path: Path, tables: Mapping[str, Any], name: str) -> list[_Model]:
    """The entries of a list of tables."""
    values = tables.get(name, ())
    return [_read(model, path, value, f"{name} {n + 1}") for n, value in enumerate(values)]


def _module(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise EtalonError(f"{path}: cannot be read")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
