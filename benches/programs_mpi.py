# SPDX-License-Identifier: MIT OR Apache-2.0
"""All-reduces of 64 kB, so many times: for programs.py."""

import array
import sys

from mpi4py import MPI

data, total = array.array("d", [1.0] * 8_000), array.array("d", bytes(64_000))
for _ in range(int(sys.argv[1])):
    MPI.COMM_WORLD.Allreduce(data, total)
