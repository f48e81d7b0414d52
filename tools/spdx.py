# SPDX-License-Identifier: MIT OR Apache-2.0
"""The first line of each source file names its licence (SPDX): GPL-2.0 in `kernel/`, MIT or Apache-2.0 elsewhere.

python tools/spdx.py            # names the files that lack it
python tools/spdx.py --write    # writes it there
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OURS, KERNELS = "MIT OR Apache-2.0", "GPL-2.0"
COMMENTS = {
    **dict.fromkeys((".rs", ".c", ".java"), "// {}"),
    **dict.fromkeys((".py", ".pyi", ".sh"), "# {}"),
    ".h": "/* {} */",
}


def line(name: str) -> str:
    """The line that a file has."""
    licence = KERNELS if name.startswith("kernel/") else OURS
    return COMMENTS[Path(name).suffix].format(f"SPDX-License-Identifier: {licence}")


def sources() -> Iterator[str]:
    """Files that this concerns, from the root of the tree."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in listed.stdout.split("\0"):
        path = ROOT / name
        if path.suffix in COMMENTS and path.is_file() and not path.is_symlink():
            yield name


def place(text: str) -> int:
    """Where the line belongs: first, or behind the line that names the interpreter."""
    return text.index("\n") + 1 if text.startswith("#!") else 0


def has_line(name: str) -> bool:
    """Whether a file has its line."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return text[place(text) :].startswith(line(name))


def main() -> None:
    """Names them, or writes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write it there")
    write = parser.parse_args().write
    lacking = [name for name in sources() if not has_line(name)]
    for name in lacking:
        if write:
            text = (ROOT / name).read_text(encoding="utf-8")
            at = place(text)
            (ROOT / name).write_text(f"{text[:at]}{line(name)}\n{text[at:]}", encoding="utf-8")
        else:
            print(f'{name}: has no "{line(name)}"', file=sys.stderr)
    sys.exit(not write and bool(lacking))


if __name__ == "__main__":
    main()
