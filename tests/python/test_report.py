# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reports: complete, offline, safe from what plans say, and drawn by a browser."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import etalon as et
from conftest import ROOT
from etalon import figures, report
from etalon.report.page import number, render

if TYPE_CHECKING:
    from pathlib import Path

CLAIMS: list[dict[str, Any]] = [
    {
        "id": "8a/16",
        "figure": "8a",
        "quantity": "utilisation, 16 packets",
        "published": 48.7,
        "measured": 47.53,
        "unit": "%",
        "tolerance": "5 points",
        "verdict": "reproduced",
    },
    {
        "id": "8a/32",
        "figure": "8a",
        "quantity": "utilisation, 32 packets",
        "published": 76.7,
        "measured": 66.1,
        "unit": "%",
        "tolerance": "5 points",
        "verdict": "differs by -10.6 points",
    },
    {
        "id": "10/bbr",
        "figure": "10",
        "quantity": "BBR",
        "published": 43,
        "measured": None,
        "unit": "%",
        "tolerance": "5 points",
        "verdict": "not yet",
        "reason": "`bbr` does not exist yet",
    },
]


class Page(HTMLParser):
    """What a browser would fetch and show of a page."""

    VOID = ("meta", "img", "link", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.fetched: list[str] = []
        self.words: list[str] = []
        self.stack: list[str] = []
        self.feed(text)
        self.close()
        assert self.stack == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.fetched += [value for key, value in attrs if key in ("src", "href") and value]
        if tag not in self.VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.stack and self.stack[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self) -> str:
        """The words on the page."""
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def run() -> et.Run:
    network = et.network(racks=3, hosts=16, voq=16)
    week = et.strobe(network, day="180us", night="20us", mimic=25)
    finite = [et.flow(f"r0h{i}", f"r2h{i}", size="20kB", start="1ms") for i in range(4)]
    return et.run(network, week, et.bulk(0, 1), *finite, duration="48ms", warmup="1ms")


@pytest.fixture(scope="module")
def folder(run: et.Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    assert report.write_run(run, folder) == folder / "report.html"
    return folder


def test_a_run_is_reported_in_full(run: et.Run, folder: Path) -> None:
    page = Page((folder / "report.html").read_text())
    assert run.circuit_utilization is not None
    assert f"{100 * run.circuit_utilization:.4g}" in page.text
    assert run.meta["digest"] in page.text
    assert run.meta["version"] in page.text
    assert run.plan.digest in page.text
    assert "etalon run plan.toml" in page.text
    assert " ".join(run.plan.to_toml().split()) in page.text
    for heading in ("Summary", "Figures", "Tables", "Plan", "Provenance"):
        assert heading in page.text


def test_a_report_opens_with_the_answer_and_the_main_figure(run: et.Run, folder: Path) -> None:
    text = (folder / "report.html").read_text()
    places = [text.index(part) for part in (html.escape(run.answer), "<figure", ">Summary</h2>")]
    assert places == sorted(places)
    assert text.index("<figcaption>Bytes that a flow has sent") < places[-1]


def test_amounts_are_for_people(folder: Path) -> None:
    page = Page((folder / "report.html").read_text())
    tables = page.text[page.text.index("Days as measured") : page.text.index("duration =")]
    assert not re.search(r"\de[+-]?\d|_ns\b|_bytes\b|\*", tables)
    assert re.search(r"day 0\.1800 0\.0000 ms \d+ week 4\.800 0\.000 ms", tables)
    assert "packet payload (MB)" in tables


def test_every_figure_is_printed_and_interactive(folder: Path) -> None:
    page = Page((folder / "report.html").read_text())
    names = ["fct_cdf", "goodput", "latency_cdf", "network_bytes", "schedule", "sequence"]
    assert sorted(path.name for path in (folder / "figures").iterdir()) == sorted(
        f"{name}.png" for name in names
    )
    assert page.tags.count("figure") == page.tags.count("img") == len(names)


def test_nothing_is_fetched(folder: Path) -> None:
    page = Page((folder / "report.html").read_text())
    assert page.fetched
    assert all(address.startswith(("data:", "#")) for address in page.fetched)
    assert (folder / "report.html").stat().st_size < 4_000_000


def test_same_run_same_page(run: et.Run, folder: Path, tmp_path: Path) -> None:
    report.write_run(run, tmp_path)
    assert (tmp_path / "report.html").read_bytes() == (folder / "report.html").read_bytes()


def test_a_partial_run_says_so(run: et.Run) -> None:
    meta = {**run.meta, "partial": True, "simulated_ns": 12_000_000}
    partial = et.Run(
        run.plan, meta, run.flows, run.pairs, run.latency_histogram, run.sequence, run.days
    )
    page = Page(render("x", report.sections_of_run(partial, [])))
    assert "stopped after 25.0 % of its time" in page.text


def test_a_long_table_says_what_it_leaves_out(run: et.Run) -> None:
    flows = pl.concat([run.flows] * 5)
    many = et.Run(
        run.plan, run.meta, flows, run.pairs, run.latency_histogram, run.sequence, run.days
    )
    page = Page(render("x", report.sections_of_run(many, [])))
    assert f"the first 64 of {flows.height}" in page.text


def test_text_is_text() -> None:
    hostile = "</script><script>alert(1)</script> & <b>"
    sections = [
        report.Section(
            hostile,
            [
                report.Prose(hostile),
                report.Code(hostile),
                report.Table((hostile,), [(hostile,)], hostile),
                report.Claims([{**CLAIMS[0], "quantity": hostile, "id": hostile}]),
                report.Picture(
                    hostile, interactive=figures.interactive("utilization", {hostile: {1: 2.0}})
                ),
            ],
        )
    ]
    page = Page(render(hostile, sections, subtitle=hostile))
    assert page.tags.count("script") == 3  # data, library, drawing
    assert "b" not in page.tags
    assert page.text.count("alert(1)") >= 8


def test_prose() -> None:
    assert report.Prose("one `two`\n\nthree").html() == "<p>one <code>two</code></p>\n<p>three</p>"


def test_claims_are_worded_and_counted() -> None:
    claims = report.Claims(CLAIMS)
    assert claims.tally == "1 of 3 claims reproduced, 1 differs, 1 without a measurement."
    assert claims.tally in claims.html()
    assert claims.tally not in report.Claims(CLAIMS, counted=False).html()
    page = Page(render("x", [report.Section("Claims", [claims])]))
    assert "✓ reproduced" in page.text
    assert "✗ differs by -10.6 points" in page.text
    assert "not yet bbr does not exist yet" in page.text
    assert re.search(r"48.7 47.53 % 5 points", page.text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (3, "3"),
        (1234567, "1\u202f234\u202f567"),
        (47.5349, "47.53"),
        (1e-7, "0.0000001"),
        (12345.6, "12\u202f346"),
    ],
)
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text


def test_a_page_without_figures_carries_no_library() -> None:
    assert len(render("x", [report.Section("a", [report.Prose("b")])])) < 10_000


def test_nothing_is_left_behind_on_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="No space"):
        report.write(tmp_path / "x.html", "x", [])
    assert list(tmp_path.iterdir()) == []


def test_a_network_of_circuits_has_no_packet_network_in_its_report(tmp_path: Path) -> None:
    plan = et.Plan.load(ROOT / "examples/rotornet.toml")
    run = et.run(plan.replace({"duration": "2ms", "warmup": "0s"}))
    page = report.write_run(run, tmp_path).read_text()
    assert (
        "share of the network&#x27;s capacity" in page or "share of the network's capacity" in page
    )
    assert "packet network" not in page
    axes = figures.draw("latency_cdf", run).axes[0]
    legend = axes.get_legend()
    assert legend is not None and [text.get_text() for text in legend.get_texts()] == ["network"]
