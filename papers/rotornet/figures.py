# SPDX-License-Identifier: MIT OR Apache-2.0
"""How throughput over density is drawn, from runs."""

from __future__ import annotations

from etalon.reproduce import Drawing, Results

NAMES = {"direct": "one hop", "rotorlb": "RotorLB"}


def _over_density(results: Results) -> Drawing:
    throughput, density = (getattr(results.paper.measures, n) for n in ("throughput", "density"))
    lines = {}
    for kind, name in NAMES.items():
        runs = [
            *results.series(f"{kind}-density").values(),
            results.run(f"{kind}-uniform", 16),
        ]
        lines[name] = {100 * density(run): throughput(run) for run in runs}
    return Drawing("lines", lines, xlabel="racks that a rack sends to (%)", ylabel="throughput (%)")


DRAWINGS = {"density": _over_density}
