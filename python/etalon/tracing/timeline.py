# SPDX-License-Identifier: MIT OR Apache-2.0
# mypy: disable-error-code="import-untyped"
"""The timeline of a trace for Perfetto (https://ui.perfetto.dev).

It has circuits as slices, one track a receiving rack, and when they are announced (ECE); days and nights; the
length and the capacity of each VOQ, or of the queue of each egress port by its name (`r0→p0a1`), and the latency of each packet
as counters; drops and marks as instants. Times are those of the network (virtual), in nanoseconds, as the engine counts them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from etalon.errors import EtalonError


def builder() -> Any:
    """What writes timelines; a missing package should be told before the work, not after it."""
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
    timeline = _Timeline(builder()(stream))
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
    parallel: Counter[tuple[int, int]] = field(default_factory=Counter)
    """In networks of circuits, by source and destination rack: how many circuits have come up and not gone."""

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
            case "circuit_up" | "circuit_down":
                turn = self._switch if kind == "circuit_up" else self._end
                turn(t_ns, self._track("circuits", f"to rack {dst}", rank=dst), f"from rack {src}")
            case "uplink_joined" | "uplink_parted":
                self._uplink(t_ns, src, dst, kind == "uplink_joined")
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

    def _uplink(self, t_ns: int, src: int, dst: int, joined: bool) -> None:
        """A circuit of a network of circuits comes up or goes; parallel ones are one slice."""
        before = self.parallel[src, dst]
        self.parallel[src, dst] = max(0, before + (1 if joined else -1))
        track = self._track("circuits", f"{src}→{dst} over uplinks", rank=src)
        if joined and before == 0:
            self._switch(t_ns, track, f"to rack {dst}")
        elif not joined and before <= 1:
            self._end(t_ns, track, f"to rack {dst}")

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
