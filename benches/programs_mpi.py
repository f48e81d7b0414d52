# SPDX-License-Identifier: MIT OR Apache-2.0
"""All-reduces of 64 kB, or of so many bytes, so many times: for programs.py."""

import argparse
import array


def main() -> None:
    """All of them, among all ranks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("times", type=int)
    parser.add_argument("size", type=int, nargs="?", default=64_000, help="in bytes")
    asked = parser.parse_args()
    from mpi4py import MPI

    data = array.array("d", [1.0] * (asked.size // 8))
    total = array.array("d", bytes(asked.size))
    for _ in range(asked.times):
        MPI.COMM_WORLD.Allreduce(data, total)


if __name__ == "__main__":
    main()
