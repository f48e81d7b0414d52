# SPDX-License-Identifier: MIT OR Apache-2.0
"""What outlives the controller: its epoch, what was measured, and how far a roll-out is, in one JSON file."""

from __future__ import annotations

import fcntl
import json
import logging
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from glob import escape
from pathlib import Path
from typing import Any

from etalon import files
from etalon.errors import EtalonError, PlanError
from etalon_otcp.network import Known, PortId, Source
from etalon_otcp.publication import Route
from etalon_otcp.rollout import Kept, Told
from etalon_otcp.topology import Topology

LOG = logging.getLogger("etalon_otcp")
LARGEST_EPOCH = 2**53 - 2
"""One less than the protocol's largest: the next one must have one too."""


@dataclass
class State:
    """The last epoch, delays of links (from, to, ns, learnt at), and seats of hosts (name, port, mac, ns, learnt at)."""

    epoch: int = 0
    links: list[tuple[PortId, PortId, Known]] = field(default_factory=list)
    hosts: list[tuple[str, PortId, str, Known]] = field(default_factory=list)
    rollout: Kept = field(default_factory=Kept)
    """Where a roll-out goes on."""

    @classmethod
    def load(cls, path: Path | None) -> State:
        """Reads the file; a file that is not there is a first start.

        Raises:
            PlanError: if it is there and is no such file.
        """
        if path is None or not path.exists():
            return cls()
        try:
            found = json.loads(files.text_of(path, "state"))
            return cls(
                _epoch(found["epoch"]),
                [
                    (_port(a), _port(b), Known(_ns(ns), Source.STATE, float(at)))
                    for a, b, ns, at in found["links"]
                ],
                [
                    (str(name), _port(port), str(mac), Known(_ns(ns), Source.STATE, float(at)))
                    for name, port, mac, ns, at in found["hosts"]
                ],
                _rollout(found),
            )
        except (
            OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError,
        ) as error:  # fmt: skip
            raise PlanError(
                f"is not a controller's state ({error!r}); remove it to start without measurements",
                file=str(path),
            ) from None

    @classmethod
    def of(cls, epoch: int, topology: Topology, rollout: Kept) -> State:
        """What is to be kept."""
        hosts = []
        for name in topology.hosts_given:
            seat = topology.seat(name)
            if seat and seat[2]:
                hosts.append((name, seat[0], seat[1], seat[2]))
        links = [(a, b, known) for (a, b), known in topology.delays().items()]
        return cls(epoch, links, hosts, rollout)

    def restore(self, topology: Topology) -> None:
        """Tells a topology what was known; links count once LLDP confirms them."""
        for source, target, known in self.links:
            topology.link_delay(source, target, known)
        for name, port, mac, known in self.hosts:
            if name in topology.hosts_given:
                topology.host_known(name, port, mac, known)

    def save(self, path: Path) -> None:
        """Writes the file, whole or not at all.

        Raises:
            EtalonError: if it cannot be written.
        """
        rollout = self.rollout
        document = {
            "epoch": self.epoch,
            "links": [[list(a), list(b), known.value, known.at] for a, b, known in self.links],
            "hosts": [
                [name, list(port), mac, known.value, known.at]
                for name, port, mac, known in self.hosts
            ],
            "told": _alike((host, (listed,)) for host, listed in rollout.told.items()),
            "held": rollout.held,
            "waiting": _alike(rollout.waiting.items()),
            "stepped": dict(rollout.stepped),
        }
        try:
            files.put(path, json.dumps(document))
        except OSError as error:
            raise EtalonError(f"{path}: cannot be written: {error.strerror}") from None


@contextmanager
def alone(path: Path | None) -> Iterator[None]:
    """Holds a state against other controllers, which would overwrite each other's, and removes what a kill left beside it.

    Raises:
        EtalonError: if another controller holds it.
    """
    if path is None:
        yield
        return
    try:
        lock = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    except (
        OSError
    ) as error:  # of a full disk: a network without its controller would be worse than two of them
        LOG.warning("%s: is not held against other controllers: %s", path, error.strerror)
        yield
        return
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise EtalonError(f"{path}: another controller uses this state") from None
        for left in path.parent.glob(f".{escape(path.name)}.????????.tmp"):
            left.unlink(missing_ok=True)
        yield
    finally:
        os.close(lock)


def _alike(hosts: Iterable[tuple[str, tuple[Any, ...]]]) -> list[list[Any]]:
    """Hosts with the same routes, and the same of what else belongs to them, together."""
    alike: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    for host, found in hosts:
        alike[found].append(host)
    return [
        [names, [[*route.fields().values()] for route in listed], *more]
        for (listed, *more), names in alike.items()
    ]


def _rollout(found: Any) -> Kept:
    def routes(listed: Any) -> Told:
        return tuple(Route(str(prefix), *map(int, numbers)) for prefix, *numbers in listed)

    told: dict[str, Told] = {}
    waiting: dict[str, tuple[Told, float]] = {}
    for hosts, listed in found.get("told", ()):
        told |= dict.fromkeys(map(str, hosts), routes(listed))
    for hosts, listed, since in found.get("waiting", ()):
        waiting |= dict.fromkeys(map(str, hosts), (routes(listed), float(since)))
    stepped = {str(host): float(at) for host, at in found.get("stepped", {}).items()}
    return Kept(told, found.get("held", False) is True, waiting, stepped)


def _port(value: Any) -> PortId:
    switch, number = value
    return PortId(str(switch), int(number))


def _epoch(value: Any) -> int:
    epoch = int(value)
    if not 0 <= epoch <= LARGEST_EPOCH:
        raise ValueError(f"an epoch of {epoch}")
    return epoch


def _ns(value: Any) -> int:
    ns = int(value)
    if ns <= 0:
        raise ValueError(f"a delay of {ns} ns")
    return ns
