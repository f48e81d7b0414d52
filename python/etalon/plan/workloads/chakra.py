# SPDX-License-Identifier: MIT OR Apache-2.0
"""Traces of jobs in Chakra, MLCommons' format of execution traces: a file a rank. They are rewritten in GOAL, node by node.

A file has messages, each behind its length as a varint: GlobalMetadata, then a Node each. Nodes wait for those that they name.
Of a node that communicates the attributes `comm_size` (bytes), `comm_type`, `pg_name`, `comm_src`, `comm_dst` and
`comm_tag` are read, as ASTRA-sim (Won et al., ISPASS 2023) does.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, NamedTuple

from etalon import _core, cache, files
from etalon.errors import PlanError
from etalon.plan.workloads.chakra_schema import Collective, NodeType, messages
from etalon.plan.workloads.given_file import digest, stamp
from etalon.units import shown

SUFFIX = ".et"
VERSION = 2
"""Of what a trace is rewritten to."""
LONGEST = 1 << 28
"""Bytes of a message."""
KINDS = {
    Collective.ALL_REDUCE: "all-reduce",
    Collective.BARRIER: "all-reduce",
    Collective.ALL_GATHER: "all-gather",
    Collective.REDUCE_SCATTER: "reduce-scatter",
    Collective.REDUCE_SCATTER_BLOCK: "reduce-scatter",
    Collective.ALL_TO_ALL: "all-to-all",
    Collective.BROADCAST: "broadcast",
    Collective.REDUCE: "reduce",
}
"""What nodes of collectives are here. A barrier is an all-reduce of a byte a rank."""
RUN = frozenset(NodeType)
"""The types of nodes that there are."""
GPU, CPU, MEMORY, NOTHING = range(4)
"""Processors of a rank, each of which does one thing at a time; the last takes no time."""


class Node(NamedTuple):
    """A node of a trace."""

    number: int
    kind: int
    after: tuple[int, ...]
    """The nodes that it waits for."""
    us: int
    attributes: dict[str, Any]
    name: str = ""

    def __str__(self) -> str:
        return f"node {self.number} {shown(self.name)}" if self.name else f"node {self.number}"


class Group:
    """Ranks that do collectives together, and which they do."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.ranks: list[int] = []
        self.deeds: list[tuple[str, int, int]] = []
        """Kind, bytes as here, and the root's place among the ranks; by those of the first rank."""


def goal(file: Path, algorithms: Mapping[str, str]) -> Path:
    """The trace whose rank n is in `trace.n.et`, if `file` is `trace.et`, in GOAL: a file of the cache.

    `algorithms` has that of each collective, by its kind. Raises `PlanError` for what is no trace, or nothing that can be run,
    and `EtalonError` without the package `protobuf`.
    """
    paths = _files(file)
    if len(paths) == 1:
        raise PlanError("there is a trace of one rank only; a job has two or more", file=str(file))
    known = [[digest(path, stamp(path)) for path in paths], sorted(algorithms.items()), VERSION]
    key = hashlib.sha256(json.dumps(known).encode()).hexdigest()[:24]
    folder = cache.folder("chakra")
    place = folder / f"{key}.goal"
    if place.exists():
        return place
    groups = _groups(paths)
    folder.mkdir(parents=True, exist_ok=True)
    with files.draft(place) as beside, beside.open("w") as out:
        out.write(f"num_ranks {len(paths)}\n")
        for rank, path in enumerate(paths):
            out.write(f"rank {rank} {{\n")
            of_rank = _Rank(rank, path, groups, algorithms, len(paths)).lines()
            out.writelines(line for _, line in of_rank)
            out.write("}\n")
    return place


def of_nodes(error: PlanError, file: Path, algorithms: Mapping[str, str]) -> PlanError:
    """What is wrong with what a trace is rewritten to (`goal`), as an error of the trace: its lines come from nodes."""
    found = re.search(r":(\d+)$", error.file or "")
    if not found:
        return PlanError(error.expected, file=str(file))
    path, node = _node_of(file, algorithms, int(found[1]))

    def other(named: re.Match[str]) -> str:
        where, one = _node_of(file, algorithms, int(named[1]))
        return f"{one} of {where.name}"

    why = re.sub(r"\bline (\d+)", other, error.expected)
    return PlanError(f"{node}: {why}", file=str(path))


def _node_of(file: Path, algorithms: Mapping[str, str], wanted: int) -> tuple[Path, Node]:
    """From which node a line of `goal` comes, and the file that has it."""
    paths = _files(file)
    groups = _groups(paths)
    line = 1
    for rank, path in enumerate(paths):
        line += 1
        for node, _ in _Rank(rank, path, groups, algorithms, len(paths)).lines():
            line += 1
            if line == wanted:
                return path, node
        line += 1
    raise LookupError(f"{file}: comes to {line} lines, not {wanted}")


def _files(file: Path) -> list[Path]:
    """The file of each rank."""
    paths: list[Path] = []
    while (path := file.with_name(f"{file.stem}.{len(paths)}{SUFFIX}")).is_file():
        paths.append(path)
    form = re.compile(rf"{re.escape(file.stem)}\.(\d+){re.escape(SUFFIX)}")
    others = file.parent.iterdir() if file.parent.is_dir() else ()
    numbers = sorted(int(found[1]) for other in others if (found := form.fullmatch(other.name)))
    later = [number for number in numbers if number > len(paths)]
    if later:
        raise PlanError(
            f"the trace of rank {len(paths)} is missing: there is no such file, but there is one for rank {later[-1]}",
            file=str(path),
        )
    if not paths:
        rank = re.fullmatch(r"(.+)\.\d+", file.stem)
        if file.is_file() and rank:
            raise PlanError(
                f'is the trace of one rank; "{rank[1]}{SUFFIX}" names those of all ranks',
                file=str(file),
            )
        raise PlanError(
            f"there is no such file: a Chakra trace has one file per rank, {file.stem}.0{SUFFIX} and so on",
            file=str(path),
        )
    return paths


def _messages(path: Path) -> Iterator[tuple[int, bytes | None]]:
    """The messages of a file, each with the place where it begins; None for one that has no end."""
    with path.open("rb") as file:
        at = 0
        while True:
            length, digits = _varint(file)
            if not digits:
                return
            body = file.read(length) if 0 <= length <= LONGEST else b""
            yield at, body if len(body) == length else None
            at += digits + length


def _varint(file: IO[bytes]) -> tuple[int, int]:
    """A number, and how many bytes it took: none at the end of the file; -1 for a number that is cut off."""
    value = 0
    for digits in range(10):
        byte = file.read(1)
        if not byte:
            return (-1, digits) if digits else (0, 0)
        value |= (byte[0] & 127) << 7 * digits
        if byte[0] < 128:
            return value, digits + 1
    return -1, 10


def _nodes(path: Path) -> Iterator[Node]:
    """The nodes of a rank, one after the other."""
    metadata, node = messages()
    from google.protobuf.message import DecodeError

    first, last = True, None
    for at, body in _messages(path):
        if body is None:
            after = f" after {last}" if last else ""
            raise PlanError(
                f"is truncated, or not a Chakra trace: the message at byte {at}{after} has no end",
                file=str(path),
            )
        try:
            if first:
                if body and not metadata.FromString(body).version:
                    raise DecodeError
                first = False
                continue
            found = node.FromString(body)
        except DecodeError:
            what = "GlobalMetadata" if first else "a node"
            after = f" after {last}" if last else ""
            raise PlanError(
                f"is not a Chakra trace: the message at byte {at}{after} is not {what}",
                file=str(path),
            ) from None
        last = Node(
            found.id,
            found.type,
            tuple(sorted({*found.ctrl_deps, *found.data_deps})),
            found.duration_micros,
            {one.name: getattr(one, one.WhichOneof("value") or "name") for one in found.attr},
            found.name,
        )
        if last.kind not in RUN:
            raise PlanError(
                f"{last} is of type {last.kind}, which Etalon lacks; it has "
                f"{', '.join(f'{one.name} ({one.value})' for one in NodeType)}",
                file=str(path),
            )
        yield last
    if first:
        raise PlanError("is not a Chakra trace: it is empty", file=str(path))


def _number(path: Path, node: Node, name: str, default: int | None = None) -> int:
    """An attribute that is a whole number, not below zero."""
    value = node.attributes.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        has = "no" if value is None else f"{value!r} for"
        raise PlanError(
            f"{node} has {has} attribute {name}, which must be a whole number of at least 0",
            file=str(path),
        )
    return value


def _size(path: Path, node: Node) -> int:
    size = _number(path, node, "comm_size")
    if not size:
        raise PlanError(f"{node} communicates 0 bytes; comm_size is 1 at least", file=str(path))
    return size


def _groups(paths: list[Path]) -> dict[str, Group]:
    """Who does collectives with whom: the ranks whose nodes name the same process group."""
    groups: dict[str, Group] = {}
    of_first: dict[str, list[Node]] = {}
    for rank, path in enumerate(paths):
        for node in _nodes(path):
            if node.kind == NodeType.COMM_COLL:
                name = _group_of(node)
                group = groups.setdefault(name, Group(len(groups)))
                if rank not in group.ranks[-1:]:
                    group.ranks.append(rank)
                if rank == group.ranks[0]:
                    of_first.setdefault(name, []).append(node)
    for name, group in groups.items():
        if len(group.ranks) < 2:
            raise PlanError(
                f"only rank {group.ranks[0]} does collectives in the process group {name!r}",
                file=str(paths[group.ranks[0]]),
            )
        first = paths[group.ranks[0]]
        group.deeds = [_deed(first, node, group) for node in of_first[name]]
    return groups


def _group_of(node: Node) -> str:
    return str(node.attributes.get("pg_name", ""))


def _deed(path: Path, node: Node, group: Group) -> tuple[str, int, int]:
    """What a collective is here: kind, bytes, and the root's place."""
    number = _number(path, node, "comm_type")
    kind = KINDS.get(number)  # type: ignore[call-overload]
    if kind is None:
        names = {one.value: one.name for one in Collective}
        raise PlanError(
            f"{node} is a collective of type {names.get(number, number)}, which Etalon lacks; "
            f"it has {', '.join(one.name for one in KINDS)}",
            file=str(path),
        )
    if number == Collective.BARRIER:
        return kind, len(group.ranks), 0
    size = _size(path, node)
    root = _number(path, node, "root", group.ranks[0])
    if root not in group.ranks:
        raise PlanError(
            f"the root of {node}, rank {root}, is not of its process group",
            file=str(path),
        )
    # Chakra counts what a rank brings along, and a plan what it has in the end.
    whole = size * len(group.ranks) if kind == "all-gather" else size
    return kind, whole, group.ranks.index(root)


Turn = list[tuple[bool, int, int]]
"""Messages of a rank in a step: whether it sends, to or from whom, and how many bytes."""


@lru_cache(maxsize=4)
def _turns(kind: str, algorithm: str, ranks: int, size: int) -> list[list[Turn]]:
    """What each rank does in a collective, step by step, without steps in which it does nothing."""
    turns: list[list[Turn]] = [[] for _ in range(ranks)]
    for step in _core.collective_steps(kind, algorithm, ranks, size):
        mine: dict[int, Turn] = {}
        for src, dst, length in step:
            mine.setdefault(src, []).append((True, dst, length))
            mine.setdefault(dst, []).append((False, src, length))
        for rank, turn in mine.items():
            turns[rank].append(turn)
    return turns


class _Rank:
    """A rank that is being rewritten."""

    def __init__(
        self,
        rank: int,
        path: Path,
        groups: dict[str, Group],
        algorithms: Mapping[str, str],
        ranks: int,
    ) -> None:
        self.rank, self.path, self.groups, self.algorithms = rank, path, groups, algorithms
        self.ranks = ranks
        self.labels: dict[int, int] = {}
        self.next = 0
        self.done: dict[str, int] = {}
        """Collectives so far, by process group."""

    def lines(self) -> Iterator[tuple[Node, str]]:
        """The operations of its nodes, and what they wait for, each with its node."""
        seen: set[int] = set()
        waiting: dict[int, Node] = {}
        for node in _nodes(self.path):
            if node.number in seen:
                raise PlanError(
                    f"two nodes have the number {node.number}; the second is {node}",
                    file=str(self.path),
                )
            seen.add(node.number)
            waiting.pop(node.number, None)
            for number in node.after:
                if number not in seen:
                    waiting.setdefault(number, node)
            for line in self._node(node):
                yield node, line
        for absent, node in waiting.items():
            raise PlanError(
                f"{node} waits for node {absent}, which is missing", file=str(self.path)
            )
        for name, count in self.done.items():
            first, most = self.groups[name].ranks[0], len(self.groups[name].deeds)
            if count < most:
                raise PlanError(
                    f"rank {self.rank} does {count} collectives in process group {name!r}, rank {first} does {most}",
                    file=str(self.path),
                )

    def _label(self) -> int:
        self.next += 1
        return self.next

    def _of(self, number: int) -> int:
        """The label of the operation with which a node ends."""
        if number not in self.labels:
            self.labels[number] = self._label()
        return self.labels[number]

    def _node(self, node: Node) -> Iterator[str]:
        after = [self._of(number) for number in node.after]
        label = self._of(node.number)
        if node.kind == NodeType.COMM_COLL:
            yield from self._collective(node, label, after)
            return
        if node.kind in (NodeType.COMM_SEND, NodeType.COMM_RECV):
            sends = node.kind == NodeType.COMM_SEND
            peer = _number(self.path, node, "comm_dst" if sends else "comm_src")
            if peer >= self.ranks or peer == self.rank:
                raise PlanError(
                    f"{node} names rank {peer}; ranks are 0 to {self.ranks - 1}, without its own",
                    file=str(self.path),
                )
            size, tag = _size(self.path, node), _number(self.path, node, "comm_tag", 0)
            yield _message(label, sends, peer, size, 2 * tag)
        else:
            yield f"l{label}: calc {1000 * self._us(node)} cpu {_processor(node)}\n"
        yield from _requires(label, after)

    def _us(self, node: Node) -> int:
        if node.kind == NodeType.COMP and not node.us and node.attributes.get("num_ops"):
            raise PlanError(
                f"{node} has num_ops but no duration_micros, and Etalon does not know how fast ranks compute",
                file=str(self.path),
            )
        return node.us

    def _collective(self, node: Node, label: int, after: list[int]) -> Iterator[str]:
        """A collective: in each step a rank waits for all messages of the step before. It ends with an operation of no time."""
        name = _group_of(node)
        group, place = self.groups[name], self.done.get(name, 0)
        self.done[name] = place + 1
        deed = _deed(self.path, node, group)
        if place >= len(group.deeds) or group.deeds[place] != deed:
            raise PlanError(
                f"{node} is collective {place} of rank {self.rank} in its process group, {deed[0]} of {deed[1]} "
                f"bytes; rank {group.ranks[0]} has a different one there",
                file=str(self.path),
            )
        kind, size, root = deed
        ranks = len(group.ranks)
        # Who is the root is rank 0 of the algorithm.
        mine = (group.ranks.index(self.rank) - root) % ranks
        tag = 2 * (group.number << 32 | place) + 1
        before = after
        try:
            turns = _turns(kind, self.algorithms[kind], ranks, size)
        except ValueError as error:
            raise PlanError(f"{node}: {error}", file=str(self.path)) from None
        for turn in turns[mine]:
            now = [self._label() for _ in turn]
            for one, (sends, peer, length) in zip(now, turn, strict=True):
                yield _message(one, sends, group.ranks[(peer + root) % ranks], length, tag)
                yield from _requires(one, before)
            before = now
        yield f"l{label}: calc 0 cpu {NOTHING}\n"
        yield from _requires(label, before)


def _message(label: int, sends: bool, peer: int, size: int, tag: int) -> str:
    return f"l{label}: {f'send {size}b to' if sends else f'recv {size}b from'} {peer} tag {tag}\n"


def _requires(label: int, before: Iterable[int]) -> Iterator[str]:
    for one in before:
        yield f"l{label} requires l{one}\n"


def _processor(node: Node) -> int:
    """What a node keeps busy."""
    if node.kind == NodeType.COMP:
        return CPU if node.attributes.get("is_cpu_op") else GPU
    return MEMORY if node.kind in (NodeType.MEM_LOAD, NodeType.MEM_STORE) else NOTHING
