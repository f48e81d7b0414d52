# SPDX-License-Identifier: MIT OR Apache-2.0
"""MkDocs hooks: the repository's pages outside docs/, generated pages, links between all of them, and the proof that the site
needs no network.

The site has the repository's tree: `docs/plan.md` is `plan.md` there, `papers/nsdi20/README.md` keeps its place.
"""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))
import gallery
import notebooks
import reference
import shell

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = (
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "benches/RESULTS.md",
    "crates/etalon-tcp/DEVIATIONS.md",
    "hdfs/README.md",
    "kernel/LICENSE.md",
    "kernel/README.md",
    "papers/*/*.md",
)
"""Pages outside docs/ that are on the site."""
SAME = {
    "README.md": "index.md",
    "docs/notebooks": "notebooks/first-minute.md",
    "examples": "examples.md",
    "papers": "papers.md",
}
"""Places of the repository that another page of the site stands for."""
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
"""A link, or a picture."""
PICTURE = re.compile(r"!\[[^\]]*\]\(run/([^)\s]+)\)")
"""A picture that a command of the page has drawn."""
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(
    r"<blockquote>\s*<blockquote>\s*<blockquote>\s*<p>(.*?)</p>\s*</blockquote>\s*</blockquote>\s*</blockquote>",
    re.DOTALL,
)
LOADED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\ssrc=["']?(https?:)?//|<link\b[^>]*rel=["']?(?:stylesheet|preconnect|icon)["']?[^>]*"""
    r"""href=["']?(https?:)?//|url\(["']?https?://|@import"""
)
"""What a browser would fetch from elsewhere."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that are not in docs/."""
    for pattern in OUTSIDE:
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            files.append(File.generated(config, name, content=path.read_text(encoding="utf-8")))
    for name, write in reference.GENERATED.items():
        files.append(File.generated(config, name, content=write()))
    for name, content in notebooks.pages().items():
        files.append(File.generated(config, name, content=content))
    drawn = gallery.make()
    files.append(File.generated(config, "gallery.md", content=drawn.markdown))
    for name, picture in drawn.pictures.items():
        files.append(File.generated(config, f"gallery/{name}", content=picture))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Runs the page's commands, and makes its links and pictures lead to files of the site."""
    here = page.file.src_uri
    markdown = _count_first(markdown)
    with TemporaryDirectory(prefix="etalon-site-") as scratch:
        shell.lay_out(ROOT / "docs" / here, Path(scratch))
        try:
            markdown = shell.run_blocks(markdown, Path(scratch))
        except ValueError as error:
            raise PluginError(f"{here}: {error}") from None
        for found in PICTURE.finditer(markdown):
            content = (Path(scratch) / found[1]).read_bytes()
            name = posixpath.join(posixpath.dirname(here), "run", found[1])
            files.append(File.generated(config, name, content=content))

    def follow(found: re.Match[str]) -> str:
        picture, text, target = found.groups()
        if re.match(r"[a-z]+:|#", target) or (picture and target.startswith("run/")):
            return found[0]
        path, _, anchor = target.partition("#")
        uri = _on_site(here, path, files)
        if uri is None:
            return text
        relative = posixpath.relpath(uri, posixpath.dirname(here) or ".")
        return f"{picture}[{text}]({relative}{'#' + anchor if anchor else ''})"

    parts = FENCE.split(markdown)
    parts[::2] = [LINK.sub(follow, part) for part in parts[::2]]
    return "".join(parts)


def _count_first(markdown: str) -> str:
    """A page that ends with the count of a paper's claims begins with it, too, below its title."""
    count = reference.COUNT.search(markdown)
    title, space, rest = markdown.partition("\n\n")
    return f"{title}{space}**{count[0]}.**\n\n{rest}" if count else markdown


def _on_site(here: str, path: str, files: Files) -> str | None:
    """The page or file of the site that a link of the page `here` leads to; None if it is only in the repository."""
    direct = posixpath.normpath(posixpath.join(posixpath.dirname(here), path))
    if files.get_file_from_path(direct) is not None:
        return direct
    inside = (ROOT / "docs" / here).is_file()
    at = posixpath.normpath(
        posixpath.join(posixpath.dirname(f"docs/{here}" if inside else here), path)
    )
    if not (ROOT / at).exists():
        raise PluginError(f"{here}: links to {path}, which does not exist")
    first = at.split("/")[0]
    uri = SAME.get(at) or (SAME["examples"] if first == "examples" else at.removeprefix("docs/"))
    if files.get_file_from_path(uri) is None and files.get_file_from_path(f"{uri}/README.md"):
        uri = f"{uri}/README.md"
    return uri if files.get_file_from_path(uri) else None


def on_page_content(html: str, **_: object) -> str:
    """Sets examples of docstrings (`>>> ...`) as code, which Markdown takes for quotations."""
    return EXAMPLE.sub(r"<pre><code>\1</code></pre>", html)


def on_post_build(config: MkDocsConfig) -> None:
    """Nothing on the site comes from elsewhere."""
    for path in Path(config.site_dir).rglob("*"):
        if path.suffix in (".html", ".css"):
            found = LOADED.search(path.read_text(encoding="utf-8"))
            if found and not (path.suffix == ".css" and found[0] == "@import"):
                raise PluginError(f"{path}: would load something from the network: {found[0]}")
