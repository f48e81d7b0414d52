# SPDX-License-Identifier: MIT OR Apache-2.0
"""All-reduces of 64 kB, or of so many bytes, so many times: for programs.py."""

import array
import sys

from mpi4py import MPI

size = int(sys.argv[2]) if len(sys.argv) > 2 else 64_000
data, total = array.array("d", [1.0] * (size // 8)), array.array("d", bytes(size))
for _ in range(int(sys.argv[1])):
    MPI.COMM_WORLD.Allreduce(data, total)
