# SPDX-License-Identifier: MIT OR Apache-2.0
"""The page of figures: each kind, the line that draws it, and its picture, drawn from short runs of the simulator."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import etalon as et
from etalon import figures

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"

RUNS = {
    "strobe": 'load("strobe", {"duration": "240ms", "measure.flows": [0, 1]})',
    "retcp": 'load("retcp", {"duration": "240ms"})',
    "sizes": '{n: load("strobe", {"duration": "144ms", "network.voq": n}) for n in (4, 8, 16, 32, 64)}',
    "controls": '{cc: load("strobe", {"duration": "144ms", "bulk.cc": cc}) for cc in ("cubic", "reno", "scalable")}',
    "delays": '{n: load("tdtcp", {"network.circuit.delay": f"{n}us"}) for n in (5, 10, 20, 40, 60)}',
    "uptimes": (
        '{voq: {day: load("flows", {"network.voq": voq, "schedule.configurations.day": f"{day}us"}) '
        "for day in (45, 90, 180, 360, 720)} for voq in (8, 64)}"
    ),
    "tdtcp": 'load("tdtcp", {"measure.reordering": True})',
    "incast": 'load("incast")',
    "poisson": 'load("poisson")',
    "hdfs": (
        '{p: load("dfsio", {"dfsio.size": "2MB", "dfsio.writers": 8, "dfsio.placement": p}) for p in ("hdfs", "rehdfs")}'
    ),
    "match": 'et.tournament(plan("strobe"), ["cubic", "reno", "scalable"], duration="72ms")',
    "tree": 'load("tree", {"measure.ports": True})',
    "rotor": 'load("rotornet", {"measure.links": "100us"})',
    "solstice": 'load("solstice", {"duration": "40ms"})',
    "two_jobs": 'load("two_jobs")',
}
"""Runs that figures are drawn from, by their name on the page."""

FIGURES = {
    "sequence": ('figures.draw("sequence", {"CUBIC": strobe, "reTCP": retcp})', ""),
    "voq": ('figures.draw("voq", {"CUBIC": strobe, "reTCP": retcp})', ""),
    "utilization": (
        'figures.draw("utilization", sizes, xlabel="VOQ (packets)")',
        "Several runs at a point, which differ by seed, give it an error bar. `published=` adds a paper's values.",
    ),
    "latency": ('figures.draw("latency", sizes, xlabel="VOQ (packets)")', ""),
    "latency_cdf": ("strobe.plot.latency_cdf()", ""),
    "fct_cdf": ("incast.plot.fct_cdf()", "`flow_class=` draws one class only."),
    "fct_size": ("poisson.plot.fct_size()", "`statistic=` chooses mean, median, tail or slowdown."),
    "throughput_cdf": ("poisson.plot.throughput_cdf()", ""),
    "gantt": (
        "two_jobs.plot.gantt(iteration=1)",
        "For runs of jobs. Circuits that are asked for have lanes below the ranks.",
    ),
    "write_cdf": ('figures.draw("write_cdf", hdfs)', ""),
    "network_bytes": ('figures.draw("network_bytes", {"CUBIC": strobe, "reTCP": retcp})', ""),
    "bars": (
        'figures.draw("bars", {name: run.summary()["job_time"] for name, run in hdfs.items()}, ylabel="job time (ms)")',
        "Any numbers by name.",
    ),
    "lines": (
        'figures.draw("lines", {n: run.goodput / 1e9 for n, run in delays.items()}, '
        'xlabel="delay of the circuit (us)", ylabel="goodput (Gb/s)")',
        "Any numbers over a parameter.",
    ),
    "fct_uptime": ('figures.draw("fct_uptime", uptimes)', ""),
    "congestion_controls": ('figures.draw("congestion_controls", controls)', ""),
    "schedule": ("strobe.plot.schedule()", ""),
    "slices": (
        'figures.draw("slices", plan("opera"), rack=0)',
        "For plans and runs whose network has circuit switches; `rack=` chooses whose uplinks.",
    ),
    "path": (
        'figures.draw("path", plan("shale"), destination=14)',
        "For plans and runs whose network has circuit switches. `labels=` draws several packets, which may take several paths.",
    ),
    "demand": (
        "solstice.plot.demand()",
        "For runs whose weeks are computed, and for what `etalon.schedulers.compute` returns.",
    ),
    "goodput": ("strobe.plot.goodput()", ""),
    "ports": ("tree.plot.ports()", "Needs `measure.ports`. `quantity=` chooses what is drawn."),
    "links": ("rotor.plot.links()", "Needs `measure.links`, in networks of circuits."),
    "rack_pairs": (
        'solstice.plot.rack_pairs(metric="voq_mean")',
        "`metric=` is a column of the table `pairs`.",
    ),
    "cwnd": ("strobe.plot.cwnd(span_us=(0, 10_000))", "Needs `measure.flows`."),
    "reordering": ("tdtcp.plot.reordering()", "Needs `measure.reordering`."),
    "shares": ("match.plot.shares()", "For what `et.tournament` returns."),
    "repairs": ("strobe.plot.repairs()", ""),
}
"""By figure: the line that draws it, and a remark."""

HEAD = """# Gallery of figures

Every kind of figure, with the line that draws it. A figure of one run is a method of it: `run.plot.sequence()`. Most take
several runs by name, to compare them: `figures.draw("sequence", {"CUBIC": a, "reTCP": b})`.
`figures.save(figure, "folder", "name")` writes PNG and PDF; `figures.interactive(...)` takes the same arguments and draws for
a browser.

`etalon run PLAN` draws those that fit the plan into the run's folder, and `etalon sweep` draws points over the parameter.

This page was drawn from these runs, on the simulator, when the site was built:

"""
LOAD = """# etalon examples --copy plans
def plan(name):
    return et.load(f"plans/{name}.toml")


def load(name, changes={}):
    return et.run(plan(name).replace(changes))
"""


@dataclass(frozen=True)
class Gallery:
    """The page, and the pictures on it by file name."""

    markdown: str
    pictures: Mapping[str, bytes]


@cache
def make() -> Gallery:
    """Draws everything.

    Raises:
        ValueError: if a kind of figure has no line here.
    """
    missing = {entry.name for entry in figures.FIGURES} ^ FIGURES.keys()
    if missing:
        raise ValueError(
            f"tools/site/gallery.py: the figures {', '.join(sorted(missing))} differ from the registry's"
        )
    names = _runs()
    parts, pictures = [HEAD, _prelude(), _index()], {}
    for entry in figures.FIGURES:
        line, remark = FIGURES[entry.name]
        figure = eval(line, names)
        pictures[f"{entry.name}.png"] = _png(figure, entry.name)
        summary = f"{entry.summary[0].upper()}{entry.summary[1:]}."
        parts.append(f"## {entry.name}\n\n{summary} {remark}\n\n```python\n{line}\n```\n")
        parts.append(f"![{entry.summary}](gallery/{entry.name}.png)\n")
    return Gallery("\n".join(parts), pictures)


def _index() -> str:
    """A small picture of each figure, which leads to it."""
    links = (
        f'<a class="thumbnail" href="#{entry.name}"><img src="gallery/{entry.name}.png" alt="">{entry.name}</a>'
        for entry in figures.FIGURES
    )
    return f"<p>{' '.join(links)}</p>\n"


def _runs() -> dict[str, Any]:
    """Makes the runs."""

    def plan(name: str) -> et.Plan:
        return et.Plan.load(EXAMPLES / f"{name}.toml")

    def load(name: str, changes: Mapping[str, Any] = {}) -> et.Run:
        return et.run(plan(name).replace(changes))

    names: dict[str, Any] = {"et": et, "figures": figures, "plan": plan, "load": load}
    for name, line in RUNS.items():
        names[name] = eval(line, names)
    return names


def _prelude() -> str:
    runs = "\n".join(f"{name} = {ast.unparse(ast.parse(line))}" for name, line in RUNS.items())
    text = f"import etalon as et\nfrom etalon import figures\n\n{LOAD}\n{runs}"
    return f'??? example "The runs"\n\n    ```python\n{_indented(text)}\n    ```\n'


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in text.splitlines())


def _png(figure: Any, name: str) -> bytes:
    with TemporaryDirectory() as folder:
        png = next(path for path in figures.save(figure, folder, name) if path.suffix == ".png")
        return png.read_bytes()
