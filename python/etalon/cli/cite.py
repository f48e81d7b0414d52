# SPDX-License-Identifier: MIT OR Apache-2.0
"""`etalon cite`: BibTeX of Etalon, and of what a run builds on."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etalon.cli import common

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from etalon.plan import Plan


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Example:  etalon cite runs/strobe-1a2b3c4d >> paper.bib")(cite)


def cite(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="WHAT",
            help="Folders of runs, plan files, or papers (etalon list papers).",
            show_default=False,
        ),
    ] = None,
    json: common.Json = False,
) -> None:
    """Print BibTeX entries for Etalon and all papers, or for the papers that runs or plans build on."""
    from etalon import reproduce

    papers = reproduce.heads()
    if folders:
        from etalon.plan import Plan
        from etalon.results import Run

        used = {str(what) for what in folders if str(what) in papers}
        others = [what for what in folders if str(what) not in papers]
        plans = [Plan.load(what) for what in others if what.suffix == ".toml"]
        runs = [Run.load(what) for what in others if what.suffix != ".toml"]
        for plan in (*plans, *(run.plan for run in runs)):
            used |= papers_of(plan)
        papers = {name: head for name, head in papers.items() if name in used}
        kernels = sorted({str(run.meta["kernel"]) for run in runs if "kernel" in run.meta})
    else:
        kernels = []
    entries = entries_of(papers, kernels)
    if json:
        common.print_json(entries)
    else:
        typer.echo("\n\n".join(entries.values()))


def papers_of(plan: Plan) -> set[str]:
    """The papers whose mechanisms a plan uses: schedules, transports, congestion controls, hosts that announce demand."""
    from etalon import reproduce

    values = plan.to_dict()
    network = values.get("network", {}).get("kind", "rdcn")
    kinds = {workload.transport.kind for workload in plan.workloads}
    controls = {control for workload in plan.workloads for control in workload.controls}
    used = {*kinds, *controls, str(values.get("schedule", {}).get("kind"))}
    found = {paper for mechanism, paper in reproduce.origins().items() if mechanism in used}
    if network == "rdcn" and (plan.week_ns or values.get("schedule")):
        found.add("nsdi20")
    if values.get("tcp", {}).get("otcp"):
        found.add("cnsm16")
    if values.get("schedule", {}).get("estimator") == "adu" or plan.dfsio:
        found.add("etalon18")
    return found


def entries_of(papers: Mapping[str, Mapping[str, str]], kernels: Iterable[str]) -> dict[str, str]:
    """BibTeX entries by key: Etalon first, then kernels of runs, then papers."""
    from etalon import _core

    version = _core.__version__
    entries = {
        "etalon": _entry(
            "software",
            "etalon",
            title="{Etalon}: the laboratory for transport in reconfigurable data centre networks",
            author="{The Etalon authors}",
            version=version,
        )
    }
    for kernel in kernels:
        key = f"linux-{kernel}"
        entries[key] = _entry(
            "software",
            key,
            title=f"{{Linux}} {kernel} as built by {{Etalon}} (etalon-rdcn-kernel {version})",
            author="{The Linux kernel developers} and {The Etalon authors}",
        )
    for name, head in papers.items():
        venue, year = re.fullmatch(r"(.*?),? (\d{4})", head["venue"]).groups()  # type: ignore[union-attr]
        fields = {"title": f"{{{head['title']}}}", "author": _authors(head["authors"])}
        if venue == "arXiv":
            kind = "misc"
            fields |= {"eprint": head["link"].rpartition("/")[2], "archivePrefix": "arXiv"}
        elif "Univ" in venue:
            kind, fields["institution"] = "techreport", venue
        else:
            kind, fields["booktitle"] = "inproceedings", venue
        entries[name] = _entry(kind, name, **fields, year=year, url=head["link"])
    return entries


def _authors(names: str) -> str:
    return " and ".join(names.split(", "))


def _entry(kind: str, key: str, **fields: str) -> str:
    width = max(map(len, fields))
    lines = [f"  {name:<{width}} = {{{value}}}," for name, value in fields.items()]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])
