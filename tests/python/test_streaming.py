# SPDX-License-Identifier: MIT OR Apache-2.0
"""Plans whose flows are too many to be listed: they are made while the plan is run, and are the same."""

from __future__ import annotations

import gc
import inspect
import os
import pickle
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import etalon as et
from etalon import cli, engine
from etalon.campaign import executors
from etalon.campaign.executors import cluster
from etalon.errors import EtalonError, Interrupted, PlanError, PlanWarning
from etalon.figures import repairs
from etalon.plan import Plan
from etalon.plan.streaming import batches
from etalon.plan.workloads import base, trace, trace_batches
from etalon.plan.workloads import batches as workload_batches
from etalon.report import write_run
from etalon.results import rows

NETWORKS = {
    "leaf-spine": {"kind": "leaf-spine", "racks": 4, "hosts": 4},
    "rdcn": {"racks": 4, "hosts": 4},
    "few": {"kind": "leaf-spine", "racks": 4, "hosts": 4, "rack": ["10Gbps", "1us", 9]},
}
MEASURE = {"pair": [0, 1]}
BUSY = {"sizes": "websearch", "load": 0.8, "small": "30kB"}


@contextmanager
def at_most(monkeypatch: pytest.MonkeyPatch, flows: int) -> Iterator[None]:
    """Plans of more flows than these are not listed."""
    with monkeypatch.context() as patch:
        for module in (base, trace):
            patch.setattr(module, "MOST_FLOWS", flows)
        trace._read.cache_clear()
        yield
    trace._read.cache_clear()


def plan(network: str = "leaf-spine", **tables: Any) -> Plan:
    """A plan that runs in a blink."""
    values = {"duration": "20ms", "warmup": "4ms", "tdf": 1, "measure": MEASURE}
    return Plan.from_dict({"network": NETWORKS[network], **values, **tables})


def columns(chosen: Plan) -> list[tuple[int, ...]]:
    """The flows as they come: start, sender, receiver, bytes, end, kind."""
    return [
        row for batch in batches(chosen) for row in zip(*(c.tolist() for c in batch), strict=True)
    ]


def as_columns(
    flows: list[dict[str, Any]], hosts: int, classes: list[str]
) -> list[tuple[int, ...]]:
    """Listed flows as those that come."""
    return [
        (
            flow["start_ns"],
            flow["src_rack"] * hosts + flow["src_host"],
            flow["dst_rack"] * hosts + flow["dst_host"],
            flow["bytes"] or -1,
            flow["stop_ns"] or -1,
            classes.index(flow.get("class", "")),
        )
        for flow in flows
    ]


def in_order(path: Path, chosen: Plan) -> dict[str, Any]:
    """The flows of a plan as a trace in order of start."""
    flows = sorted(chosen.flows, key=lambda flow: int(flow["start_ns"]))
    lines = [
        f"r{f['src_rack']}h{f['src_host']} r{f['dst_rack']}h{f['dst_host']} {f['bytes']} {f['start_ns']} {f.get('class', '')}\n"
        for f in flows
    ]
    path.write_text("".join(lines))
    return {"file": str(path)}


@pytest.mark.parametrize("more", [{}, {"end_when_done": True}], ids=["to the end", "until done"])
@pytest.mark.parametrize("network", NETWORKS)
def test_every_row_is_that_of_a_listed_flow(
    network: str, more: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same trace both ways: what is measured is the same to the bit, losses, warm-up and cut-off flows included."""
    flows = in_order(tmp_path / "flows.txt", plan(network, poisson=[BUSY], duration="25ms"))
    listed, streamed = (
        _run(monkeypatch, most, plan(network, trace=[flows], **more)) for most in (100_000, 0)
    )
    assert listed.flows.height > 20
    seen = listed.flows.filter(pl.col("start_ns") < listed.meta["simulated_ns"])
    assert seen.filter(pl.col("end_ns") < 0).height  # flows were cut off
    assert seen.filter(
        pl.col("end_ns").is_between(0, 4_000_000)
    ).height  # and others were over before measurement
    if network == "few":
        assert listed.drops > 100
    assert streamed.flows.sort("flow").equals(seen)
    for table in ("pairs", "latency_histogram", "days"):
        assert getattr(streamed, table).equals(getattr(listed, table))
    for key in ("events", "packets_delivered", "hops", "simulated_ns", "peak_in_network"):
        assert streamed.meta.get(key) == listed.meta.get(key)
    assert streamed.by_class().equals(listed.by_class())
    assert streamed.summary() == listed.summary()
    assert streamed.answer == listed.answer or seen.height < listed.flows.height


def _run(monkeypatch: pytest.MonkeyPatch, most: int, chosen: Plan) -> et.Run:
    with at_most(monkeypatch, most):
        again = Plan.from_toml(chosen.to_toml())
        assert again.streamed == (most == 0)
        return et.run(again)


def test_killed_flows_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that ends when all are over waits for those that are killed, too."""
    short = {"period": "4ms", "big_rate": "5Gbps", "small_rate": "2Gbps", "limit": "1ms"}
    small = {"size": "1kB", "class": "small"}
    tables = {"rings": [short], "permutation": [small], "duration": "40ms", "end_when_done": True}
    chosen = plan("leaf-spine", **tables)
    listed = et.run(chosen)
    with at_most(monkeypatch, 20):
        streamed = et.run(Plan.from_toml(chosen.to_toml()))
    keys = ["start_ns", "src_rack", "dst_rack", "src_host", "dst_host", "bytes", "stop_ns", "class"]
    assert streamed.flows.select(keys).sort(keys).equals(listed.flows.select(keys).sort(keys))
    assert (streamed.flows["end_ns"] < 0).any()
    last = streamed.flows.select(
        pl.when(pl.col("end_ns") < 0).then("stop_ns").otherwise("end_ns").max()
    )
    assert streamed.meta["simulated_ns"] == last.item()


def test_a_run_that_ends_in_its_warm_up_has_no_mean_window(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ends = {"duration": "400ms", "warmup": "390ms", "end_when_done": True}
    chosen = plan("leaf-spine", poisson=[BUSY | {"period": "4ms", "load": 0.1}], **ends)
    with pytest.warns(PlanWarning, match="nothing was delivered in the measured time"):
        listed, streamed = (_run(monkeypatch, most, chosen) for most in (1000, 0))
    assert listed.meta["simulated_ns"] < 390_000_000
    for run in (listed, streamed):
        assert run.flows["mean_cwnd"].unique().to_list() == [0]


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("racks", [2, 7])
def test_the_flows_that_come_are_those_that_would_be_listed(
    racks: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each number that is drawn, in order of start."""
    sizes = [["100B", 0.0], ["3kB", 0.7], ["1MB", 1.0]]
    table = {"load": 0.9, "sizes": sizes, "of": "10Gbps", "small": "2kB", "start": "1ms"}
    others = {"poisson": [table, BUSY], "permutation": [{"size": "1kB", "start": "2ms"}]}
    network = {"kind": "leaf-spine", "racks": racks, "hosts": 3}
    chosen = Plan.from_dict(
        {"network": network, "duration": "20ms", "warmup": "0s", "tdf": 1, "seed": seed, **others}
    )
    with at_most(monkeypatch, 30):
        streamed = Plan.from_toml(chosen.to_toml())
        classes = [kind.get("class", "") for kind in streamed.resolve()["flows"]]
        assert classes == ["", "small", "big", "small", "big"]
        found = [row[:5] for row in columns(streamed)]
    flows = sorted(chosen.flows, key=lambda flow: int(flow["start_ns"]))
    assert len(flows) > 200
    names = ["", "small", "big"]
    assert found == [row[:5] for row in as_columns(flows, 3, names)]


def test_a_workload_without_flows_is_no_hindrance(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of its racks sends."""
    rare = {"load": 1e-6, "period": "1us"}
    shuffle = [{"size": "1kB", "start": "1ms"}]
    with at_most(monkeypatch, 5):
        assert columns(plan(poisson=[rare], shuffle=shuffle)) == columns(plan(shuffle=shuffle))


def test_listed_traces_of_a_long_plan_are_put_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is short enough to stand in any order; together they are not listed."""
    traces = []
    for name in ("a", "b"):
        lines = [f"{i % 16} {(i + 5) % 16} {1000 + i} {i * 700 % 9000}\n" for i in range(20)]
        (tmp_path / name).write_text("".join(lines))
        traces.append({"file": str(tmp_path / name), "class": name})
    with at_most(monkeypatch, 30):
        chosen = plan(trace=traces, warmup="0s")
        assert chosen.streamed
        found = columns(chosen)
        run = et.run(chosen)
    listed = plan(trace=traces)
    flows = sorted(listed.flows, key=lambda flow: int(flow["start_ns"]))
    assert found == as_columns(flows, 4, ["a", "b"])
    assert run.flows.height == 40


def test_merging_takes_few_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many the sources are, and if all flows of one start together."""
    passes = []
    real = workload_batches.joined

    def counted(some: Sequence[workload_batches.Batch]) -> workload_batches.Batch:
        passes.append(len(some))
        return real(some)

    def source(starts: Iterable[list[int]]) -> Iterator[workload_batches.Batch]:
        for some in starts:
            yield workload_batches.Batch(*(np.array(some, dtype=np.int64) for _ in range(6)))

    monkeypatch.setattr(workload_batches, "joined", counted)
    apart = [
        source([list(range(i + 6400 * k, i + 6400 * (k + 1), 100)) for k in range(10)])
        for i in range(100)
    ]
    merged = [batch.start for batch in workload_batches.merged(apart)]
    assert np.concatenate(merged).tolist() == list(range(64_000))
    assert len(passes) < 30
    passes.clear()
    together = [source([[7] * 10] * 100), source([[1, 8]])]
    merged = [batch.start for batch in workload_batches.merged(together)]
    assert np.concatenate(merged).tolist() == [1, *[7] * 1000, 8]
    assert len(passes) < 5


def test_a_digest_is_that_of_the_flows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a plan and of a run: the same twice, another with another trace, load or seed."""
    lines = [f"{i % 16} {(i + 5) % 16} 1000 {i * 300_000}\n" for i in range(50)]
    paths = [tmp_path / name for name in ("a", "b")]
    paths[0].write_text("".join(lines))
    paths[1].write_text("".join([*lines[:-1], lines[-1].replace("1000 ", "1001 ")]))
    with at_most(monkeypatch, 10):
        plans = [plan(trace=[{"file": str(path)}]) for path in paths]
        plans += [
            plan(poisson=[BUSY]),
            plan(poisson=[BUSY], seed=2),
            plan(poisson=[BUSY | {"load": 0.7}]),
        ]
        digests = [one.digest for one in plans]
        assert len(set(digests)) == 5
        assert Plan.from_toml(plans[2].to_toml()).digest == digests[2]
        runs = [et.run(one).meta["digest"] for one in (*plans, plans[2])]
        assert len(set(runs)) == 5
        assert runs[-1] == runs[2]


def test_a_folder_gives_the_run_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its trace, of which there is a copy, whatever becomes of the original."""
    flows = in_order(tmp_path / "flows.txt", plan(poisson=[BUSY]))
    with at_most(monkeypatch, 10):
        run = et.run(plan(trace=[flows]))
        run.save(tmp_path / "run")
        (tmp_path / "flows.txt").unlink()
        again = et.Run.load(tmp_path / "run")
        assert again.plan.digest == run.plan.digest
        assert again.flows.equals(run.flows)
        assert again.flows.schema == et.run(plan(poisson=[BUSY])).flows.schema
        assert again.fct().height == run.flows.height
        assert et.run(again.plan).meta["digest"] == run.meta["digest"]
        assert not list((tmp_path / "run").glob(".*"))
        assert write_run(again, tmp_path / "run").is_file()
        assert repr(again).startswith("<Run ")
        assert f"about {run.plan.expected_flows:.3g}" in repr(run.plan)


MANY = """
import resource, sys
import polars as pl
import etalon as et
from etalon.plan import Plan
poisson = {"sizes": [["100B", 0.0], ["2kB", 1.0]], "load": 0.25, "of": "8.4Gbps", "start": "1ms"}
network = {"kind": "leaf-spine", "racks": 4, "hosts": 4}
times = {"duration": sys.argv[1], "warmup": "0s", "tdf": 1}
run = et.run(Plan.from_dict({"network": network, "poisson": [poisson], **times}))
run.summary()
run.save(sys.argv[2])
print(run.plan.streamed, run.flow_table.select(pl.len()).collect().item())
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_memory_is_that_of_flows_which_are_open(tmp_path: Path) -> None:
    """Five times as many flows that follow each other take less than 150 bytes more for each."""
    counts, peaks = [], []
    for duration in ("122ms", "602ms"):
        command = [sys.executable, "-c", MANY, duration, str(tmp_path / duration)]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        assert told[0] == "True"
        counts.append(int(told[1]))
        peaks.append(1024 * int(told[2]))
    assert counts[0] == pytest.approx(121_000, rel=0.02)
    assert counts[1] == pytest.approx(601_000, rel=0.02)
    assert (peaks[1] - peaks[0]) / (counts[1] - counts[0]) < 120


REFUSED = {
    "of workloads that list": (
        {"incast": [{"to": "r0h0", "size": "1kB", "rounds": 9}]},
        r"only \[\[shuffle\]\], .* can have",
    ),
    "that connect before": (
        {"shuffle": [{"size": "1kB", "start": "1ms", "connect": "0s"}]},
        "connects when it starts",
    ),
    "that are followed": ({"poisson": [BUSY], "measure": {"flows": [1]}}, "followed"),
    "whose order is followed": ({"poisson": [BUSY], "measure": {"reordering": True}}, "followed"),
    "beside jobs": ({"poisson": [BUSY], "dfsio": [{"size": "1MB"}]}, "jobs"),
    "beside programs": (
        {"poisson": [BUSY], "program": [{"host": "r0h0", "command": ["true"]}]},
        "programs",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_a_list_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tables, sentence = REFUSED[name]
    with (
        at_most(monkeypatch, 5),
        pytest.raises(PlanError, match=f"above 5 they are not listed: .*{sentence}"),
    ):
        plan(**tables)


def test_announced_demand_and_mptcp_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = {"kind": "solstice", "estimator": "adu", "window": "2ms"}
    with at_most(monkeypatch, 5):
        with pytest.raises(PlanError, match='take the estimator "voq"'):
            plan("rdcn", poisson=[BUSY], schedule=schedule)
        with pytest.raises(PlanError, match="MPTCP cannot carry them"):
            plan("rdcn", poisson=[BUSY | {"transport": "mptcp"}])


def test_too_many_are_refused() -> None:
    with pytest.raises(PlanError, match="at most 100000000 are run"):
        plan(
            poisson=[{"sizes": [["1B", 0.5], ["2B", 1.0]], "load": 10, "of": "10Gbps"}],
            duration="1s",
        )


def test_other_engines_executors_and_traces_refuse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with at_most(monkeypatch, 10):
        chosen = plan(poisson=[BUSY])
        with pytest.raises(PlanError, match="shorten the duration"):
            et.trace(chosen, tmp_path / "trace", start="0s", end="1ms")

        class Nowhere(cluster.Cluster):
            NAME = "nowhere"
            MODULES = ()

            def open(self, jobs: int) -> Any:
                raise AssertionError("it would run")

        with pytest.raises(PlanError, match="rows stay on the disk"):
            Nowhere().execute([chosen], engine.named("sim"))
    with at_most(monkeypatch, 10):
        many = plan(poisson=[BUSY | {"load": 10}], duration="2s", warmup="0s")
        [problem] = engine.named("linux").problems(many)
        assert "--engine linux runs at most" in str(problem)
        assert problem.key.startswith("poisson")


def test_a_trace_says_which_line_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = [f"{i % 16} {(i + 5) % 16} 1000 {i * 1000}\n" for i in range(40)]
    named = [f"r{i % 4}h1 r{(i + 1) % 4}h0 1000 {i * 1000}\n" for i in range(40)]
    for lines in (good, named):
        for wrong, sentence in {
            "0 1 1000 5\n": "must not be below",
            "0 0 1000 999000\n": "would send to itself",
            "0 16 1000 999000\n": "there is no host 16",
            "r0h1 r1h4 1000 999000\n": "there is no host r1h4",
            "0 1 0 999000\n": "more than zero",
            "0 1 5\n": "this has 3",
            "0 1 5 6 a b\n": "this has 6",
            "0 1 x 999000\n": "whole number",
            "0 1 9999999999999999999999 999000\n": "at most",
            f"0 1 5 999000 {'c' * 1000}\n": "fewer than 1000 characters",
        }.items():
            (tmp_path / "flows.txt").write_text(
                "".join([*lines[:20], "# comment\n", wrong, *lines[20:]])
            )
            with (
                at_most(monkeypatch, 10),
                pytest.raises(PlanError, match=f"flows.txt:22.*{sentence}"),
            ):
                plan(trace=[{"file": str(tmp_path / "flows.txt")}])


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [(b"0 1 \xff 999000\n", "is not text"), (b"x" * 9000, "fewer than 1000 characters")],
)
@pytest.mark.parametrize("most", [10, 100])
def test_a_line_without_text_or_end_has_a_number(
    wrong: bytes, sentence: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = "".join(f"{i % 16} {(i + 5) % 16} 1000 {i * 1000}\n" for i in range(40))
    (tmp_path / "flows.txt").write_bytes(good.encode() + wrong)
    with at_most(monkeypatch, most), pytest.raises(PlanError, match=f"flows.txt:41: .*{sentence}"):
        plan(trace=[{"file": str(tmp_path / "flows.txt")}])


def test_a_trace_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever they are cut, whatever stands in the lines."""
    lines = [
        "# a comment\n",
        "\n",
        "0 5 1000 0\n",
        "1 6 1001 7\n",
        "r1h1 r2h2 5 7\n",
        "r0h1 r2h1 6 8\n",
    ]
    lines += ["2\t7  1002   9 web\n", "# end\n", "3 8 1003 10 cache\n", "4 9 1004 10 web"]
    (tmp_path / "flows.txt").write_text("".join(lines))
    table = {"file": str(tmp_path / "flows.txt"), "start": "1us"}
    listed = as_columns(plan(trace=[table]).flows, 4, ["", "web", "cache"])
    for piece in (1, 3, 10, 17, 1000):
        monkeypatch.setattr(trace_batches, "PIECE", piece)
        trace_batches.contents.cache_clear()
        with at_most(monkeypatch, 3):
            streamed = plan(trace=[table])
            assert streamed.expected_flows == 7
            assert columns(streamed) == listed


def test_a_trace_that_changes_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "flows.txt"
    path.write_text("".join(f"{i % 16} {(i + 5) % 16} 1000 {i * 1000}\n" for i in range(40)))
    with at_most(monkeypatch, 10):
        chosen = plan(trace=[{"file": str(path)}])
        assert chosen.digest
        path.write_text(path.read_text().replace(" 1000 ", " 1001 "))
        with pytest.raises(PlanError, match="has changed since the plan was made"):
            et.run(chosen)


def test_a_full_disk_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise pl.exceptions.ComputeError("No space left on device (os error 28)")

    monkeypatch.setattr(rows.pl.DataFrame, "write_parquet", full)
    monkeypatch.setattr(rows.tempfile, "tempdir", str(tmp_path))
    with (
        at_most(monkeypatch, 10),
        pytest.raises(
            EtalonError, match=r"could not be written: No space left on device .*; TMPDIR"
        ),
    ):
        et.run(plan(poisson=[BUSY]))
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_files_of_rows_are_found_and_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever their folder is called; those of a process that was killed go too, and others stay."""
    folder = tmp_path / "[a]*?"
    killed = folder / f"{rows.PREFIX}killed"
    killed.mkdir(parents=True)
    (killed / "000000.parquet").touch()
    monkeypatch.setattr(rows.tempfile, "tempdir", str(folder))
    with at_most(monkeypatch, 10):
        first = et.run(plan(poisson=[BUSY]))
        assert not killed.exists()
        second = et.run(plan(poisson=[BUSY]))
        assert len(list(folder.iterdir())) == 2
        assert first.flows.equals(second.flows)
        kept = pickle.dumps(et.run(plan(poisson=[BUSY])))
        expected = first.flows
        assert first.spurious is None
        del first, second
        gc.collect()
        assert not list(folder.iterdir())
        assert pickle.loads(kept).flows.equals(expected)


def test_a_class_has_no_flows() -> None:
    assert hasattr(et.Run, "flows")
    assert dict(inspect.getmembers(et.Run))["flows"] is et.Run.flows


def test_a_damaged_table_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Though it is read late: what its end says is whole."""
    with at_most(monkeypatch, 10):
        et.run(plan(poisson=[BUSY])).save(tmp_path / "run")
        path = tmp_path / "run" / "flows.parquet"
        whole = path.read_bytes()
        footer = 8 + int.from_bytes(whole[-8:-4], "little")
        path.write_bytes(whole[:4] + b"\xff" * (len(whole) - 4 - footer) + whole[-footer:])
        run = et.load(tmp_path / "run")
        for asked in (
            lambda: run.flows,
            lambda: run.answer,
            lambda: run.flow_table.collect(engine="streaming"),
            lambda: run.save(tmp_path / "copy"),
        ):
            with pytest.raises(et.EtalonError, match=re.escape(f"{path}: cannot be read: ")):
                asked()
        assert cli.main(["report", str(tmp_path / "run")]) == 1
    assert f"error: {path}: cannot be read: " in capsys.readouterr().err
    assert not (tmp_path / "copy").exists()


def test_a_table_of_flows_outlives_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows.tempfile, "tempdir", str(tmp_path))
    with at_most(monkeypatch, 10):
        run = et.run(plan(poisson=[BUSY]))
        expected = run.flows
        again = et.run(plan(poisson=[BUSY]))
    large = again.flow_table.filter(pl.col("bytes") > 500)
    del run, again
    gc.collect()
    assert len(list(tmp_path.iterdir())) == 1
    assert large.collect().equals(expected.filter(pl.col("bytes") > 500))
    for path in tmp_path.glob("*/*"):
        path.unlink()
    with pytest.raises(et.EtalonError, match=r"000000\.parquet: cannot be read: "):
        large.collect()
    del large
    gc.collect()
    assert not list(tmp_path.iterdir())


ENDLESS = """
[network]
kind = "leaf-spine"
racks = 4
hosts = 4
[[poisson]]
sizes = [["100B", 0.0], ["2kB", 1.0]]
load = 0.25
of = "8.4Gbps"
start = "1ms"
"""


def test_a_run_that_is_terminated_leaves_no_files(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(f'duration = "9s"\nwarmup = "0s"\ntdf = 1\n{ENDLESS}')
    (tmp_path / "rows").mkdir()
    command = [sys.executable, "-m", "etalon", "run", "plan.toml"]
    environment = os.environ | {"TMPDIR": str(tmp_path / "rows")}
    with subprocess.Popen(command, cwd=tmp_path, env=environment) as process:
        until = time.monotonic() + 60
        while not list((tmp_path / "rows").glob("*/*")) and time.monotonic() < until:
            time.sleep(0.05)
        assert list((tmp_path / "rows").glob("*/*"))
        process.terminate()
        assert process.wait(60) == 143
    assert not list((tmp_path / "rows").iterdir())


@pytest.mark.slow
def test_an_interrupted_run_has_what_it_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    local = executors.named("local")

    def stop(share: float) -> None:
        if share > 0.1:
            raise KeyboardInterrupt

    with at_most(monkeypatch, 10):
        chosen = plan(poisson=[BUSY | {"period": "4s"}], duration="4s", warmup="1ms")
        with pytest.raises(Interrupted) as stopped:
            local.execute([chosen], engine.named("sim"), progress=stop)
    [run] = stopped.value.runs
    assert run.partial
    assert 0 < run.flows.height < chosen.expected_flows
    assert run.answer.startswith("Stopped after")


def test_figures_of_flows_that_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    with at_most(monkeypatch, 100):
        run = et.run(plan(poisson=[BUSY]))
        assert run.plan.streamed
        with pytest.raises(EtalonError, match="no sequence graph: the plan does not list its"):
            run.plot.sequence()
        monkeypatch.setattr(repairs, "MOST_BARS", 50)
        assert run.flows.height > 50
        assert len(run.plot.repairs().axes[0].patches) == 3 * 50
