# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figures: what is drawn is what the data say, and the same data give the same bytes."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import etalon as et
from conftest import ROOT
from etalon import figures, schedulers
from etalon.errors import EtalonError
from etalon.figures import Tolerance, parameter, style, weeks
from etalon.figures.cwnd import lines as cwnd_lines
from etalon.figures.fct_cdf import cdf as fct_cdf
from etalon.figures.fct_uptime import seconds
from etalon.figures.goodput import gigabits, jain
from etalon.figures.latency_cdf import cdf as latency_cdf
from etalon.figures.network_bytes import gigabytes
from etalon.figures.path import paths
from etalon.figures.reordering import cdf as reordering_cdf
from etalon.figures.schedule import _open
from etalon.figures.sequence import baselines
from etalon.figures.slices import held
from etalon.figures.throughput_cdf import cdf as throughput_cdf
from etalon.figures.write_cdf import cdf as write_cdf
from etalon.plan import Plan as RealPlan
from synthetic_runs import DAY, NIGHT, PUBLISHED_8A, VOQ_SWEEP, WEEK, Plan, Run, resolved, run

if TYPE_CHECKING:
    from pathlib import Path

SWEEP = {voq: run(voq, share) for voq, share in VOQ_SWEEP.items()}
UPTIMES = {8: {10: 5.0, 1000: 14.0, 100_000: 5.2}, 64: {10: 5.0, 1000: 5.1, 100_000: 5.0}}
ROTOR = RealPlan.from_dict(
    {
        "network": {
            "kind": "ocs",
            "racks": 4,
            "hosts": 1,
            "circuits": {"switches": 2},
            "guard": "1us",
        },
        "schedule": {"kind": "rotor", "slice": "100us", "night": "10us"},
        "routing": {"kind": "vlb"},
        "bulk": [{"src": 0, "dst": 1}],
    }
)
CALLS: dict[str, tuple[Any, dict[str, Any]]] = {
    "sequence": ({"16": SWEEP[16], "64": SWEEP[64]}, {}),
    "voq": ({"16": SWEEP[16], "64": SWEEP[64]}, {}),
    "lines": (
        {"TDTCP": {0: 19.0, 20: 17.9}, "CUBIC": {0: 15.8, 20: 15.8}},
        {"xlabel": "delay (us)", "ylabel": "goodput (Gb/s)", "levels": {"packet only": 10.0}},
    ),
    "utilization": (
        SWEEP,
        {"published": PUBLISHED_8A, "tolerance": Tolerance(5), "xlabel": "VOQ (packets)"},
    ),
    "latency": (
        SWEEP,
        {"published": {4: 52.0, 8: 81.0}, "tolerance": Tolerance(0.08, relative=True)},
    ),
    "latency_cdf": ({"16": SWEEP[16], "64": SWEEP[64]}, {}),
    "fct_cdf": ({"VOQ": run(fct_ms=200), "ADU": run(fct_ms=40)}, {}),
    "fct_size": ({"VOQ": run(fct_ms=200), "ADU": run(fct_ms=40)}, {"statistic": "mean"}),
    "throughput_cdf": ({"VOQ": run(fct_ms=200), "ADU": run(fct_ms=40)}, {}),
    "bars": ({"HDFS": 20.0, "reHDFS": 4.0}, {"ylabel": "time to write (s)"}),
    "write_cdf": ({"HDFS": run(), "reHDFS": run()}, {}),
    "gantt": (SWEEP[16], {}),
    "network_bytes": ({"ADU": run(), "VOQ": run()}, {}),
    "fct_uptime": (UPTIMES, {}),
    "congestion_controls": (
        {"cubic": 49.0, "reno": run()},
        {"published": {"cubic": 49, "bbr": 40}},
    ),
    "schedule": (SWEEP[16], {}),
    "slices": (ROTOR, {"rack": 1}),
    "path": (ROTOR, {"destination": 2, "labels": (0, 1)}),
    "goodput": (SWEEP[16], {}),
    "cwnd": (SWEEP[16], {"span_us": (0, WEEK / 1000)}),
    "repairs": (SWEEP[16], {}),
    "reordering": ({"CUBIC": SWEEP[16], "TDTCP": SWEEP[64]}, {"quantity": "missing"}),
    "ports": (SWEEP[16], {"quantity": "queue"}),
    "links": (SWEEP[16], {}),
    "rack_pairs": (SWEEP[16], {"metric": "voq_mean"}),
    "shares": ({"cubic": {"cubic": 0.5, "reno": 0.6}, "reno": {"cubic": 0.4, "reno": 0.5}}, {}),
    "demand": (
        schedulers.compute("solstice", [[0, 9_000_000, 0], [0, 0, 4_000_000], [2_000_000, 0, 0]]),
        {},
    ),
}


def test_files_that_were_not_written_keep_the_curve_below_one() -> None:
    times, shares = write_cdf(run())
    assert times.tolist() == [1, 1, 2, 3]
    assert shares.tolist() == [0, 0.25, 0.5, 0.75]


def test_shares_of_days_are_summed_over_what_was_less() -> None:
    values, shares = reordering_cdf(SWEEP[16], "missing", "pair") or ((), ())
    assert list(values) == [0, 1, 3]
    assert list(shares) == pytest.approx([0.6, 0.9, 1])


def test_bytes_are_summed_over_all_pairs() -> None:
    assert gigabytes(run()) == {"packet": 2.0, "circuit": 7.0}


def lines(figure: Figure) -> dict[str, Line2D]:
    """The labelled lines of the first panel."""
    return {str(line.get_label()): line for line in figure.axes[0].get_lines()}


def test_every_figure_has_a_call_here() -> None:
    assert {entry.name for entry in figures.FIGURES} == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_draws_for_print_and_browser(name: str) -> None:
    data, options = CALLS[name]
    figure = figures.draw(name, data, **options)
    assert isinstance(figure, Figure)
    main = figure.axes[0]
    assert main.get_ylabel()
    assert main.has_data()
    assert len(figures.interactive(name, data, **options).data) >= 1


@pytest.mark.parametrize("name", [name for name, (data, _) in CALLS.items() if name != "schedule"])
def test_draws_on_given_axes(name: str) -> None:
    data, options = CALLS[name]
    mine = Figure()
    ax = mine.add_subplot()
    assert figures.draw(name, data, ax, **options) is mine
    assert ax.has_data()


def test_unknown_figure_lists_those_that_exist() -> None:
    with pytest.raises(EtalonError, match="there is no figure 'latencycdf'; did you mean"):
        figures.get("latencycdf")
    with pytest.raises(EtalonError, match="there is no figure 'x'; there are sequence, voq,"):
        figures.get("x")


def test_figures_of_nothing_say_so() -> None:
    (ax,) = figures.draw("fct_size", run()).axes  # of flows without an end
    assert [text.get_text() for text in ax.texts] == ["nothing was measured"]
    (ax,) = figures.draw("latency_cdf", run()).axes
    assert not ax.texts
    with pytest.raises(EtalonError, match="no week of circuits to draw; the figure slices"):
        figures.draw("schedule", et.Plan.load(ROOT / "examples/opera.toml"))


def test_several_runs_need_names() -> None:
    with pytest.raises(EtalonError, match="several runs need names for the legend"):
        figures.draw("latency_cdf", [1, 2])


def test_a_runs_figures_are_methods() -> None:
    plots = figures.Plots(run())
    assert "sequence" in dir(plots)
    assert "utilization" not in dir(plots)
    assert isinstance(plots.schedule(), Figure)
    with pytest.raises(AttributeError, match="schedule"):
        plots.nothing()


def test_the_users_own_settings_survive() -> None:
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 31}):
        figures.draw("goodput", run())
        assert mpl.rcParams["font.size"] == 31


@pytest.mark.slow
def test_same_data_same_bytes_in_another_process(tmp_path: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from test_figures import CALLS, figures\n"
        "for name in ('utilization', 'sequence', 'schedule'):\n"
        "    data, options = CALLS[name]\n"
        "    figures.save(figures.draw(name, data, **options), sys.argv[2], name)\n"
    )
    here = __file__.rsplit("/", 1)[0]
    for number in (1, 2):
        folder = tmp_path / str(number)
        path = ":".join(path for path in sys.path if path)
        environment = {"PYTHONPATH": path, "PYTHONHASHSEED": str(number), "HOME": str(tmp_path)}
        subprocess.run([sys.executable, "-c", code, here, folder], check=True, env=environment)
    names = sorted(path.name for path in (tmp_path / "1").iterdir())
    assert len(names) == 6
    for name in names:
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes(), name


def test_save_leaves_nothing_behind_when_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = figures.draw("goodput", run())

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(FigureCanvasAgg, "print_png", full)
    with pytest.raises(EtalonError, match="figures could not be written: No space"):
        figures.save(figure, tmp_path, "goodput")
    assert list(tmp_path.iterdir()) == []


class TestWeek:
    """Days, nights and gates out of a resolved plan."""

    def test_fake_strobe(self) -> None:
        week = weeks.of_plan(resolved())
        assert week is not None
        assert week.length_ns == WEEK
        assert week.days(0, 1) == [(WEEK - DAY - NIGHT, WEEK - NIGHT)]
        assert len(week.days(1, 0)) == 23
        assert week.packet_closed(0, 1) == [(WEEK - DAY - 2 * NIGHT, WEEK - NIGHT)]

    def test_gate_closes_in_the_night_before_a_day_that_opens_the_week(self) -> None:
        plan = resolved(
            racks=4
        )  # pair 0 -> 3 has the first day, and the gate closes in the last night
        week = weeks.of_plan(plan)
        assert week is not None
        assert week.packet_closed(0, 3) == [(-NIGHT, DAY)]
        assert _open(week, (0, 3)) == [(DAY, week.length_ns - NIGHT)]

    def test_no_circuits(self) -> None:
        assert weeks.of_plan({**resolved(), "schedule": None}) is None
        with pytest.raises(EtalonError, match="no week of circuits"):
            figures.draw("schedule", Plan({**resolved(), "schedule": None}))


class TestBaselines:
    """'optimal' and 'packet only', as NSDI'20 section 3.1 has them."""

    def test_one_week(self) -> None:
        base = baselines(resolved(), flows=16, until_us=WEEK / 1e3)
        assert base is not None
        assert base.days_us == [(4620, 4800)]
        # 78.125 B/us while the gate is open, nothing in the night, 625 B/us on the circuit.
        corners = dict(zip(base.t_us, base.optimal, strict=True))
        assert corners[4600] == pytest.approx(4600 * 78.125)
        assert corners[4620] == pytest.approx(4600 * 78.125)
        assert corners[4800] == pytest.approx(4600 * 78.125 + 180 * 625)
        assert base.packet_only[-1] == pytest.approx(4800 * 78.125)

    def test_weeks_repeat(self) -> None:
        base = baselines(resolved(), flows=16, until_us=3 * WEEK / 1e3)
        assert base is not None
        assert [day for day, _ in base.days_us] == [4620, 9420, 14220]
        assert base.optimal[-1] == pytest.approx(3 * (4600 * 78.125 + 180 * 625))
        assert np.all(np.diff(base.t_us) >= 0)

    def test_two_days_a_week(self) -> None:
        plan = resolved()
        plan["schedule"]["configurations"][5]["sources"] = [2, 0, 1]
        base = baselines(plan, flows=1, until_us=WEEK / 1e3)
        assert base is not None
        assert base.days_us == [(1020, 1200), (4620, 4800)]

    def test_a_pair_without_circuit_has_none(self) -> None:
        plan = resolved()
        plan["measure"]["pair"] = [0, 0]
        assert baselines(plan, 16, 4800) is None


def test_sequence_shows_data_baselines_and_days() -> None:
    figure = figures.draw("sequence", run())
    drawn = lines(figure)
    assert set(drawn) >= {"optimal", "packet only", "measured"}
    assert len(figure.axes[0].patches) == 3  # days of three weeks
    top = figure.axes[0].get_ylim()[1]
    assert np.max(drawn["optimal"].get_ydata()) <= top


def test_a_part_of_a_sequence_starts_at_zero() -> None:
    drawn = lines(figures.draw("sequence", run(), span_us=(3400, 4900)))
    assert np.asarray(drawn["measured"].get_ydata())[0] == 0
    optimal: Any = drawn["optimal"]
    assert np.interp(3400, optimal.get_xdata(), optimal.get_ydata()) == pytest.approx(0)


def test_latency_distribution() -> None:
    curve = latency_cdf(run(), "packet")
    assert curve is not None
    latency, share = curve
    assert (share[0], share[-1]) == (0, 1)
    assert np.all(np.diff(share) >= 0)
    assert np.all(np.diff(latency) > 0)
    other = resolved()
    other["measure"]["pair"] = [1, 0]
    assert latency_cdf(Run(Plan(other)), "packet") is None


def test_unfinished_flows_keep_the_distribution_below_one() -> None:
    class Cut(Run):
        @property
        def flows(self) -> Any:
            frame = super().flows
            return frame.with_columns(end_ns=frame["end_ns"].scatter([0, 1, 2, 3], -1))

    cut = Cut(Plan(resolved()), fct_ms=100)
    curve = fct_cdf(cut)
    assert curve is not None
    assert curve[1][-1] == 12 / 16
    rates = throughput_cdf(cut)
    assert rates is not None
    assert (rates[1][0], rates[1][-1]) == (4 / 16, 1)
    assert seconds(cut) is None
    assert throughput_cdf(run()) is None
    assert fct_cdf(run()) is None  # bulk flows have no completion time


def test_throughput_is_payload_over_completion_time() -> None:
    done = run(fct_ms=100)
    curve = throughput_cdf(done)
    assert curve is not None
    expected = sorted(
        row["bytes"] * 8 / (row["end_ns"] - row["start_ns"])
        for row in done.flows.iter_rows(named=True)
    )
    assert curve[0][1:].tolist() == pytest.approx(expected)


def test_senders_over_time() -> None:
    """A threshold that was never lowered leaves a gap; a part begins in the state that it found."""
    first, second = cwnd_lines(run())
    assert (first.name, second.name) == ("flow 0", "flow 3")
    assert first.ssthresh[:11] == [None] * 10 + [20]
    (part,) = cwnd_lines(run(), [3], span_us=(1050, 1250))
    assert part.t_us == [1050, 1100, 1200]
    assert part.cwnd == [20, 21, 22]
    assert part.srtt_us == [80, 81, 82]
    figure = figures.draw("cwnd", run(), span_us=(0, WEEK / 1000))
    assert len(figure.axes[0].patches) == 1  # the day
    assert figure.axes[0].get_xlim() == (0, WEEK / 1000)


def test_slices_are_those_of_the_topology() -> None:
    """Against the table of who meets whom, which another module draws."""
    net = ROTOR.slices
    assert net is not None
    ocs = ROTOR.resolve()["network"]["ocs"]
    cycle = net.slices * 100
    circuits, until = held(ocs, 1, until_us=2 * cycle)
    assert until == 2 * cycle
    for slot in range(2 * net.slices):
        middle = slot * 100 + 45
        for uplink, peer in enumerate(net.peers[slot % net.slices, 1]):
            there = [
                one.peer
                for one in circuits
                if one.uplink == uplink and one.start_us <= middle < one.end_us
            ]
            assert there == [None if peer in (1, -1) else peer]
    dark = [one for one in circuits if one.end_us % 100 not in (0, 90)]
    assert not dark  # a night is the last 10 us of a slice
    with pytest.raises(EtalonError, match="rack 4"):
        held(ocs, 4)
    with pytest.raises(EtalonError, match="ocs"):
        figures.draw("slices", run())


def test_a_path_is_that_of_the_tables() -> None:
    """Two hops of VLB: over any circuit in the first slice, then over the direct one as soon as it is up."""
    plan = ROTOR.replace({"routing": "vlb"})
    net = plan.slices
    assert net is not None
    for label in range(4):
        (path,), length = paths(plan, 0, 2, slice=1, labels=(label,))
        assert length == 100 and path.start_us == 100
        here, before = 0, path.start_us
        for leap in path.leaps:
            assert before < leap.at_us < path.end_us and leap.source == here
            slot = int(leap.at_us // length) % net.slices
            assert net.peers[slot, here, leap.uplink] == leap.destination
            here, before = leap.destination, leap.at_us
        assert here == 2 and len(path.leaps) <= 2
        assert path.end_us - path.leaps[-1].at_us < length
    with pytest.raises(EtalonError, match="ocs"):
        figures.draw("path", run())


def test_legends_above_the_axes_are_not_cut_off() -> None:
    names = ["PowerTCP", "HPCC", "reTCP, 600 µs before", "reTCP, 1800 µs before"]
    figure = figures.draw("voq", dict.fromkeys(names, run()))
    FigureCanvasAgg(figure).draw()
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert legend.get_window_extent().x1 <= figure.bbox.width
    assert [text.get_text() for text in legend.get_texts()] == names


def test_slowdown_is_drawn_over_the_sizes_that_finished() -> None:
    (line,) = figures.draw("fct_size", run(), statistic="slowdown_p99").axes[0].get_lines()
    assert line.get_xydata().tolist() == [[1000, 1.5], [4000, 4.0]]


def test_jains_index() -> None:
    assert jain(np.array([2.0, 2.0, 2.0])) == pytest.approx(1)
    assert jain(np.array([1.0, 0.0, 0.0, 0.0])) == pytest.approx(0.25)
    assert jain(np.zeros(4)) == 1


def test_goodput_counts_the_measured_time_only() -> None:
    assert gigabits(run()).sum() == pytest.approx(
        run().flows["bytes_delivered"].sum() * 8 / (290 * WEEK)
    )


def _nothing(_: object) -> None:
    return None


class TestSweep:
    """Points over a parameter."""

    def test_seeds_become_mean_and_whiskers(self) -> None:
        points: Any = {1: [10.0, 20.0], 0: 5.0}
        line = parameter.line_of(points, _nothing)
        assert (line.x, line.y) == ([0, 1], [5, 15])
        assert line.spread == [[0, 5], [0, 5]]

    def test_points_without_an_answer_are_left_out(self) -> None:
        line = parameter.line_of({1: run(), 2: 7.0}, _nothing)
        assert line.x == [2]

    def test_tolerance(self) -> None:
        assert Tolerance(5).around(50) == 5
        assert Tolerance(0.08, relative=True).around(50) == pytest.approx(4)

    @pytest.mark.parametrize(
        ("values", "expected"),
        [([4, 8, 16, 32], True), ([0, 300, 600], False), ([100, 200, 300], False)],
    )
    def test_logarithmic(self, values: list[int], expected: bool) -> None:
        assert parameter.looks_logarithmic(values) is expected

    def test_published_values_belong_to_their_series(self) -> None:
        published = {"reTCP": {0: 79.7}, "CUBIC": {0: 49.0}}
        found = parameter.references(published, Tolerance(5), ["CUBIC", "reTCP"])
        assert [(reference.name, reference.index, reference.y) for reference in found] == [
            ("reTCP, published", 1, [79.7]),
            ("CUBIC, published", 0, [49.0]),
        ]


def test_utilization_in_percent() -> None:
    figure = figures.draw("utilization", {4: run(4, 0.25), 8: [run(8, 0.3), run(8, 0.4)], 16: 50.0})
    (line,) = (
        line
        for line in figure.axes[0].get_lines()
        if len(np.asarray(line.get_xdata())) == 3 and line.get_linestyle() == "-"
    )
    assert list(np.asarray(line.get_ydata())) == pytest.approx([25, 35, 50])


def test_congestion_controls_that_were_not_measured_say_so() -> None:
    data, options = CALLS["congestion_controls"]
    ax = figures.draw("congestion_controls", data, **options).axes[0]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["cubic", "reno", "bbr"]
    assert [text.get_text() for text in ax.texts] == ["not measured"]
    assert len(ax.patches) == 2


def test_palette_is_told_apart_in_grey() -> None:
    """Neighbouring series differ in more than colour."""
    assert len(set(style.PALETTE)) == len(style.PALETTE) == len(set(style.MARKERS))


def test_the_package_does_not_load_drawing_libraries() -> None:
    code = "import sys, etalon.figures; sys.exit('matplotlib' in sys.modules or 'plotly' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})


def test_ticks_whose_labels_would_touch_are_left_out() -> None:
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    parameter.scale_x(ax, [0, 150, 300, 600, 1200, 1800, 2400], logarithmic=False)
    assert list(ax.get_xticks()) == [0, 300, 600, 1200, 1800, 2400]
    parameter.scale_x(ax, [0, 50, 100, 150, 200, 250, 300], logarithmic=False)
    assert list(ax.get_xticks()) == [0, 50, 100, 150, 200, 250, 300]
    parameter.scale_x(ax, [0, 10, 20, 30, 40, 50, 52], logarithmic=False)
    assert list(ax.get_xticks()) == [0, 10, 20, 30, 40, 52]
    for few in ([5], []):
        parameter.scale_x(ax, few, logarithmic=False)
        assert list(ax.get_xticks()) == few
