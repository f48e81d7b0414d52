# SPDX-License-Identifier: MIT OR Apache-2.0
"""Draws the figure of docs/jobs.md: an iteration of a job, and the circuits that two jobs asked for."""

from __future__ import annotations

import argparse
from pathlib import Path

import etalon as et

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "two_jobs.toml"


def main() -> None:
    """Runs the example on the simulator."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    run = et.run(EXAMPLE)
    run.plot.gantt(iteration=1).savefig(Path(__file__).with_suffix(".png"), dpi=200)


if __name__ == "__main__":
    main()
