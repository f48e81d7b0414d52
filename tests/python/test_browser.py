# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reports in a real browser, headless: figures are drawn, nothing runs over, wide and on a phone, light and dark."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import etalon as et
from conftest import need_program
from etalon import report
from etalon.report import sweeps

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)

MEASURE = """
<iframe id="page" style="border: 0; width: %(width)dpx; height: 3000px" src="%(page)s"></iframe>
<script type="text/plain" id="found"></script>
<script>
const page = document.getElementById("page");
const measure = () => {
  const inner = page.contentDocument, width = inner.documentElement.clientWidth;
  const scrolls = (node) => node.closest(".table, pre, svg");
  const over = [...inner.body.querySelectorAll("*")].filter(
    (node) => !scrolls(node) && node.getBoundingClientRect().right > width + 1);
  const broken = [...inner.querySelectorAll("td code, td.number, th")].filter((node) => {
    const words = node.textContent.trim().split(/\\s+/).length;
    return words === 1 && node.getClientRects().length > 1;
  });
  const wide = (node) => node.scrollWidth > node.clientWidth + 1;
  document.getElementById("found").textContent = JSON.stringify({
    width, scroll: inner.documentElement.scrollWidth, over: over.map((node) => node.outerHTML.slice(0, 120)),
    broken: broken.map((node) => node.outerHTML.slice(0, 120)),
    summary: wide(inner.querySelector("section .table")),
    drawn: inner.documentElement.dataset.figures, plots: inner.querySelectorAll(".main-svg").length,
    ground: getComputedStyle(inner.body).backgroundColor, ink: getComputedStyle(inner.body).color,
  });
};
page.onload = () => setInterval(measure, 500);
</script>
"""


@pytest.fixture(scope="module")
def browser() -> str:
    if CHROMIUM is None:
        need_program("chromium")
    return CHROMIUM


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports of a run of many kinds of tables, and of a sweep."""
    folder = tmp_path_factory.mktemp("pages")
    net = et.network(racks=8, hosts=4)
    poisson = et.workload("poisson", sizes="websearch", load=0.3)
    run = et.run(net, et.bulk(0, 1), poisson, duration="12ms", measure={"flows": [0]})
    plan = et.experiment(et.network(hosts=2), et.bulk(0, 1), duration="12ms")
    grid = {"network.voq.packets": [4, 8], "bulk.cc": ["cubic", "reno"], "tdf": [1, 20]}
    sweep = et.sweep(plan, grid, seeds=2)
    return {
        "run": report.write_run(run, folder / "run"),
        "sweep": sweeps.write(sweep, folder / "sweep"),
    }


def opened(browser: str, page: Path, folder: Path, *options: str, dark: bool = False) -> str:
    """What the browser makes of a page: its elements after scripts have run."""
    command = [
        browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=20000",
        "--allow-file-access-from-files", f"--blink-settings=preferredColorScheme={int(not dark)}",
        f"--user-data-dir={folder / 'profile'}", *options, page.as_uri(),
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=180).stdout


def measured(browser: str, page: Path, folder: Path, width: int, dark: bool) -> dict[str, Any]:
    frame = folder / "frame.html"
    frame.write_text(MEASURE % {"width": width, "page": page.as_uri()})
    size = f"--window-size={width + 100},3100"
    dom = opened(browser, frame, folder, "--dump-dom", size, dark=dark)
    found = re.search(r'id="found">(.*?)</script>', dom)
    assert found is not None
    answer: dict[str, Any] = json.loads(unescape(found[1]))
    return answer


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
@pytest.mark.parametrize("name", ["run", "sweep"])
def test_nothing_runs_over(
    browser: str, pages: dict[str, Path], tmp_path: Path, name: str, width: int, dark: bool
) -> None:
    found = measured(browser, pages[name], tmp_path, width, dark)
    assert found["scroll"] == found["width"] == width
    assert found["over"] == []
    assert found["broken"] == []
    assert found["ground"] == ("rgb(22, 24, 26)" if dark else "rgb(255, 255, 255)")
    assert found["ink"] != found["ground"]
    if name == "run":
        assert found["drawn"] == "drawn"
        assert found["plots"] >= 5
        assert not found["summary"], "the summary fits, without scrolling"


def test_a_screenshot_is_whole(browser: str, pages: dict[str, Path], tmp_path: Path) -> None:
    shot = tmp_path / "shot.png"
    opened(browser, pages["run"], tmp_path, f"--screenshot={shot}", "--window-size=1000,1400")
    content = shot.read_bytes()
    assert struct.unpack(">II", content[16:24]) == (1000, 1400)
    assert len(content) > 60_000, "there are figures and text on it"
