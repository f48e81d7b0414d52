# SPDX-License-Identifier: MIT OR Apache-2.0
"""The plan: an experiment as the user writes it. One schema behind TOML and the Python API."""

from __future__ import annotations

import copy
import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import tomli_w
from pydantic import BaseModel, model_validator

from etalon import files, markup
from etalon.arguments import checked
from etalon.custom import source
from etalon.custom.capture import captured
from etalon.errors import EtalonError, Occupied, PlanError, gather
from etalon.plan import check
from etalon.plan.experiment import WORKLOADS, Experiment
from etalon.plan.explain import build
from etalon.plan.network import NETWORKS, Network, Ocs
from etalon.plan.resolve import for_engines, resolve, week_ns
from etalon.plan.routing import CLASSES, with_tables
from etalon.plan.schedules import with_files
from etalon.plan.schedules.asked import Asked
from etalon.plan.workloads.code import with_code
from etalon.units import TIME, counted, rounded, shown


class Plan(Experiment):
    """An experiment that can be run: network, schedule, transports, workload."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        found = list(check.problems(self))
        found = found or list(check.flows(self))
        if found:
            raise gather(found)
        return self

    @classmethod
    @checked
    def load(cls, path: str | Path, code: bool = False) -> Plan:
        """Reads a plan file. Every error is a `PlanError` that names the file.

        `code` allows the Python code that the plan names to run.
        """
        try:
            text = files.text_of(Path(path), "plan")
        except FileNotFoundError:
            raise PlanError("there is no such file", file=str(path)) from None
        except IsADirectoryError:
            raise PlanError("is a folder; a plan is a TOML file", file=str(path)) from None
        except UnicodeDecodeError:
            raise PlanError("is not text; a plan is a TOML file", file=str(path)) from None
        except OSError as error:
            raise PlanError(f"cannot be read: {error.strerror}", file=str(path)) from None
        plan = cls.from_toml(text, file=str(path), name=_name_of(Path(path)))
        if code:
            source.allow(plan.sources.values())
        return plan

    @classmethod
    def from_toml(cls, text: str, *, file: str | None = None, name: str | None = None) -> Plan:
        """Reads a plan from TOML text; `name` is used if the text gives none."""
        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise _syntax_error(error, file or "plan") from None
        except RecursionError:
            raise PlanError(DEEP, file=file or "plan") from None
        if name is not None:
            values.setdefault("name", name)
        return cls.from_dict(values, file=file)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], *, file: str | None = None) -> Plan:
        """The plan with these keys, as in a plan file. Without a `file`, paths start at the working folder."""
        folder = Path(file).parent if file else Path()
        try:
            _check_depth(values)
            complete = with_code(with_files(values, folder), folder, WORKLOADS)
            complete = with_tables(complete, folder)
        except PlanError as error:
            raise error.in_file(file) if file else error from None
        _place(complete, folder)
        return build(cls, complete, file=file)

    @checked
    def save(self, path: str | Path | None = None, force: bool = False) -> Path:
        """Writes the plan as a file for `etalon run`, without keys that have their default. Returns the path.

        Args:
            path: the file; without it, the plan's name in the current folder. The plan's traces go beside it.
            force: whether to replace an existing file.
        """
        path = Path(path if path is not None else f"{self.name}.toml")
        values, copies = self.to_files(defaults=False)
        wanted: dict[Path, str | Path] = {path: tomli_w.dumps(values)}
        wanted |= {path.with_name(name): content for name, content in copies.items()}
        if path.is_dir():
            raise PlanError("is a folder; a plan is a TOML file", file=str(path))
        for place, content in wanted.items():
            if not force and place.exists() and (place == path or _differs(place, content)):
                raise Occupied("a file", file=str(place))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            for place, content in wanted.items():
                files.put(place, content)
        except OSError as error:
            raise EtalonError(f"{path}: could not be written: {error.strerror}") from error
        return path

    def __repr__(self) -> str:
        network = self.network
        what = [f"{network.racks} racks of {counted(network.hosts, 'host')}"]
        if (flows := self._said_of_flows()) != "0":
            what.append("1 flow" if flows == "1" else f"{flows} flows")
        if self.program:
            what.append(counted(len(self.programs), "program"))
        return (
            f"<Plan {self.name}: {', '.join(what)}, {TIME.format(self.duration)}, seed {self.seed}>"
        )

    def _repr_html_(self) -> str:
        """For a notebook: what it is in a few rows, and the whole plan on demand."""
        rows = [
            ("network", f"{self.network.kind}, {self.network.racks} racks of {counted(self.network.hosts, 'host')}"),
            ("schedule", self._said_of_the_week()),
            *((key, one.about) for key, one in self.named_workloads()),
            ("flows", self._said_of_flows()),
            ("programs", ", ".join(one.command[0] for one in self.programs)),
            ("duration", f"{TIME.format(self.duration)}, measured from {TIME.format(self.warmup)} on"),
            ("tdf", f"{self.tdf}: hosts' clocks run this many times as fast as the network's"),
            ("seed", str(self.seed)),
        ]  # fmt: skip
        table = markup.table((), [row for row in rows if row[1]])
        name = f"<p><b>{markup.inline(self.name)}</b> {markup.inline(self.description)}</p>"
        text = markup.code(tomli_w.dumps(self.to_dict(defaults=False)))
        return "\n".join([name, table, markup.folded("as a plan file", text)])

    def _said_of_flows(self) -> str:
        """How many there are; about, if they are not listed."""
        if self.streamed:
            return f"about {self.expected_flows:.3g}"
        return str(len(self.flows))

    def _said_of_the_week(self) -> str:
        """The kind of schedule and the length of its week."""
        if self.slices is not None:
            return f"{self.schedule.kind}, {self.slices.slices} slices of {self.slices.switches} switches"
        if isinstance(self.network, Ocs) and isinstance(self.schedule, Asked):
            return f"asked, {self.network.uplinks} uplinks a rack"
        if not isinstance(self.network, Network) or not self.week_ns:
            return ""
        return f"{self.schedule.kind}, a week of {rounded(self.week_ns)}"

    def to_toml(self) -> str:
        """The plan with every value written out, defaults too. Reading it back gives an equal plan."""
        return tomli_w.dumps(self.to_dict())

    @checked
    def to_dict(self, *, defaults: bool = True) -> dict[str, Any]:
        """The plan as in a plan file: quantities as text. Without `defaults`, only what was given."""
        values = self.model_dump(mode="json", exclude_none=True, exclude_unset=not defaults)
        for workload in (one for kind in WORKLOADS for one in values.get(kind, ())):
            for name in ("params", "class", "source"):
                if not workload.get(name):
                    workload.pop(name, None)
        if not isinstance(self.network, (Network, Ocs)):
            values.pop("schedule", None)
        if not isinstance(self.network, Ocs):
            values.pop("routing", None)
        if isinstance(self.network, Network) and self.network.circuits_only:
            for name in ("packet", "night"):
                values["network"].pop(name, None)
        return _without_empty(values)

    def to_files(self, *, defaults: bool = True) -> tuple[dict[str, Any], dict[str, str | Path]]:
        """The plan as in a plan file, and files by name, as text or to be copied: beside these it needs none of those that it
        was made from."""
        values, copies = self.to_dict(defaults=defaults), {}
        for table, trace in zip(values.get("trace", ()), self.trace, strict=True):
            name = f"trace-{trace.digest[:8]}.txt"
            table["file"], copies[name] = name, trace.content
        for table, job in zip(values.get("job", ()), self.job, strict=True):
            if job.file is not None:
                name = f"trace-{job.digest[:8]}.goal"
                table["file"], copies[name] = name, job.content
                table.pop("algorithms", None)
        for table in _with_source(values):
            copies |= table.pop("source")
        return values, copies

    @checked
    def replace(self, changes: Mapping[str, Any] | None = None, **more: Any) -> Plan:
        """The plan with other values at some dotted keys, as if the file contained them: {"network.voq": 32}.

        In a list of tables a number picks one ("bulk.0.cc"), no number means all of them ("bulk.cc"). None takes a key or table
        out of the plan, so that its default holds.
        """
        values = self.to_dict(defaults=False)
        if self.network.kind != NETWORKS.default:
            values.setdefault("network", {})["kind"] = self.network.kind
        wanted = {**(changes or {}), **more}
        if (
            "schedule.file" in wanted
        ):  # in place of the week that the plan has, which may have come from a file
            for name in {"configurations", "demand"} - {
                str(key).partition(".")[2] for key in wanted
            }:
                values.get("schedule", {}).pop(name, None)
        for key, value in wanted.items():
            for path in _of_classes(values, str(key).split(".")):
                if value is not None:
                    _assign(values, path, _plain(value), str(key))
                elif not _unset(values, path, str(key)):
                    _check_known(values, path, str(key))
        return Plan.from_dict(values)

    def resolve(self) -> dict[str, Any]:
        """The resolved plan that an engine runs: integers, with the unit in the key."""
        return resolve(self)

    def for_engines(self) -> dict[str, Any]:
        """The resolved plan with the tables that the user's routing functions return. Calls them; raises `EtalonError` if one
        fails or may not run."""
        return for_engines(self)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the resolved plan, in hex: two plans with the same digest are the same experiment."""
        whole = self.resolve()
        if self.linux.memory is not None:  # which no network knows
            whole["linux"] = {"memory": self.linux.memory}
        for job in whole.get("jobs", ()):  # what stands in a file counts, not where that is
            job.get("trace", {}).pop("file", None)
        if self.sources:  # of which no network knows more than the names
            whole["source"] = {file: source.digest(text) for file, text in self.sources.items()}
        canonical = json.dumps(whole, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    @cached_property
    def week_ns(self) -> int:
        """Length of the schedule's week in ns; 0 without circuits."""
        return week_ns(self)

    @property
    def idle(self) -> list[PlanError]:
        """Errors of a plan that sends nothing; empty if it sends something."""
        return list(check.idle(self))

    @property
    def warnings(self) -> list[str]:
        """Sentences about parts of the plan that its author probably did not mean."""
        return list(check.warnings(self))


DEEP = "its tables are nested deeper than those of any plan"
DEEPEST = 32


def _check_depth(value: Any) -> None:
    """Refuses values that are nested deeper than those of any plan, which would exhaust the stack later."""
    level = [value]
    for _ in range(DEEPEST):
        tables = [one for one in level if isinstance(one, (Mapping, list, tuple))]
        level = [
            below
            for one in tables
            for below in (one.values() if isinstance(one, Mapping) else one)
            if isinstance(below, (Mapping, list, tuple))
        ]
        if not level:
            return
    raise PlanError(DEEP)


def _place(values: dict[str, Any], folder: Path) -> None:
    """Takes the paths of traces in a plan as seen from the plan's folder."""
    for kind in ("trace", "job"):
        tables = values.get(kind)
        if isinstance(tables, list):
            values[kind] = [
                {**table, "file": str((folder / table["file"]).absolute())}
                if isinstance(table, dict) and isinstance(table.get("file"), str)
                else table
                for table in tables
            ]


def _with_source(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The tables of a plan that carry the text of files."""
    for value in (*values.values(), *values.get("routing", {}).values()):
        for table in value if isinstance(value, list) else [value]:
            if isinstance(table, dict) and isinstance(table.get("source"), dict):
                yield table


def _differs(place: Path, content: str | Path) -> bool:
    """Whether a file of the user's holds other text than would be written."""
    return isinstance(content, str) and place.read_text(errors="replace") != content


def _without_empty(values: dict[str, Any]) -> dict[str, Any]:
    """Leaves out empty lists and texts, which say nothing."""
    return {
        key: _without_empty(value) if isinstance(value, dict) else value
        for key, value in values.items()
        if value not in ([], "")
    }


def _name_of(path: Path) -> str:
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", path.stem).lstrip("._+-")[:80] or "experiment"


def _syntax_error(error: tomllib.TOMLDecodeError, file: str) -> PlanError:
    message = str(error)
    place = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", message)
    if place is None:
        return PlanError(f"not valid TOML: {message}", file=file)
    what = message[: place.start()]
    where = f"{file}:{place[1]}" if place[1] else file
    end = "" if place[1] else " at the end of the file"
    return PlanError(f"not valid TOML: {what[:1].lower()}{what[1:]}{end}", file=where)


def _plain(value: Any) -> Any:
    """Tables as plain values, references to code in place of it; a copy of others."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    return copy.deepcopy(captured(value))


def _of_classes(values: Mapping[str, Any], path: list[str]) -> list[list[str]]:
    """Where a key is that a file may give once for all classes, as `routing.kind`: in each class that the plan has."""
    for at, own in ((("routing",), {*CLASSES, "cutoff"}), (("network", "queue"), {*CLASSES})):
        below = path[len(at) :]
        if tuple(path[: len(at)]) == at and below and below[0] not in own:
            table: Any = values
            for name in at:
                table = table.get(name) if isinstance(table, Mapping) else None
            there = [name for name in CLASSES if isinstance(table, Mapping) and name in table]
            if there:
                return [[*at, name, *below] for name in there]
    return [path]


def _assign(table: dict[str, Any], path: list[str], value: Any, key: str) -> None:
    """Sets one dotted key in plain TOML values."""
    head, *rest = path
    if not rest:
        table[head] = value
        return
    below = table.setdefault(head, {})
    for entry, remaining in _entries(below, rest, key):
        if not isinstance(entry, dict) or not remaining:
            raise PlanError(f"{shown(head)} is not a table with keys", key=key)
        _assign(entry, remaining, value, key)


def _unset(table: dict[str, Any], path: list[str], key: str) -> bool:
    """Takes one dotted key out of plain TOML values; whether it was there."""
    head, *rest = path
    if head not in table:
        return False
    below = table[head]
    if not rest:
        del table[head]
        return True
    if isinstance(below, list) and len(rest) == 1 and rest[0].isdecimal():
        for _ in _entries(below, rest, key):
            del below[int(rest[0])]
        return True
    found = [
        _unset(entry, remaining, key)
        for entry, remaining in _entries(below, rest, key)
        if isinstance(entry, dict)
    ]
    return any(found)


def _check_known(values: dict[str, Any], path: list[str], key: str) -> None:
    """Refuses to take out a key that no plan has; one that only this plan lacks has its default already."""
    tried = copy.deepcopy(values)
    _assign(tried, path, None, key)
    try:
        Plan.from_dict(tried)
    except PlanError as error:
        if str(error.expected).startswith("unknown key"):
            raise


def _entries(below: Any, rest: list[str], key: str) -> Iterator[tuple[Any, list[str]]]:
    if not isinstance(below, (list, tuple)):
        yield below, rest
    elif not rest[0].isdecimal():
        yield from ((entry, rest) for entry in below)
    elif int(rest[0]) < len(below):
        yield below[int(rest[0])], rest[1:]
    else:
        raise PlanError(f"there is no entry {rest[0]}; the plan has {len(below)}", key=key)
