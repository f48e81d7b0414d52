# SPDX-License-Identifier: MIT OR Apache-2.0
# mypy: disable-error-code="import-untyped"
"""Traces: packets and a timeline of what happened."""

from __future__ import annotations

import io
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

import etalon as et
from conftest import need_program
from etalon import tracing as trace
from etalon.cli import main

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

COLUMNS = ("t_ns", "kind", "src", "dst", "value", "bytes", "network", "port")
BEGIN, END = TrackEvent.TYPE_SLICE_BEGIN, TrackEvent.TYPE_SLICE_END
INSTANT, COUNTER = TrackEvent.TYPE_INSTANT, TrackEvent.TYPE_COUNTER


def timeline(rows: Sequence[tuple[Any, ...]], end_ns: int) -> dict[str, list[tuple[int, int, Any]]]:
    """Events by track: time, type, and name or value."""
    stream = io.BytesIO()
    trace.write_timeline(stream, columns(rows), end_ns=end_ns)
    return parse(stream.getvalue())


def columns(rows: Sequence[tuple[Any, ...]]) -> dict[str, list[Any]]:
    """Rows as columns; without a port's name queues are of rack pairs."""
    full = [(*row, "")[: len(COLUMNS)] for row in rows]
    return {name: [row[i] for row in full] for i, name in enumerate(COLUMNS)}


def parse(content: bytes) -> dict[str, list[tuple[int, int, Any]]]:
    message = Trace()
    message.ParseFromString(content)
    names: dict[int, str] = {}
    tracks: dict[str, list[tuple[int, int, Any]]] = {}
    for packet in message.packet:
        if packet.HasField("track_descriptor"):
            names[packet.track_descriptor.uuid] = packet.track_descriptor.name
            continue
        event = packet.track_event
        what = event.counter_value if event.type == COUNTER else event.name
        tracks.setdefault(names[event.track_uuid], []).append((packet.timestamp, event.type, what))
    return tracks


@pytest.fixture(scope="module")
def plan() -> et.Plan:
    network = et.network(racks=3, hosts=4, voq=4)
    week = et.strobe(network, day="180us", night="20us", mimic=25)
    return et.experiment(network, week, et.bulk(0, 1), duration="48ms")


def test_circuits_are_slices_of_the_receiving_rack() -> None:
    rows = [
        (10**15 + 1, "circuit_up", 2, 0, 0, 0, "circuit"),
        (10**15 + 181, "circuit_down", 2, 0, 0, 0, "circuit"),
        (10**15 + 201, "circuit_up", 1, 0, 0, 0, "circuit"),
    ]
    assert timeline(rows, 10**15 + 300) == {
        "to rack 0": [
            (10**15 + 1, BEGIN, "from rack 2"),
            (10**15 + 181, END, ""),
            (10**15 + 201, BEGIN, "from rack 1"),
            (10**15 + 300, END, ""),  # still up at the end of the trace
        ]
    }


def test_parallel_circuits_are_one_slice() -> None:
    kinds = ("uplink_joined", "uplink_joined", "uplink_parted", "uplink_parted", "uplink_joined")
    rows = [(t, kind, 0, 3, 0, 0, "") for t, kind in enumerate(kinds, start=5)]
    slices = [(5, BEGIN, "to rack 3"), (8, END, ""), (9, BEGIN, "to rack 3"), (20, END, "")]
    assert timeline(rows, 20) == {"0→3 over uplinks": slices}


def test_announced_circuits_are_slices_of_their_pair() -> None:
    rows = [(5, "ece_off", 0, 1, 0, 0, ""), (9, "ece_on", 0, 1, 1, 0, "")]
    slices = [(5, BEGIN, "ECE"), (5, END, ""), (9, BEGIN, "ECE"), (20, END, "")]
    assert timeline(rows, 20) == {"ECE 0→1": slices}


def test_ports_go_by_their_names() -> None:
    rows = [
        (1, "enqueue", 0, 1, 3, 1500, "", "r0→p0a0"),
        (2, "mark", 0, 1, 3, 0, "", "r0→p0a0"),
        (3, "drop", 0, 1, 4, 1500, "", "r0→p0a0"),
    ]
    assert timeline(rows, 9) == {
        "r0→p0a0": [(1, COUNTER, 3), (3, COUNTER, 4)],
        "marks r0→p0a0": [(2, INSTANT, "CE")],
        "drops r0→p0a0": [(3, INSTANT, "drop")],
    }


def test_racks_are_in_the_order_of_their_numbers() -> None:
    stream = io.BytesIO()
    rows = [(t, "circuit_up", 0, dst, 0, 0, "circuit") for t, dst in enumerate((10, 2))]
    trace.write_timeline(stream, columns(rows), end_ns=9)
    message = Trace()
    message.ParseFromString(stream.getvalue())
    tracks = [
        packet.track_descriptor for packet in message.packet if packet.HasField("track_descriptor")
    ]
    group, ten, two = tracks
    assert group.child_ordering == group.EXPLICIT
    assert (ten.name, ten.sibling_order_rank, ten.parent_uuid) == ("to rack 10", 10, group.uuid)
    assert (two.name, two.sibling_order_rank, two.parent_uuid) == ("to rack 2", 2, group.uuid)
    assert len({track.uuid for track in tracks} | {0}) == 4


def test_a_circuit_that_was_up_before_the_trace_begins_with_it() -> None:
    rows = [(5, "enqueue", 0, 1, 1, 9000, ""), (9, "circuit_down", 0, 1, 0, 0, "circuit")]
    assert timeline(rows, 20)["to rack 1"] == [(5, BEGIN, "from rack 0"), (9, END, "")]


def test_days_and_nights_follow_each_other() -> None:
    rows = [
        (0, "day", -1, -1, 0, 0, ""),
        (180, "night", -1, -1, 0, 0, ""),
        (200, "day", -1, -1, 1, 0, ""),
    ]
    found = timeline(rows, 250)["days and nights"]
    assert [(t, name) for t, kind, name in found if kind == BEGIN] == [
        (0, "day 0"),
        (180, "night"),
        (200, "day 1"),
    ]
    assert [t for t, kind, _ in found if kind == END] == [180, 200, 250]


def test_queues_count_and_losses_are_instants() -> None:
    rows = [
        (1, "enqueue", 0, 1, 1, 9000, ""),
        (2, "mark", 0, 1, 2, 9000, ""),
        (3, "resize", 0, 1, 50, 0, ""),
        (4, "dequeue", 0, 1, 0, 9000, "packet"),
        (5, "drop", 0, 1, 16, 9000, ""),
        (6, "depart", 0, 1, 12345, 9000, "packet"),
        (7, "hold", 0, 1, 0, 9000, ""),
    ]
    assert timeline(rows, 10) == {
        "VOQ 0→1": [(1, COUNTER, 1), (4, COUNTER, 0), (5, COUNTER, 16)],
        "marks 0→1": [(2, INSTANT, "CE")],
        "VOQ 0→1 capacity": [(3, COUNTER, 50)],
        "drops 0→1": [(5, INSTANT, "drop")],
        "latency 0→1 packet": [(6, COUNTER, 12345)],
        "holds 0→1": [(7, INSTANT, "held")],
    }


def test_an_event_without_a_place_in_the_picture_is_left_out() -> None:
    mark = (2, "mark", 0, 1, 17, 0, "")
    assert timeline([(1, "teleport", 0, 1, 0, 0, ""), mark], 10) == timeline([mark], 10)


def test_a_plan_is_traced(plan: et.Plan, tmp_path: Path) -> None:
    seen: list[float] = []
    paths = trace.write(
        plan, tmp_path / "new", start_ns=1_000_000, end_ns=6_000_000, progress=seen.append
    )
    assert [path.name for path in paths] == [trace.PCAPNG, trace.TIMELINE]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(
        path.name for path in paths
    )
    tracks = parse(paths[1].read_bytes())
    times = [t for events in tracks.values() for t, _, _ in events]
    assert 1_000_000 <= min(times) <= max(times) <= 6_000_000
    # The forward pair's day is the last of the week, 24 x 200 us long.
    assert (4_600_000, BEGIN, "from rack 0") in tracks["to rack 1"]
    assert (4_780_000, END, "") in tracks["to rack 1"]
    assert max(length for _, _, length in tracks["VOQ 0→1"]) == 4
    assert seen[-1] == 1
    assert all(0 <= share <= 1 for share in seen)


def test_the_same_plan_gives_the_same_bytes(plan: et.Plan, tmp_path: Path) -> None:
    one = trace.write(plan, tmp_path / "1", end_ns=3_000_000)
    two = trace.write(plan, tmp_path / "2", end_ns=3_000_000)
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]


def test_an_earlier_trace_is_kept_unless_forced(plan: et.Plan, tmp_path: Path) -> None:
    (tmp_path / trace.TIMELINE).write_bytes(b"mine")
    with pytest.raises(et.PlanError, match="force=True replaces it"):
        trace.write(plan, tmp_path, end_ns=1_000_000)
    assert (tmp_path / trace.TIMELINE).read_bytes() == b"mine"
    trace.write(plan, tmp_path, end_ns=1_000_000, pcapng=False, force=True)
    assert [path.name for path in tmp_path.iterdir()] == [trace.TIMELINE]
    assert parse((tmp_path / trace.TIMELINE).read_bytes())


@pytest.mark.parametrize(("start_ns", "end_ns"), [(5, 5), (6, 5), (-1, 5)])
def test_an_empty_time_is_refused(
    plan: et.Plan, tmp_path: Path, start_ns: int, end_ns: int
) -> None:
    with pytest.raises(et.PlanError, match="before its end"):
        trace.write(plan, tmp_path, start_ns=start_ns, end_ns=end_ns)


def test_a_disk_that_fails_leaves_nothing(
    plan: et.Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("etalon.tracing.trace.write_timeline", full)
    with pytest.raises(et.EtalonError, match=r"No space left on device; nothing was kept"):
        trace.write(plan, tmp_path, end_ns=1_000_000)
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_keeps_what_was_seen(plan: et.Plan, tmp_path: Path) -> None:
    calls = []

    def interrupt(share: float) -> None:
        calls.append(share)
        if len(calls) == 1:
            raise KeyboardInterrupt

    long = plan.replace(duration="20s")
    with pytest.raises(et.Interrupted):
        trace.write(
            long, tmp_path, end_ns=20_000_000_000, start_ns=19_999_000_000, progress=interrupt
        )
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        (trace.PCAPNG, trace.TIMELINE)
    )


def test_a_capture_at_one_point_has_each_packet_once(plan: et.Plan, tmp_path: Path) -> None:
    (whole,) = et.trace(plan, tmp_path / "all", end="6ms", timeline=False)
    (clean,) = et.trace(plan, tmp_path / "one", at="tor1", end="6ms", timeline=False)
    seen = trace.count(whole)
    assert trace.count(clean) == {name: seen[name] for name in ("tor1-in", "tor1-out")}
    assert sum(trace.count(clean).values()) < sum(seen.values()) / 2
    assert [path.name for path in clean.parent.iterdir()] == [clean.name]
    for at in ("tor3", "tor", "drops", "tor1-in"):
        with pytest.raises(et.PlanError, match=f'no point "{at}"; packets are captured at tor0 to'):
            et.trace(plan, tmp_path / "two", at=at)
    assert not (tmp_path / "two").exists()


def test_a_run_is_traced_from_python(plan: et.Plan, tmp_path: Path) -> None:
    run = et.run(plan)
    paths = et.trace(run, tmp_path, start="1ms", end="2ms")
    same = trace.write(plan, tmp_path / "same", start_ns=1_000_000, end_ns=2_000_000)
    assert [path.read_bytes() for path in paths] == [path.read_bytes() for path in same]
    with pytest.raises(et.PlanError, match='start: "soon" does not start with a number'):
        et.trace(run, tmp_path, start="soon")


def test_what_the_hint_says_is_what_one_point_has(
    plan: et.Plan,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    need_program("tshark")
    monkeypatch.chdir(tmp_path)
    plan.save("p.toml")
    assert main(["trace", "p.toml", "--end", "6ms", "--out", "a b", "--no-timeline"]) == 0
    (hint,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("tshark")]
    subprocess.run(hint, shell=True, check=True, capture_output=True)
    assert main(["trace", "p.toml", "--end", "6ms", "--out", "c", "--at", "tor1"]) == 0
    assert "tshark" not in capsys.readouterr().err

    def fields(path: str, *filters: str) -> list[str]:
        command = ["tshark", "-r", path, "-T", "fields", "-e", "frame.time_epoch", "-e", "tcp.seq_raw", *filters]  # fmt: skip
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split(
            "\n"
        )

    assert fields("tor1.pcapng") == fields("c/trace.pcapng")
    odd = ("-Y", "tcp.analysis.out_of_order")
    assert len(fields("c/trace.pcapng", *odd)) < len(fields("a b/trace.pcapng", *odd)) / 4


def test_tshark_reads_the_packets(plan: et.Plan, tmp_path: Path) -> None:
    need_program("tshark")
    (path,) = trace.write(plan, tmp_path, end_ns=6_000_000, timeline=False)

    def tshark(*arguments: str) -> list[str]:
        command = ["tshark", "-r", str(path), *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, check=True
        ).stdout.splitlines()

    assert tshark("-Y", "_ws.malformed || _ws.expert.severity == error") == []
    syns = tshark(
        "-Y", "tcp.flags.syn == 1 && tcp.flags.ack == 0 && frame.interface_name == tor0-in"
    )
    assert len(syns) == 4
    assert trace.count(path)["tor0-in"] == len(tshark("-Y", "frame.interface_name == tor0-in"))
    fields = (
        "-T",
        "fields",
        "-e",
        "frame.time_epoch",
        "-e",
        "frame.len",
        "-e",
        "tcp.len",
        "-e",
        "ip.src",
    )
    data = [line.split("\t") for line in tshark("-Y", "tcp.len > 8000", *fields)]
    assert data
    assert {(int(length), int(payload)) for _, length, payload, _ in data} == {(9014, 8948)}
    assert {address for *_, address in data} == {f"10.0.0.{host}" for host in range(1, 5)}
    assert all(0 < float(time) < 0.006 for time, *_ in data)
