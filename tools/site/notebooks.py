# SPDX-License-Identifier: MIT OR Apache-2.0
"""The notebooks of docs/notebooks as pages, with what their cells show, run when the site is built."""

from __future__ import annotations

import ast
import base64
import contextlib
import html
import io
import json
import linecache
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "notebooks"


def pages() -> dict[str, str]:
    """By place on the site: each notebook's page."""
    return {f"notebooks/{path.stem}.md": page(path) for path in sorted(FOLDER.glob("*.ipynb"))}


def page(path: Path) -> str:
    """A notebook as Markdown: its text, its code, and what that shows."""
    names: dict[str, Any] = {"__name__": "__main__"}
    parts = []
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                parts.append(source)
            else:
                parts.append(f"```python\n{source}\n```\n\n{_run(source, names)}")
    title, _, rest = "\n\n".join(parts).partition("\n")
    note = f"*This is the notebook `docs/notebooks/{path.name}`, run when the site was built.*"
    return f"{title}\n\n{note}\n{rest}\n"


def _run(source: str, names: dict[str, Any]) -> str:
    """Runs a cell; what it prints, and what its last expression shows."""
    tree = ast.parse(source)
    # As in a notebook a cell is a file that only this process knows: code that is kept with a run is read from there.
    cell = f"<cell {len(linecache.cache)}>"
    linecache.cache[cell] = (len(source), None, source.splitlines(keepends=True), cell)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, cell, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), cell, "eval"), names)
    said = f"```text\n{printed.getvalue().rstrip()}\n```\n\n" if printed.getvalue() else ""
    return said + ("" if value is None else _shown(value))


def _shown(value: Any) -> str:
    """A value as a notebook shows it."""
    if hasattr(value, "savefig"):
        png = io.BytesIO()
        value.savefig(png, format="png", dpi=150, metadata={"Software": None})
        data = base64.b64encode(png.getvalue()).decode()
        return f'<div><img alt="The figure" src="data:image/png;base64,{data}"></div>'
    represent = getattr(value, "_repr_html_", None)
    if represent is not None:
        return f'<div class="notebook-output">{represent()}</div>'
    text = html.unescape(repr(value)).replace(os.getcwd(), "")
    return f"```text\n{text}\n```"
