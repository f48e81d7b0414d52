# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is published: each host's document, its epoch and version (docs/otcp-protocol.md)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from etalon.plan.otcp.equations import Parameters

US = 1_000
MOST_ROUTES = 4096
"""Routes in a document: the protocol's bound."""


@dataclass(frozen=True, slots=True)
class Route:
    """The parameters towards a prefix, as the protocol has them: times in us, rounded up; windows in segments."""

    prefix: str
    rto_min_us: int
    rto_init_us: int
    max_cwnd: int
    initial_cwnd: int
    initial_rwnd: int
    _text: list[str] = field(default_factory=list, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, prefix: str, parameters: Parameters) -> Route:
        """Bounded parameters as a route."""
        return cls(
            prefix,
            -(-parameters.rto_min_ns // US),
            -(-parameters.rto_init_ns // US),
            parameters.max_cwnd,
            parameters.initial_cwnd,
            parameters.initial_rwnd,
        )

    def fields(self) -> dict[str, str | int]:
        """What the protocol has of it, by name."""
        return {name: getattr(self, name) for name in FIELDS}

    def to_json(self) -> str:
        """The route as an object, written once: many documents hold it."""
        if not self._text:
            self._text.append(json.dumps(self.fields(), separators=(",", ":")))
        return self._text[0]


FIELDS = ("prefix", "rto_min_us", "rto_init_us", "max_cwnd", "initial_cwnd", "initial_rwnd")
"""Of a route, in the protocol's order."""


@dataclass(frozen=True)
class Document:
    """A host's routes and their place in the order of documents."""

    host: str
    epoch: int
    version: int
    lifetime_s: int
    routes: tuple[Route, ...]
    routes_json: str

    @property
    def id(self) -> str:
        """The event's id: EPOCH.VERSION."""
        return f"{self.epoch}.{self.version}"

    def to_json(self) -> str:
        """The document's one line."""
        head = {
            "host": self.host,
            "epoch": self.epoch,
            "version": self.version,
            "lifetime_s": self.lifetime_s,
        }
        return f'{json.dumps(head, separators=(",", ":"))[:-1]},"routes":{self.routes_json}}}'


@dataclass
class Publication:
    """The newest document of each host. An epoch is one life of the controller; versions grow within it."""

    epoch: int
    lifetime_s: int = 60
    version: int = 0
    documents: dict[str, Document] = field(default_factory=dict)

    def update(self, routes: Mapping[str, tuple[Route, ...]]) -> set[str]:
        """Takes what each host is told; returns the hosts whose document changed.

        A host that had routes and is no more among them gets a document without routes, so that it goes back to its own.
        """
        wanted = {host: routes.get(host, ()) for host in (*self.documents, *routes)}
        changed = {
            host
            for host, listed in wanted.items()
            if host not in self.documents
            or (self.documents[host].routes is not listed and self.documents[host].routes != listed)
        }
        if not changed:
            return changed
        self.version += 1
        written: dict[int, str] = {}  # hosts that are told the same share one tuple
        for host in changed:
            listed = wanted[host]
            if id(listed) not in written:
                written[id(listed)] = f"[{','.join(route.to_json() for route in listed)}]"
            self.documents[host] = Document(
                host, self.epoch, self.version, self.lifetime_s, listed, written[id(listed)]
            )
        return changed
