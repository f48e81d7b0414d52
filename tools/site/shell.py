# SPDX-License-Identifier: MIT OR Apache-2.0
"""Blocks in pages that are run when the site is built, so that what they print is never old.

- ```` ```shell run ````: a shell runs it line by line, and the page shows each line with what it printed.
- ```` ```python run ````: a script; what it prints stands below it.
- ```` ```toml run NAME ````, ```` ```python run NAME ````: a file.

All blocks of a page share a folder; `![...](run/FILE)` shows a picture from it. Files of a folder
beside the page, with its name, are there from the start.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

BLOCK = re.compile(r"^```(shell|python|toml) run ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WALL_CLOCK = re.compile(r"(?<= in )\d+(\.\d+)? (s|ms|min)\b(?=[;,]|$)", re.MULTILINE)
"""How long something took: what differs between two builds of the site."""
COLUMNS = 95


def lay_out(page: Path, folder: Path) -> None:
    """Copies the files that belong to a page into the folder of its blocks."""
    beside = page.with_suffix("")
    if page.suffix == ".md" and beside.is_dir():
        shutil.copytree(beside, folder, dirs_exist_ok=True)


def run_blocks(markdown: str, folder: Path) -> str:
    """The page with its blocks run in a folder.

    Raises:
        ValueError: if a command fails.
    """

    def shown(found: re.Match[str]) -> str:
        language, name, code = found[1], found[2], found[3]
        if name and language != "shell":
            (folder / name).write_text(code, encoding="utf-8")
            return f"```{language}\n{code}```"
        if language == "shell":
            return f"```console\n{_session(code, folder)}```"
        said = _said([sys.executable, "-c", code], folder)
        return f"```python\n{code}```\n\n```text\n{said}```" if said else f"```python\n{code}```"

    return BLOCK.sub(shown, markdown)


def _session(block: str, folder: Path) -> str:
    lines = block.splitlines()
    return "".join(f"$ {line}\n{_said(['sh', '-c', line], folder)}" for line in lines)


def _said(command: Sequence[str], folder: Path) -> str:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": str(COLUMNS),
        "NO_COLOR": "1",
        "TERM": "dumb",
    }
    answer = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if answer.returncode:
        raise ValueError(f"`{command[-1]}` failed: {answer.stdout}")
    printed = "".join(f"{line.rstrip()}\n" for line in answer.stdout.splitlines())
    return WALL_CLOCK.sub("a moment", printed)
