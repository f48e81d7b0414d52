# SPDX-License-Identifier: MIT OR Apache-2.0
"""Draws the README's picture from what `make demo` measured (runs/demo/results.json)."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from etalon.figures import style

ROOT = Path(__file__).resolve().parents[2]
SERIES = [("CUBIC", "9"), ("reTCP", "11")]
PANELS = [
    ("a", "circuit_utilization_nsdi20", "circuit utilisation (%)"),
    ("c", "latency_p99", "p99 latency (µs)"),
]


def main() -> None:
    """Writes nsdi20.png beside this file."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    claims = json.loads((ROOT / "runs/demo/results.json").read_text())["claims"]
    import matplotlib.pyplot as plt

    with style.context():
        figure, panels = plt.subplots(1, 2, figsize=(style.PAGE, 2.4), layout="constrained")
        for ax, (panel, quantity, label) in zip(panels, PANELS, strict=True):
            for index, (name, number) in enumerate(SERIES):
                prefix = f"{number}{panel}/{quantity}/"
                rows = [c for c in claims if c["id"].startswith(prefix)]
                tau = [float(c["id"].removeprefix(prefix)) for c in rows]
                ax.plot(
                    tau, [c["measured"] for c in rows],
                    color=style.colour(index), marker=style.marker(index), label=f"{name}, Etalon",
                )  # fmt: skip
                ax.plot(
                    tau, [c["published"] for c in rows],
                    color=style.colour(index), marker=style.marker(index), label=f"{name}, published",
                    linestyle="none", markersize=8, markerfacecolor="none",
                )  # fmt: skip
            ax.set_xlabel("queue grows this long before the circuit (µs)")
            ax.set_ylabel(label)
            ax.set_ylim(0, ax.get_ylim()[1] * 1.05)
        panels[0].legend(loc="lower right")
    (Path(__file__).parent / "nsdi20.png").write_bytes(style.png(figure))


if __name__ == "__main__":
    main()
