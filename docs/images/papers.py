# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures a figure of each of these papers again, and copies it beside this file, for the top of the paper's page."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from etalon.cli import main as etalon

FIGURES = {
    "cnsm16": ("5a", "5a"),
    "etalon18": ("5b", "5b"),
    "harvest": ("several-hops", "several-hops-10us"),
    "opera": ("9", "9-10-percent"),
    "powertcp": ("8a", "8a"),
    "rotornet": (None, "density"),
    "sigcomm22": ("7a", "7a"),
}
"""By paper: what `--figure` measures, if not all, and the picture."""
ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Writes paper-NAME.png."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=FIGURES, help="one of the papers")
    for paper in parser.parse_args().only or FIGURES:
        figure, picture = FIGURES[paper]
        chosen = ["--figure", figure] if figure else []
        folder = ROOT / "runs/pictures" / paper
        if etalon(["reproduce", paper, *chosen, "--out", str(folder)]):
            raise SystemExit(f"{paper} could not be measured")
        shutil.copyfile(
            folder / f"figures/{picture}.png", Path(__file__).with_name(f"paper-{paper}.png")
        )


if __name__ == "__main__":
    main()
