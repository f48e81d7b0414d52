# mypy: disable-error-code="import-untyped"
"""What happened, event by event: packets for Wireshark (pcapng) and a timeline for Perfetto (https://ui.perfetto.dev).

The timeline has circuits as slices, one track a receiving rack, and when they are announced (ECE); days and nights; the
length and the capacity of each VOQ, or of the queue of each egress port by its name (`r0→p0a1`), and the latency of each packet
as counters; drops and marks as instants. Times are those of the network (virtual), in nanoseconds, as the engine counts them.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from etalon import _core, files
from etalon import engine as engines
from etalon.errors import EtalonError, Interrupted, Occupied, PlanError

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
            f"a trace must start at 0 or later and before its end, not at {start_ns} ns of {end_ns} ns"
        )
    chosen = engines.check([plan], engine)
    chosen.prepare([plan])
    if timeline:
        _builder()  # a missing package should be told before the work, not after it
    folder = Path(folder)
    names = [name for name, wanted in ((PCAPNG, pcapng), (TIMELINE, timeline)) if wanted]
    files.check_writable(folder / TIMELINE)
    if not force and any((folder / name).exists() for name in names):
        raise Occupied("a trace", file=str(folder))
    if _keep(plan, chosen, folder, names, (start_ns, end_ns), progress):
        raise Interrupted([])
    return [folder / name for name in names]


def _keep(
    plan: Plan,
    engine: Engine,
    folder: Path,
    names: Sequence[str],
    span_ns: tuple[int, int],
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
            answer, stopped = _run(plan, engine, drafts.get(PCAPNG), *span_ns, progress)
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


def count(pcapng: Path) -> dict[str, int]:
    """Packets seen at each interface of a pcapng file, by the interface's name."""
    names: list[str] = []
    counts: list[int] = []
    with pcapng.open("rb") as stream:
        while len(head := stream.read(8)) == 8:
            kind, length = struct.unpack("<II", head)
            body = stream.read(length - 8)
            if kind == _INTERFACE:
                names.append(_interface_name(body))
                counts.append(0)
            elif kind == _PACKET:
                counts[struct.unpack_from("<I", body)[0]] += 1
    return dict(zip(names, counts, strict=True))


_INTERFACE, _PACKET, _IF_NAME = 1, 6, 2
"""Types of pcapng blocks, and the option with the name of an interface (draft-ietf-opsawg-pcapng)."""


def _interface_name(body: bytes) -> str:
    at = 8  # behind link type, reserved and snapshot length
    while at + 4 <= len(body) - 4:
        code, length = struct.unpack_from("<HH", body, at)
        if code == _IF_NAME:
            return body[at + 4 : at + 4 + length].decode()
        at += 4 + length + -length % 4
    raise EtalonError("the capture has an interface without a name")


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


def _builder() -> Any:
    try:
        from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder
    except ImportError:
        raise EtalonError(
            "a timeline needs the Python package perfetto (pip install perfetto); --no-timeline does without"
        ) from None
    return StreamingTraceProtoBuilder


def write_timeline(stream: IO[bytes], events: Mapping[str, Any], *, end_ns: int) -> None:
    """Writes the events of a trace as a Perfetto timeline (a protobuf `Trace`).

    Args:
        stream: a file open for writing bytes.
        events: columns t_ns, kind, src, dst, value, bytes, network and port, in order of time, as `_core.trace` gives them.
        end_ns: what is open at the end of the trace is closed then.
    """
    timeline = _Timeline(_builder()(stream))
    names = ("t_ns", "kind", "src", "dst", "value", "bytes", "network", "port")
    columns = (events[name] for name in names)
    # Plain Python numbers: protobuf takes no others, and conversion is quicker by column.
    for event in zip(*map(_plain, columns), strict=True):
        timeline.add(*event)
    timeline.close(end_ns)


def _plain(column: Any) -> Sequence[Any]:
    values: Sequence[Any] = column.tolist() if hasattr(column, "tolist") else column
    return values


@dataclass
class _Timeline:
    """Turns events into packets of a Perfetto trace; tracks are made when the first event needs them.

    A slice that neither begins nor ends within the trace is not seen: keep at least a day.
    """

    builder: Any
    tracks: dict[tuple[str, ...], int] = field(default_factory=dict)
    open: dict[int, int] = field(default_factory=dict)
    """Slices that have begun and not ended, by track: when they began."""
    origin_ns: int | None = None

    def add(
        self,
        t_ns: int,
        kind: str,
        src: int,
        dst: int,
        value: int,
        size: int,
        network: str,
        port: str,
    ) -> None:
        """One event of the trace; `port` is the name of its queue, nothing where queues are of rack pairs."""
        if self.origin_ns is None:
            self.origin_ns = t_ns
        pair = f"{src}→{dst}"
        queues, queue, at = ("ports", port, port) if port else ("VOQs", f"VOQ {pair}", pair)
        match kind:
            case "week":
                self._instant(t_ns, self._track("schedule", "weeks"), f"week {value}")
            case "day":
                self._switch(t_ns, self._track("schedule", "days and nights"), f"day {value}")
            case "night":
                self._switch(t_ns, self._track("schedule", "days and nights"), "night")
            case "circuit_up":
                self._switch(
                    t_ns, self._track("circuits", f"to rack {dst}", rank=dst), f"from rack {src}"
                )
            case "circuit_down":
                self._end(
                    t_ns, self._track("circuits", f"to rack {dst}", rank=dst), f"from rack {src}"
                )
            case "ece_on":
                self._switch(t_ns, self._track("announced circuits", f"ECE {pair}"), "ECE")
            case "ece_off":
                self._end(t_ns, self._track("announced circuits", f"ECE {pair}"), "ECE")
            case "gate_closed":
                self._switch(t_ns, self._track("packet gates", f"gate {pair}"), "closed")
            case "gate_open":
                self._end(t_ns, self._track("packet gates", f"gate {pair}"), "closed")
            case "enqueue" | "dequeue":
                self._count(t_ns, self._track(queues, queue, unit="packets"), value)
            case "resize":
                self._count(t_ns, self._track(queues, f"{queue} capacity", unit="packets"), value)
            case "hold":
                self._instant(t_ns, self._track("holds", f"holds {pair}"), "held", bytes=size)
            case "drop":
                self._instant(
                    t_ns, self._track("drops", f"drops {at}"), "drop", bytes=size, queue=value
                )
                # A packet that is cut off when a VOQ shrinks, or that a failed link loses, leaves: the length is news.
                self._count(t_ns, self._track(queues, queue, unit="packets"), value)
            case "mark":
                self._instant(t_ns, self._track("marks", f"marks {at}"), "CE", queue=value)
            case "depart":
                self._count(
                    t_ns, self._track("latency", f"latency {pair} {network}", unit="ns"), value
                )
            case _:
                pass  # Not every event has a place in the picture; the table of events has all.

    def close(self, end_ns: int) -> None:
        """Ends what is open."""
        for track in list(self.open):
            self._end(end_ns, track, "")

    def _track(
        self, group: str, name: str, *, unit: str | None = None, rank: int | None = None
    ) -> int:
        """The track `name` of a group; by `rank` among its siblings if it has one, or by name."""
        key = (group, name)
        if key not in self.tracks:
            if (group,) not in self.tracks:
                self._describe((group,), ranked=rank is not None)
            self._describe(key, unit=unit, rank=rank)
        return self.tracks[key]

    def _describe(
        self,
        key: tuple[str, ...],
        *,
        unit: str | None = None,
        rank: int | None = None,
        ranked: bool = False,
    ) -> None:
        packet = self.builder.create_packet()
        descriptor = packet.track_descriptor
        descriptor.uuid = self.tracks[key] = len(self.tracks) + 1  # 0 is the root of all tracks
        descriptor.name = key[-1]
        if len(key) > 1:
            descriptor.parent_uuid = self.tracks[key[:-1]]
        if unit is not None:
            descriptor.counter.unit_name = unit
        if rank is not None:
            descriptor.sibling_order_rank = rank
        if ranked:
            descriptor.child_ordering = descriptor.EXPLICIT
        self.builder.write_packet(packet)

    def _switch(self, t_ns: int, track: int, name: str) -> None:
        """Ends the slice of the track, if one is open, and begins the next."""
        if track in self.open:
            self._end(t_ns, track, "")
        self.open[track] = t_ns
        event, packet = self._event(t_ns, track)
        event.type = event.TYPE_SLICE_BEGIN
        event.name = name
        self.builder.write_packet(packet)

    def _end(self, t_ns: int, track: int, name: str) -> None:
        """Ends the slice of the track; one that began before the trace begins with it, under `name`."""
        if track not in self.open:
            self._switch(self.origin_ns if self.origin_ns is not None else t_ns, track, name)
        del self.open[track]
        event, packet = self._event(t_ns, track)
        event.type = event.TYPE_SLICE_END
        self.builder.write_packet(packet)

    def _instant(self, t_ns: int, track: int, name: str, **details: int) -> None:
        event, packet = self._event(t_ns, track)
        event.type = event.TYPE_INSTANT
        event.name = name
        for key, value in details.items():
            note = event.debug_annotations.add()
            note.name, note.int_value = key, value
        self.builder.write_packet(packet)

    def _count(self, t_ns: int, track: int, value: int) -> None:
        event, packet = self._event(t_ns, track)
        event.type = event.TYPE_COUNTER
        event.counter_value = value
        self.builder.write_packet(packet)

    def _event(self, t_ns: int, track: int) -> tuple[Any, Any]:
        packet = self.builder.create_packet()
        packet.timestamp = t_ns
        packet.trusted_packet_sequence_id = 1
        packet.track_event.track_uuid = track
        return packet.track_event, packet
