# SPDX-License-Identifier: MIT OR Apache-2.0
"""Papers, reproduced: a folder a paper, one engine for all.

    result = etalon.reproduce.reproduce("nsdi20", figures=["9a"])
    result.print()

A paper's folder (`papers/nsdi20`) lists the runs (`series.toml`, with plans in `plans/`), the published values and the
tolerances of measurements (`published.toml`), and draws the figures (`figures.py`). See `etalon.reproduce.paper`.
"""

from __future__ import annotations

from etalon.figures import Estimate
from etalon.reproduce.claims import Judged
from etalon.reproduce.drawing import Drawing
from etalon.reproduce.paper import Paper, heads, origins, papers
from etalon.reproduce.results import Missing, Results, of_days, ratio
from etalon.reproduce.run import Reproduction, plans, reproduce

__all__ = [
    "Drawing",
    "Estimate",
    "Judged",
    "Missing",
    "Paper",
    "Reproduction",
    "Results",
    "heads",
    "of_days",
    "origins",
    "papers",
    "plans",
    "ratio",
    "reproduce",
]
