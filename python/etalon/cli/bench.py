# SPDX-License-Identifier: MIT OR Apache-2.0
"""`etalon bench`: how fast the engines and the schedulers are on this machine."""

from __future__ import annotations

import difflib
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from etalon.cli import common
from etalon.errors import EtalonError, PlanError
from etalon.progress import bar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

COLUMNS = (
    "bench",
    "packets per CPU-second",
    "hops per CPU-second",
    "time a packet",
    "packets",
    "CPU time",
    "peak memory",
    "instructions a packet",
    "digest",
)
SCHEDULERS = ("scheduler", "demand", "racks", "window", "median", "best", "days", "served")


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="Example:  etalon bench lean full --json")(bench)


def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Benches (default: all).", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Also write a Markdown file; with --instructions, the table (JSON).",
            show_default=False,
        ),
    ] = None,
    instructions: Annotated[
        bool,
        typer.Option(
            "--instructions",
            help="Count instructions a packet (with valgrind) and memory instead, and compare with the committed table.",
        ),
    ] = False,
    json: common.Json = False,
) -> None:
    """Measure the speed of engines and schedulers. Prints data packets delivered per CPU-second on one core."""
    from etalon import bench as benches
    from etalon.bench import schedulers

    if instructions:
        from etalon.bench.instructions import NAMES
        from etalon.cli import bench_instructions

        if out is not None:
            _check(out)
        bench_instructions.run(_known(names or NAMES, NAMES), out, json)
        return
    there = [*benches.names(), schedulers.NAME]
    chosen = _known(names or there, there)
    weeks: list[dict[str, Any]] = []
    if out is not None:
        _check(out)
    _check_core(out)
    _prepare(chosen)
    results = []
    with bar("bench") as progress:
        for done, name in enumerate(chosen):
            if progress is not None:
                progress(done / len(chosen))
            if name == schedulers.NAME:
                weeks = list(schedulers.measure())
            else:
                results.append(_measure(name))
    if out is not None:
        _write(out, _markdown(results, weeks, benches.machine()))
    if json:
        common.print_json([*results, *({"name": schedulers.NAME, **week} for week in weeks)])
        return
    _print(results, weeks)


def _check_core(out: Path | None) -> None:
    """Says that a core which `make setup` built is slow; refuses to publish its numbers."""
    from etalon import _core

    if _core.is_fast:
        return
    said = "this core is a quick build, not a fast one: `make release` builds the fast one"
    if out is not None:
        raise PlanError(said)
    common.note(f"warning: {said}")


def _prepare(chosen: Sequence[str]) -> None:
    from etalon import bench as benches

    for engine in ("sim", "linux"):
        plans = [
            benches.load(name)
            for name in chosen
            if name in benches.names() and benches.engine_of(name) == engine
        ]
        common.prepare(engine, plans)


def _print(results: Sequence[dict[str, Any]], weeks: Sequence[dict[str, Any]]) -> None:
    counted = _counted()
    if results:
        table = common.plain_table(COLUMNS[0], *(f">{column}" for column in COLUMNS[1:]))
        for result in results:
            table.add_row(*_row(result, counted))
        common.print_table(table)
    if weeks:
        table = common.plain_table(*SCHEDULERS[:2], *(f">{column}" for column in SCHEDULERS[2:]))
        for week in weeks:
            table.add_row(*_week(week))
        common.print_table(table)


def _check(out: Path) -> None:
    from etalon import files

    if out.is_dir():
        raise PlanError("is a folder; the results are one Markdown file", file=str(out))
    files.check_writable(out)


def _write(out: Path, text: str) -> None:
    """Writes the page; the stamp of one that is there is renewed."""
    from etalon import files, pages

    try:
        stamp = pages.comment(out.read_text(encoding="utf-8")) if out.exists() else ""
        files.put(out, pages.stamped(f"{text}\n{stamp}\n" if stamp else text, str(out)))
    except OSError as error:
        raise EtalonError(f"{out}: could not be written: {error.strerror}") from error


def _known(chosen: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    for name in chosen:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
            hint = f'did you mean "{near[0]}"?' if near else f"there are {', '.join(names)}"
            raise PlanError(f'"{name}" is not a bench; {hint}')
    return chosen


def _measure(name: str) -> dict[str, Any]:
    from etalon import bench as benches

    try:
        return benches.measure(name)
    except subprocess.CalledProcessError as error:
        last = (error.stderr or "").strip().rpartition("\n")[2] or f"exit code {error.returncode}"
        raise EtalonError(f"bench {name} failed: {last}") from None


def _row(result: dict[str, Any], counted: Mapping[str, float]) -> tuple[str, ...]:
    hops = result.get("hops_per_cpu_second")
    instructions = counted.get(result["name"])
    return (
        result["name"],
        f"{result['packets_per_cpu_second'] / 1e6:.2f} M",
        "" if hops is None else f"{hops / 1e6:.1f} M",
        f"{result['us_per_packet']:.2f} us",
        f"{result['packets'] / 1e6:.1f} M",
        f"{result['cpu_seconds']:.2f} s",
        f"{result['peak_rss_bytes'] / 1e6:.0f} MB",
        "" if instructions is None else f"{instructions:,.0f}",
        result["digest"],
    )


def _counted() -> Mapping[str, float]:
    """Instructions a packet of benches, as the committed table has them."""
    from etalon.bench import instructions

    if not instructions.TABLE.exists():
        return {}
    _, counts = instructions.read()
    return {name: count.per_packet for name, count in counts.items() if count.per_packet}


def _week(week: dict[str, Any]) -> tuple[str, ...]:
    return (
        week["scheduler"],
        week["demand"],
        str(week["racks"]),
        f"{week['window_us'] / 1e3:g} ms",
        f"{week['median_ms']:.3g} ms",
        f"{week['best_ms']:.3g} ms",
        str(week["days"]),
        f"{100 * week['served']:.0f} %",
    )


def _markdown(
    results: Sequence[dict[str, Any]], weeks: Sequence[dict[str, Any]], machine: str
) -> str:
    lines = [
        "# Results of `etalon bench`",
        "",
        f"Machine: {machine}. Commit: {_commit()}.",
    ]
    if results:
        counted = _counted()
        lines += [
            "",
            f"| {' | '.join(COLUMNS)} |",
            f"|---|{'---:|' * (len(COLUMNS) - 1)}",
            *(f"| {' | '.join(_row(result, counted))} |" for result in results),
        ]
    if weeks:
        lines += [
            "",
            "The time that a scheduler takes to compute a week, with days of 180 us or more and nights of 20 us, for",
            "circuits of 80 Gb/s: median and best of some computations, one core. Demand fills the window; served is its",
            "share on circuits.",
            "",
            f"| {' | '.join(SCHEDULERS)} |",
            f"|---|---|{'---:|' * (len(SCHEDULERS) - 2)}",
            *(f"| {' | '.join(_week(week))} |" for week in weeks),
        ]
    return "\n".join(lines) + "\n"


def _commit() -> str:
    """The commit of the source tree, with a mark if it has changes of its own."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return found.stdout.strip() or "unknown"
