# SPDX-License-Identifier: MIT OR Apache-2.0
"""`etalon kernel`: builds the kernel of the Linux engine, and looks after those that are built."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etalon.cli import common
from etalon.errors import EtalonError
from etalon.progress import steps

if TYPE_CHECKING:
    from etalon.kernel import Progress, Status

Hz = Annotated[int, typer.Option("--hz", help="Timer frequency; the papers' kernels used 250.")]

app = typer.Typer(
    help="Build and keep the kernel of the Linux engine.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def register(parent: typer.Typer) -> None:
    """Adds the commands."""
    parent.add_typer(app, name="kernel")


@app.command(epilog="Example:  etalon kernel build --hz 1000")
def build(
    hz: Hz = 250,
    source: Annotated[
        Path | None,
        typer.Option(
            "--source",
            metavar="DIR|TARBALL",
            help="Source of Linux 6.1.x (default: Debian's, fetched if necessary).",
            show_default=False,
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, help="Default: one per processor.", show_default=False),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Build everything again.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> int:
    """Build the kernel, unless it is there already; print its path."""
    from etalon import kernel

    began = time.monotonic()
    there = kernel.find(hz)
    try:
        with _reports(quiet) as (progress, status):
            path = kernel.image(hz, progress, status, given=source, jobs=jobs, force=force)
    except KeyboardInterrupt:
        common.note("interrupted; the next build of the kernel resumes here")
        return common.INTERRUPTED
    if not quiet:
        seconds = time.monotonic() - began
        known = there == path and source is None and not force
        common.note("the kernel is up to date" if known else f"built the kernel in {seconds:.0f} s")
    typer.echo(path)
    return common.OK


@app.command()
def path(hz: Hz = 250) -> None:
    """Print the kernel's path."""
    from etalon import kernel

    found = kernel.find(hz)
    if found is None:
        option = "" if hz == kernel.DEFAULT_HZ else f" --hz {hz}"
        raise EtalonError(
            f"the kernel is not built yet, or was built from other sources: etalon kernel build{option}"
        )
    typer.echo(found)


@app.command("list")
def show(json: common.Json = False) -> None:
    """List the kernels that are built or installed, and the cache's size on the disk."""
    from etalon.kernel import cache, packaged, places

    kept = [*cache.installed(), *cache.kept()]
    taken = {
        what: cache.size(folder)
        for what, folder in (
            ("images", places.images()),
            ("trees", places.trees()),
            ("sources", places.downloads()),
            ("cargo", places.cargo()),
        )
    }
    if json:
        kernels = [
            {"hz": one.hz, "linux": one.version, "current": one.current, "path": str(one.path)}
            for one in kept
        ]
        common.print_json({"kernels": kernels, "folder": str(places.cache()), "bytes": taken})
        return
    table = common.plain_table(">HZ", "Linux", "", "path")
    for one in kept:
        state = "up to date" if one.current else "of other sources"
        if packaged.holds(one.path):
            state += ", installed"
        table.add_row(str(one.hz), one.version, state, str(one.path))
    if kept:
        common.print_table(table)
    else:
        typer.echo("no kernel is built yet: etalon kernel build")
    parts = ", ".join(f"{what} {size / 1e6:.0f} MB" for what, size in taken.items())
    typer.echo(f"{places.cache()}: {parts}")


@app.command()
def clean(
    old: Annotated[
        bool, typer.Option("--old", help="Keep the kernels of the current sources.")
    ] = False,
) -> None:
    """Remove all kernels and the files kept to build them."""
    from etalon.kernel import cache, places

    with cache.all_locks(common.note):
        if old:
            freed = sum(cache.remove(folder) for folder in cache.outdated())
        else:
            freed = sum(
                cache.remove(folder)
                for folder in (places.images(), places.trees(), places.downloads(), places.cargo())
            )
    typer.echo(f"{freed / 1e6:.0f} MB freed in {places.cache()}")


@contextmanager
def _reports(quiet: bool) -> Iterator[tuple[Progress | None, Status | None]]:
    """Progress and steps, or nothing if `quiet`."""
    if quiet:
        yield None, None
    else:
        with steps("kernel", common.note) as reports:
            yield reports
