# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sentences that `etalon-tcp` quotes stand in the RFCs that it names (tools/rfc_quotes.py)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import rfc_quotes

RFC = """
   ... in congestion avoid-
   ance, the sender MUST NOT
   do so unless asked ("politely").

Author                  Standards Track                    [Page 7]
\f
RFC 9999                Of Senders                    November 2026

   It may do so later.
"""


def test_every_quotation_was_held_to_its_text() -> None:
    """What to do about a new one is in tools/rfc_quotes.py."""
    assert [str(one) for one in rfc_quotes.unchecked()] == []


def test_the_table_has_nothing_but_what_is_quoted() -> None:
    quoted = {one.text for one in rfc_quotes.quotations()}
    assert len(quoted) > 30
    assert set(rfc_quotes.checked()) == quoted


@pytest.mark.parametrize(
    ("quotation", "stands"),
    [
        ("the sender MUST NOT do so", True),
        ("The sender must not do so [...] It may do so later.", True),
        ("It may do so later [...] the sender MUST NOT", False),
        ('unless asked ("politely").', True),
        ("the sender SHOULD NOT do so", False),
    ],
)
def test_quotations_are_found_across_lines_and_pages(quotation: str, stands: bool) -> None:
    assert rfc_quotes.stands_in(quotation, rfc_quotes.plain(RFC)) is stands


def test_a_wrong_quotation_is_named_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rfc_quotes, "ROOT", tmp_path)
    monkeypatch.setattr(rfc_quotes, "SOURCES", tmp_path / "src")
    monkeypatch.setattr(rfc_quotes, "TABLE", tmp_path / "quotes.tsv")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.rs").write_text(
        '//! RFC 9999.\n\n/// "It may do so later": yes.\nfn a() {}\n/// RFC 9998: "It may not."\nfn b() {}\n'
    )
    (tmp_path / "rfc9999.txt").write_text(RFC)
    wrong = rfc_quotes.check(tmp_path)
    assert wrong == [
        'src/a.rs:5: "It may not.": stands in no RFC that the file names (no text of RFC 9998)'
    ]
    assert rfc_quotes.checked() == {"It may do so later": "RFC 9999"}
    assert [one.text for one in rfc_quotes.unchecked()] == ["It may not."]
