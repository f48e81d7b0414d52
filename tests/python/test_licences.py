# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every crate that is linked or used by tests has a licence that deny.toml allows, and comes from crates.io."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from typing import Any

import pytest

from conftest import ROOT

ALLOWED = set(tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]["allow"])
CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"


def packages(manifest: str) -> list[dict[str, Any]]:
    """What a workspace is made of, its own crates too."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--all-features"]
    command += ["--manifest-path", str(ROOT / manifest)]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    found: list[dict[str, Any]] = json.loads(made.stdout)["packages"]
    return found


def allowed(expression: str) -> bool:
    """Whether an SPDX expression lets us choose licences that are allowed; `/` is how crates once wrote OR."""
    text = expression.replace("/", " OR ")
    tokens = re.findall(r"\(|\)|[\w.-]+(?: WITH [\w.-]+)?", text)
    words = {"AND": "and", "OR": "or", "(": "(", ")": ")"}
    said = [words.get(token) or str(token in ALLOWED) for token in tokens]
    return bool(eval(" ".join(said), {"__builtins__": {}}))


def test_expressions() -> None:
    for expression in ("MIT", "MIT/Apache-2.0", "GPL-2.0 OR ISC", "(MIT OR GPL-2.0) AND ISC"):
        assert allowed(expression)
    for expression in ("GPL-2.0", "MIT AND GPL-2.0", "(GPL-2.0 OR LGPL-2.1) AND MIT"):
        assert not allowed(expression)


@pytest.mark.parametrize("manifest", ["Cargo.toml", "kernel/core/Cargo.toml"])
def test_licences_and_sources(manifest: str) -> None:
    found = packages(manifest)
    assert len(found) > 5
    for one in found:
        licence = one["license"] or ""
        if one["source"] is None:  # ours; what is linked into the kernel is under its licence
            assert licence, one["name"]
        else:
            assert one["source"] == CRATES_IO, one["name"]
            assert allowed(licence), f"{one['name']}: {licence}"
