# SPDX-License-Identifier: MIT OR Apache-2.0
"""From a network to what hosts and switches are told. After a change only what it touches is computed again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from etalon_otcp import groups
from etalon_otcp.config import Config
from etalon_otcp.forwarding import Forwarding, Table
from etalon_otcp.groups import Published
from etalon_otcp.network import Network
from etalon_otcp.paths import Policy
from etalon_otcp.routes import Routes


@dataclass(frozen=True)
class Computed:
    """Ways, what hosts are told, and switches' entries (none if something else forwards)."""

    routes: Routes
    published: Published
    tables: Mapping[str, Table]


class Computing:
    """Keeps what was computed last, to begin from it."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._forget()

    def compute(self, network: Network, policy: Policy, present: Mapping[str, Table]) -> Computed:
        """All for a network; `present` are the entries that switches have."""
        try:
            return self._compute(network, policy, present)
        except BaseException:
            self._forget()  # the next begins from nothing
            raise

    def _forget(self) -> None:
        self._routes: Routes | None = None
        self._published: Published | None = None
        self._forwarding = Forwarding(self._config.network.multipath)

    def _compute(self, network: Network, policy: Policy, present: Mapping[str, Table]) -> Computed:
        told = self._config.network
        routes = Routes(network, told.equal, self._routes)
        published = groups.compute(
            routes, policy, self._config.declared(), told.alike, self._published
        )
        tables = self._forwarding.tables(routes, present) if told.forwarding else {}
        self._routes, self._published = routes, published
        return Computed(routes, published, tables)
