# SPDX-License-Identifier: MIT OR Apache-2.0
"""Circles of files: files of one crate that need each other, directly or around, so that nobody reads one without the others.

python tools/circles.py               # the circles of each crate
python tools/circles.py etalon-tcp    # those of one, and what leads from file to file

A file needs another if its own code, tests left out, names something that the other declares, by any path.
What a file only passes on (`pub use`) counts as the declaring file's. `mod` needs nothing.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
Module = tuple[str, ...]
"""A file's place in its crate: its path in Rust, the crate's name left out."""

NOISE = re.compile(r'//[^\n]*|"(?:\\.|[^"\\])*"')
TEST = re.compile(r"#\[cfg\((?:all\(|any\()?test\b[^\]]*\]")
USE = re.compile(r"(\bpub(?:\([^)]*\))?\s+)?\buse\s+([^;]+);")
PATH = re.compile(r"\b(?:crate|super|self)(?:::\w+)+")
CHILD = re.compile(r"(?<![:\w])(\w+)::\w")
DECLARED = r"\b(?:struct|enum|trait|union|fn|type|const|static)\s+{}\b"
MACRO = re.compile(r"#\[macro_export\]\s*macro_rules!\s*(\w+)")


def without_tests(text: str) -> str:
    """A file's code without comments, strings, and what only tests have."""
    text = NOISE.sub('""', text)
    kept = ""
    while found := TEST.search(text):
        kept += text[: found.start()]
        text = text[_end_of_item(text, found.end()) :]
    return kept + text


def _end_of_item(text: str, at: int) -> int:
    depth = 0
    for place in range(at, len(text)):
        if text[place] == "{":
            depth += 1
        elif text[place] == "}":
            depth -= 1
        if depth == 0 and text[place] in "};":
            return place + 1
    return len(text)


def in_tree(tree: str) -> Iterator[str]:
    """The paths of a `use`, its braces taken apart."""
    tree = re.sub(r"\s+", " ", tree).strip()
    head, brace, rest = tree.partition("{")
    if not brace:
        yield re.sub(r" as \w+", "", tree).replace(" ", "")
        return
    depth, part = 0, ""
    for letter in rest.rpartition("}")[0] + ",":
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            if part.strip():
                yield from in_tree(head + part.strip())
            part = ""
        else:
            part += letter


class Crate:
    """The files of a crate, and what each needs."""

    def __init__(self, source: Path) -> None:
        self.texts = {
            module: without_tests(path.read_text()) for module, path in _modules(source).items()
        }
        self._exported = {name for text in self.texts.values() for name in MACRO.findall(text)}
        self._named: dict[Module, dict[str, Module]] = {module: {} for module in self.texts}
        self._paths: dict[Module, set[Module]] = {module: set() for module in self.texts}
        for module, text in self.texts.items():
            self._read(module, text)
        self.needs = {module: self._needs(module) for module in self.texts}

    def _read(self, module: Module, text: str) -> None:
        for public, tree in USE.findall(text):
            for found in in_tree(tree):
                path = self._absolute(module, found)
                if path:
                    self._named[module][path[-1]] = path
                    if not public:
                        self._paths[module].add(path)
        code = USE.sub("", text)
        for found in PATH.findall(code):
            if path := self._absolute(module, found):
                self._paths[module].add(path)
        for name in CHILD.findall(code):
            if (*module, name) in self.texts:
                self._paths[module].add((*module, name))

    def _absolute(self, module: Module, path: str) -> Module:
        """A path from the crate's root; empty if it leads out of the crate."""
        first, *rest = path.split("::")
        at = list(module)
        while first == "super" and rest:
            at = at[:-1]
            first, *rest = rest
        if path.startswith("crate::"):
            return tuple(rest)
        if path.startswith("super::"):
            return (*at, first, *rest)
        if first == "self":
            return (*at, *rest)
        return (*at, first, *rest) if (*at, first) in self.texts else ()

    def _needs(self, module: Module) -> set[Module]:
        paths = {path for path in self._paths[module] if path[-1] not in self._exported}
        return {self._declares(path) for path in paths} - {module}

    def _declares(self, path: Module, passed: int = 0) -> Module:
        """The file that declares what a path names."""
        length = next(n for n in range(len(path), -1, -1) if path[:n] in self.texts)
        module, rest = path[:length], path[length:]
        if rest and passed < 8:
            further = self._named[module].get(rest[0])
            declared = re.search(DECLARED.format(re.escape(rest[0])), self.texts[module])
            if further and further != path and not declared:
                return self._declares((*further, *rest[1:]), passed + 1)
        return module


def _modules(source: Path) -> dict[Module, Path]:
    found = {}
    for path in sorted(source.rglob("*.rs")):
        *folders, name = path.relative_to(source).with_suffix("").parts
        if "tests" in (*folders, name) or "bin" in folders or name.endswith(("_tests", "_fuzz")):
            continue
        found[(*folders, *(() if name in ("mod", "lib", "main") else (name,)))] = path
    return found


def circles(needs: Mapping[Module, set[Module]]) -> list[list[Module]]:
    """Files that reach each other, largest circle first."""
    reached = {module: _reached(needs, module) for module in needs}
    found = {
        tuple(sorted(other for other in reached[module] if module in reached[other]))
        for module in needs
    }
    return sorted((list(one) for one in found if len(one) > 1), key=lambda one: (-len(one), one))


def _reached(needs: Mapping[Module, set[Module]], module: Module) -> set[Module]:
    seen: set[Module] = set()
    left = [module]
    while left:
        for other in needs[left.pop()] - seen:
            seen.add(other)
            left.append(other)
    return seen


def crates() -> dict[str, Path]:
    """Where the source of each crate is."""
    return {path.parent.name: path for path in sorted((ROOT / "crates").glob("*/src"))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("crate", nargs="*", help="also what leads from file to file")
    chosen = parser.parse_args().crate
    for name, source in crates().items():
        if chosen and name not in chosen:
            continue
        crate = Crate(source)
        for circle in circles(crate.needs):
            print(f"{name}: {len(circle)} files")
            for module in circle if chosen else ():
                others = ("::".join(other) or "lib" for other in crate.needs[module] & set(circle))
                print(f"    {'::'.join(module) or 'lib'} -> {', '.join(sorted(others))}")


if __name__ == "__main__":
    main()
