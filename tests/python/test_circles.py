# SPDX-License-Identifier: MIT OR Apache-2.0
"""Files of a crate form no large circle (`tools/circles.py`)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import circles

MOST = 5
"""Files of a circle. A type and the files that share out its functions are one already; five can still be read together."""


@pytest.mark.parametrize("name", circles.crates())
def test_no_circle_of_files_is_large(name: str) -> None:
    needs = circles.Crate(circles.crates()[name]).needs
    large = [circle for circle in circles.circles(needs) if len(circle) > MOST]
    shown = ["::".join(module) for circle in large for module in circle]
    assert not large, f"{shown} need each other: move what the lower of them share to a file below"


FILES = {
    "lib.rs": "mod a;\nmod b;\nmod c;\npub use a::A;\npub use c::{C, free};",
    "a.rs": "use crate::b::{B, one::{self, One as Other}};\npub struct A;",
    "b.rs": 'mod one;\n/// `crate::c`\npub struct B;\nconst C: &str = "crate::c";\n#[cfg(test)] mod tests { use crate::c::C; }',
    "b/one.rs": "use super::super::A;\npub struct One;",
    "c.rs": "pub fn free() -> crate::A { crate::A }\npub struct C;",
}


def test_a_circle_is_found_whatever_the_path(tmp_path: Path) -> None:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    needs = circles.Crate(tmp_path).needs
    assert needs == {
        (): set(),
        ("a",): {("b",), ("b", "one")},
        ("b",): set(),
        ("b", "one"): {("a",)},
        ("c",): {("a",)},
    }
    assert circles.circles(needs) == [[("a",), ("b", "one")]]
