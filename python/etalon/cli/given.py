# SPDX-License-Identifier: MIT OR Apache-2.0
"""Plans that commands are given: files, with the values of `--set`; and the remedy for what is no plan."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from etalon.cli import common, examples
from etalon.errors import PlanError

if TYPE_CHECKING:
    from etalon.plan import Plan


def changed_plan(path: Path, settings: Sequence[str] | None, seed: int | None) -> Plan:
    """A plan file with the values of `--set` and `--seed`."""
    from etalon.units import shown

    changes = dict(common.parse_setting(text) for text in settings or ())
    if seed is not None:
        changes["seed"] = seed
    plan = plan_in(path)
    try:
        return plan.replace(changes) if changes else plan
    except PlanError as error:
        error = error.in_file(f"{path} with --set")
        place = re.sub(r"\.\d+(?=\.)", "", error.key or "")  # "bulk.flows" for "bulk.0.flows"
        for key, value in changes.items():
            if isinstance(value, str) and "," in value and place.startswith(key):
                sentence = f"{shown(value)} is one value; `etalon sweep` takes several"
                raise PlanError(sentence, key=key, value=value, file=error.file) from None
        raise error from None


def plan_in(path: Path) -> Plan:
    """The plan in a file. Refuses what people take for one, and names the remedy."""
    from etalon.plan import Plan

    wrong = _no_plan(path)
    if wrong is not None:
        raise PlanError(wrong, file=str(path))
    return Plan.load(path)


def _no_plan(path: Path) -> str | None:
    from etalon import reproduce
    from etalon.results import store

    if path.is_dir():
        if (path / store.RUN).exists() or (path / store.SWEEP).exists():
            return f"contains results; `etalon report {path}` draws them again"
        plan = min(path.glob("*.toml"), default=None)
        return None if plan is None else f"is a folder; a plan is a file, such as {plan}"
    if path.exists():
        return None
    file = path.with_name(f"{path.name.removesuffix('.toml')}.toml")
    if file.exists():
        return f"there is no such file; did you mean {file}?"
    if path.name in reproduce.papers():
        return f"is a paper; `etalon reproduce {path.name}` measures its claims"
    if file.name in [example.name for example in examples.files()]:
        return f"there is no such file; `etalon examples --copy {path.parent}` copies an example of this name"
    return None
