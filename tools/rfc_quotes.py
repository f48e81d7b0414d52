# SPDX-License-Identifier: MIT OR Apache-2.0
"""Holds each sentence that a comment of `etalon-tcp` quotes to the text of an RFC that its file names.

    python tools/rfc_quotes.py FOLDER       # against these texts; writes crates/etalon-tcp/quotes.tsv
    python tools/rfc_quotes.py              # against quotes.tsv: what was not checked yet?

FOLDER has the texts as `rfcN.txt` or `rfcN.txt.gz`, at any depth: those of Debian's packages doc-rfc-std, doc-rfc-std-proposed,
doc-rfc-experimental and doc-rfc-informational (section non-free), or of rfc-editor.org. The table keeps which RFC has each
quotation, so that a test needs no texts. Rows of `other` are titles, and sentences of other documentation: by hand.
Exit status 1 if a quotation stands nowhere, or has not been checked.
"""

from __future__ import annotations

import argparse
import gzip
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "crates" / "etalon-tcp" / "src"
TABLE = ROOT / "crates" / "etalon-tcp" / "quotes.tsv"
COMMENT = re.compile(r"\s*//[/!]?\s?(.*)")
NAMED = re.compile(r"RFCs? (\d{3,5})|\b(\d{4}), \d")
QUOTED = re.compile(r'"((?:\("[^"]*"\)|[^"\\])*)"')
LEFT_OUT = re.compile(r"\[\.\.\.\]")
OTHER = "other"
"""In place of an RFC's number: a title, or a sentence of other documentation, which the line after names."""
PAGE = re.compile(r"\n+[^\n]*\[Page \d+\]\s*\f?\s*RFC \d+[^\n]*\n")


@dataclass(frozen=True)
class Quotation:
    """What a comment has between quotation marks."""

    path: Path
    line: int
    text: str
    rfcs: tuple[int, ...]
    """Those that the file names, in the order of how near they stand before."""

    def __str__(self) -> str:
        return f'{self.path.relative_to(ROOT)}:{self.line}: "{self.text}"'


def comments(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of comments that follow each other, as one text, with the number of the first."""
    first, block = 0, list[str]()
    for number, line in enumerate([*path.read_text(encoding="utf-8").splitlines(), ""], 1):
        found = COMMENT.fullmatch(line)
        if found:
            first = first if block else number
            block.append(found[1].strip())
        elif block:
            yield first, " ".join(block)
            block = []


def named(text: str) -> list[int]:
    """RFCs that a text names."""
    return [int(a or b) for a, b in NAMED.findall(text)]


def quotations() -> Iterator[Quotation]:
    """All of them, in order."""
    for path in sorted(SOURCES.rglob("*.rs")):
        if path.name == "tests.rs" or "tests" in path.parts:
            continue
        of_file = named(path.read_text(encoding="utf-8"))
        for line, block in comments(path):
            for found in QUOTED.finditer(block):
                near = named(block[: found.start()])[::-1]
                text = found[1].strip()
                if " " in text:
                    yield Quotation(path, line, text, tuple(dict.fromkeys([*near, *of_file])))


def plain(text: str) -> str:
    """Without pages, hyphens at ends of lines, and what else a quotation need not keep."""
    text = PAGE.sub("\n", text.replace("\r", ""))
    text = re.sub(r"(\w-)\n\s*", r"\1", text)
    return re.sub(r"\s+", " ", text).casefold()


def stands_in(quotation: str, text: str) -> bool:
    """Whether all parts of a quotation stand in a text, in order."""
    at = 0
    for part in LEFT_OUT.split(quotation):
        found = text.find(plain(part).strip(" .,"), at)
        if found < 0:
            return False
        at = found + len(plain(part).strip(" .,"))
    return True


def texts(folder: Path) -> dict[int, Path]:
    """By number: where the text of an RFC is."""
    found = {}
    for path in folder.rglob("rfc*.txt*"):
        name = re.fullmatch(r"rfc(\d+)\.txt(\.gz)?", path.name)
        if name:
            found[int(name[1])] = path
    return found


def read(path: Path) -> str:
    """A text."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return plain(data.decode("utf-8", "replace"))


def checked() -> dict[str, str]:
    """By quotation: where it was found."""
    rows = TABLE.read_text(encoding="utf-8").splitlines() if TABLE.exists() else []
    return {text: where for where, _, text in (row.partition("\t") for row in rows)}


def unchecked() -> list[Quotation]:
    """Those that no text was held to."""
    known = checked()

    def is_known(one: Quotation) -> bool:
        where = known.get(one.text)
        return where == OTHER or where in {f"RFC {number}" for number in one.rfcs}

    return [one for one in quotations() if not is_known(one)]


def check(folder: Path) -> list[str]:
    """Holds all to the texts, and writes the table. Returns what stands nowhere."""
    there, known = texts(folder), checked()
    bodies: dict[int, str] = {}
    rows, wrong = {}, []
    for one in quotations():
        if known.get(one.text) == OTHER:
            rows[one.text] = OTHER
            continue
        for number in one.rfcs:
            if number in there and number not in bodies:
                bodies[number] = read(there[number])
            if number in bodies and stands_in(one.text, bodies[number]):
                rows[one.text] = f"RFC {number}"
                break
        else:
            lacking = [str(number) for number in one.rfcs if number not in there]
            more = f" (no text of RFC {', '.join(lacking)})" if lacking else ""
            wrong.append(f"{one}: stands in no RFC that the file names{more}")
    lines = sorted(f"{where}\t{text}\n" for text, where in rows.items())
    TABLE.write_text("".join(lines), encoding="utf-8")
    return wrong


def main() -> None:
    """Checks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?")
    folder = parser.parse_args().folder
    wrong = check(folder) if folder else [f"{one}: not checked" for one in unchecked()]
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
