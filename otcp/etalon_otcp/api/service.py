# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the API's paths share."""

from __future__ import annotations

from collections import Counter
from ipaddress import ip_network
from typing import Annotated

from fastapi import Path, Request
from starlette.exceptions import HTTPException

from etalon_otcp import descriptors
from etalon_otcp.api.auth import NOBODY_ELSE, Identity, Tokens
from etalon_otcp.api.events import Hub
from etalon_otcp.api.limits import Connections
from etalon_otcp.config import NAME
from etalon_otcp.controller import Controller
from etalon_otcp.measuring import Measuring
from etalon_otcp.publication import Document
from etalon_otcp.rate import Rate

Host = Annotated[str, Path(pattern=NAME)]


class Service:
    """What the paths share: who may ask how often, and who listens."""

    def __init__(self, controller: Controller, measuring: Measuring) -> None:
        config = controller.config.api
        self.controller = controller
        self.measuring = measuring
        self.tokens = Tokens(config.tokens) if config.tokens else None
        self.hub = Hub()
        self.requests: Counter[int] = Counter()
        most = descriptors.most_connections(config.connections)
        self.connections = Connections(most, config.connections_of_one)
        self._rate = Rate(config.requests_per_minute, 60.0)
        self._strangers = Rate(config.requests_per_minute, 60.0)
        controller.told = self.hub.wake

    def identity(self, authorization: str) -> Identity | None:
        """Whose token a request shows; None for strangers."""
        if self.tokens is None:
            return NOBODY_ELSE
        kind, _, token = authorization.partition(" ")
        return self.tokens.who(token) if kind.lower() == "bearer" and token else None

    def wait_s(self, who: Identity | None, address: str) -> float:
        """Counts a request, of a token or else of a stranger's address; how long that one has to wait, 0 if it need not."""
        if self.tokens is None:
            return 0.0
        return self._rate.wait_s(str(who)) if who else self._strangers.wait_s(_network(address))

    def who(self, request: Request) -> Identity:
        """Who asks. Raises HTTPException 401."""
        identity: Identity | None = request.state.identity
        if identity is None:
            refuse = {"WWW-Authenticate": "Bearer"}
            raise HTTPException(401, "a token that the controller knows is needed", refuse)
        return identity

    def operator(self, request: Request) -> Identity:
        """An operator. Raises HTTPException 403 for a host."""
        identity = self.who(request)
        if not identity.operator:
            raise HTTPException(403, "this is for operators")
        return identity

    def of_host(self, request: Request, host: Host) -> Identity:
        """The host itself, or an operator. Raises HTTPException 403, 404."""
        identity = self.who(request)
        if not identity.operator and identity.name != host:
            raise HTTPException(403, "this is another host's")
        if host not in self.controller.topology.hosts_given:
            raise HTTPException(404, f"there is no host {host}")
        return identity

    @property
    def complaint(self) -> str:
        """What is wrong with the tokens file; empty if nothing is."""
        return self.tokens.complaint if self.tokens else ""

    def document(self, host: str) -> Document | None:
        """A host's newest document; None before the network has settled."""
        return self.controller.view.documents.get(host)


def _network(address: str) -> str:
    """A stranger's IPv4 address, or the first 64 bits of one of IPv6: each has as many addresses as it likes below them."""
    return str(ip_network(f"{address}/64", strict=False)) if ":" in address else address
