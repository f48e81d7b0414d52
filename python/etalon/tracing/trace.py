# SPDX-License-Identifier: MIT OR Apache-2.0
"""A run once more, with a recorder: its packets (pcapng) and its timeline, of the part that is asked for."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from etalon import _core, files
from etalon import engine as engines
from etalon.errors import EtalonError, Interrupted, Occupied, PlanError
from etalon.plan.workloads.base import MOST_FLOWS
from etalon.tracing import capture
from etalon.tracing.timeline import builder, write_timeline
from etalon.units import TIME

if TYPE_CHECKING:
    from etalon.engine import Engine
    from etalon.plan import Plan

PCAPNG: Final = "trace.pcapng"
TIMELINE: Final = "trace.pftrace"


def write(
    plan: Plan,
    folder: str | os.PathLike[str],
    *,
    start_ns: int = 0,
    end_ns: int,
    at: str | None = None,
    pcapng: bool = True,
    timeline: bool = True,
    engine: str | Engine = "sim",
    force: bool = False,
    progress: Callable[[float], None] | None = None,
) -> list[Path]:
    """Runs `plan` again up to `end_ns` and writes what happened in [start_ns, end_ns) to `folder`.

    Args:
        plan: what to run.
        folder: where to write; it is created if need be.
        start_ns: start of what is kept, in nanoseconds of the network's time.
        end_ns: its end. Memory and files grow with the time kept, not with the time before it.
        at: the point whose packets are kept, such as "tor1": what hosts of rack 1 send and what they get, each packet once;
            without it, those of all points.
        pcapng: whether to write the packets.
        timeline: whether to write the timeline.
        engine: what runs the plan.
        force: whether files of an earlier trace may be replaced.
        progress: told the share of the work that is done, 0 to 1.

    Returns:
        The paths of the files.

    Raises:
        PlanError: if the time is empty or the folder holds a trace already.
        EtalonError: if the engine refuses the plan or a file cannot be written; no file is left half written.
        Interrupted: on Ctrl-C; the files then end where the run was.
    """
    if not 0 <= start_ns < end_ns:
        raise PlanError(
            f"a trace must start at 0 or later and before its end, not at {TIME.format(max(start_ns, 0))} "
            f"of {TIME.format(max(end_ns, 0))}"
        )
    chosen = engines.check([plan], engine)
    if plan.streamed:
        raise PlanError(
            f"the plan has {plan.expected_flows:.0f} flows; a trace records at most {MOST_FLOWS}: shorten the duration",
            file=plan.name,
        )
    chosen.prepare([plan])
    if timeline:
        builder()
    wanted = None if at is None else capture.interfaces(at, plan.network.racks)
    folder = Path(folder)
    names = [name for name, asked in ((PCAPNG, pcapng), (TIMELINE, timeline)) if asked]
    files.check_writable(folder / TIMELINE)
    if not force and any((folder / name).exists() for name in names):
        raise Occupied("a trace", file=str(folder))
    if _keep(plan, chosen, folder, names, (start_ns, end_ns), wanted, progress):
        raise Interrupted([])
    return [folder / name for name in names]


def _keep(
    plan: Plan,
    engine: Engine,
    folder: Path,
    names: Sequence[str],
    span_ns: tuple[int, int],
    wanted: tuple[str, ...] | None,
    progress: Callable[[float], None] | None,
) -> bool:
    """Runs the plan and writes these files, all or none; whether Ctrl-C cut it short."""
    new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            if new:
                stack.callback(_remove_if_empty, folder)
            drafts = {name: stack.enter_context(files.draft(folder / name)) for name in names}
            packets = drafts.get(PCAPNG)
            if packets is not None and wanted is not None:
                packets = packets.with_name(f"{packets.name}.all")
                stack.callback(packets.unlink, missing_ok=True)
            answer, stopped = _run(plan, engine, packets, *span_ns, progress)
            if packets is not None and wanted is not None:
                capture.at_point(packets, drafts[PCAPNG], wanted)
            if TIMELINE in drafts:
                end_ns = min(span_ns[1], answer["meta"]["simulated_ns"])
                with drafts[TIMELINE].open("wb") as stream:
                    write_timeline(stream, answer["events"], end_ns=end_ns)
    except OSError as error:
        why = error.strerror or str(error)
        raise EtalonError(
            f"{folder}: the trace could not be written: {why}; nothing was kept"
        ) from error
    return stopped


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def _run(
    plan: Plan,
    engine: Engine,
    pcapng: Path | None,
    start_ns: int,
    end_ns: int,
    progress: Callable[[float], None] | None,
) -> tuple[dict[str, Any], bool]:
    """What the core says of the run, and whether Ctrl-C cut it short."""
    control = _core.Control()
    stopped = False
    with ThreadPoolExecutor(1, thread_name_prefix="etalon-trace") as pool:
        future = pool.submit(engine.trace, plan, control, start_ns, end_ns, pcapng)
        while not future.done():
            try:
                if progress is not None:
                    progress(control.progress)
                time.sleep(0.02)
            except KeyboardInterrupt:
                stopped = True
                control.stop()
        answer = future.result()
    if progress is not None and not stopped:
        progress(1.0)
    return answer, stopped
