# SPDX-License-Identifier: MIT OR Apache-2.0
"""Prints the numbers of this folder's README that no claim holds: RotorLB with several hosts in a rack,
each of which sends to one host.

python papers/rotornet/asides.py
"""

from __future__ import annotations

import argparse
from pathlib import Path

import etalon as et
from etalon.reproduce.paper import Paper

PAPER = Paper.load(str(Path(__file__).parent))


def main() -> None:
    """A line for each number of hosts: the share of racks that a rack sends to, and the throughput."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    measures = PAPER.measures
    plan = et.Plan.load(PAPER.folder / "plans" / "rotorlb-permutation.toml")
    for hosts in (1, 2, 4, 8):
        changes = {"network.hosts": hosts, "network.host.rate": f"{40 // hosts}Gbps"}
        run = et.run(plan.replace(changes))
        print(
            f"{hosts} hosts: to {100 * measures.density(run):.1f} % of the racks, "
            f"throughput {measures.throughput(run):.1f} %"
        )


if __name__ == "__main__":
    main()
