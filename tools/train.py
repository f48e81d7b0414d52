# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a core that its own profile guides is trained on: moments of the benches, in a process that ends with a profile.

maturin runs this with the core that counts (`pgo-command` in pyproject.toml); nobody else needs to.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import etalon as et

BENCHES = Path(__file__).resolve().parents[1] / "benches"
DURATIONS = {
    "full": "1s",
    "lean": "1s",
    "leaf-spine": "5ms",
    "ndp": "3ms",
    "opera": "20ms",
    "rotor": "10ms",
    "strobe": "1.92s",
    "tdtcp": "1.68s",
    "tdtcp-cubic": "1.68s",
    "tree": "4s",
}
"""Which branches are taken shows soon."""


def main() -> None:
    """Runs them, one after the other."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    for name, duration in DURATIONS.items():
        et.run(BENCHES / f"{name}.toml", duration=duration, warmup="0s", progress=lambda _: None)


if __name__ == "__main__":
    main()
