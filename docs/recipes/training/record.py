# SPDX-License-Identifier: MIT OR Apache-2.0
"""Trains a small network in four processes, and records one step of each as a trace in Chakra: NAME.0.et to NAME.3.et.

Each process has a copy of the network and a quarter of each batch. Gradients are summed layer by layer, from the last
to the first: the sum of one layer may travel while the layer before it computes. Usage: python record.py NAME
"""

import os
import sys
import time
from itertools import pairwise
from multiprocessing import Barrier, Process, RawArray
from pathlib import Path
from typing import Any

os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")  # before numpy

import numpy as np

RANKS, BATCH, STEPS = 4, 512, 20
LAYERS = (64, 1024, 1024, 10)
COMPUTE, COLLECTIVE = 4, 7  # types of nodes in Chakra's et_def.proto
ALL_REDUCE = 0


class Recorder:
    """The nodes of one step. A message of protobuf is a list of numbered fields; a file has a length before each message."""

    def __init__(self) -> None:
        self.nodes: list[bytes] = []

    def compute(self, name: str, ns: int, after: list[int]) -> int:
        """A computation that waits for other nodes; its number."""
        return self._node(name, COMPUTE, after, field(7, ns // 1000))

    def all_reduce(self, name: str, size: int, after: list[int]) -> int:
        """A sum over all ranks."""
        values = {"comm_type": ALL_REDUCE, "comm_size": size}
        return self._node(
            name, COLLECTIVE, after, b"".join(map(attribute, values, values.values()))
        )

    def _node(self, name: str, kind: int, after: list[int], rest: bytes) -> int:
        number = len(self.nodes) + 1
        waits = b"".join(field(5, other) for other in after)
        self.nodes.append(field(1, number) + field(2, name) + field(3, kind) + waits + rest)
        return number

    def write(self, path: str) -> None:
        """Writes the file of a rank."""
        messages = [field(1, "0.0.4"), *self.nodes]
        Path(path).write_bytes(b"".join(varint(len(one)) + one for one in messages))


def varint(value: int) -> bytes:
    """Seven bits per byte, the lowest first; the highest bit announces more."""
    low = value & 127
    return bytes([low | 128]) + varint(value >> 7) if value > 127 else bytes([low])


def field(number: int, value: int | str | bytes) -> bytes:
    """A field of a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    text = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(text)) + text


def attribute(name: str, value: int) -> bytes:
    """An attribute of a node: a name and an int64."""
    return field(10, field(1, name) + field(9, value))


def train(rank: int, barrier: Any, sums: list[Any], losses: Any, name: str) -> None:
    """One rank: all steps; the last but one is recorded."""
    random = np.random.default_rng(rank)
    weights = [
        np.random.default_rng(99 + layer).normal(0, (2 / n) ** 0.5, (n, m)).astype(np.float32)
        for layer, (n, m) in enumerate(pairwise(LAYERS))
    ]
    centres = np.random.default_rng(7).normal(0, 1, (LAYERS[-1], LAYERS[0]))
    shared = [
        np.frombuffer(one, np.float32).reshape(RANKS, *w.shape)
        for one, w in zip(sums, weights, strict=True)
    ]
    for step in range(STEPS):
        labels = random.integers(0, LAYERS[-1], BATCH // RANKS)
        inputs = (centres[labels] + random.normal(0, 2, (len(labels), LAYERS[0]))).astype(
            np.float32
        )
        trace = Recorder()
        last: list[int] = []
        reduced: list[int] = []
        barrier.wait()
        values = [inputs]
        for layer, weight in enumerate(weights):
            began = time.thread_time_ns()
            out = values[-1] @ weight
            values.append(np.maximum(out, 0) if layer < len(weights) - 1 else out)
            last = [trace.compute(f"forward {layer}", time.thread_time_ns() - began, last)]
        began = time.thread_time_ns()
        odds = np.exp(values[-1] - values[-1].max(axis=1, keepdims=True))
        odds /= odds.sum(axis=1, keepdims=True)
        losses[rank] = float(-np.log(odds[np.arange(len(labels)), labels] + 1e-9).mean())
        odds[np.arange(len(labels)), labels] -= 1
        error = odds / len(labels)
        last = [trace.compute("loss", time.thread_time_ns() - began, last)]
        for layer in reversed(range(len(weights))):
            began = time.thread_time_ns()
            shared[layer][rank] = values[layer].T @ error
            error = (error @ weights[layer].T) * (values[layer] > 0)
            last = [trace.compute(f"backward {layer}", time.thread_time_ns() - began, last)]
            reduced.append(trace.all_reduce(f"sum {layer}", weights[layer].nbytes, last))
        barrier.wait()  # here memory is the network
        began = time.thread_time_ns()
        for weight, gradients in zip(weights, shared, strict=True):
            weight -= 0.1 * gradients.mean(axis=0)
        trace.compute("update", time.thread_time_ns() - began, [*last, *reduced])
        if rank == 0:
            print(f"step {step}: loss {sum(losses) / RANKS:.3f}")
        if step == STEPS - 2:
            trace.write(f"{name}.{rank}.et")


def main() -> None:
    """Starts the processes."""
    barrier, losses = Barrier(RANKS), RawArray("d", RANKS)
    sums = [RawArray("f", RANKS * n * m) for n, m in pairwise(LAYERS)]
    workers = [
        Process(target=train, args=(rank, barrier, sums, losses, sys.argv[1]))
        for rank in range(RANKS)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    sys.exit(any(worker.exitcode for worker in workers))


if __name__ == "__main__":
    main()
