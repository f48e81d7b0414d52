# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a controller shows of itself: what it computed last, and how often what happened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from etalon_otcp.network import Network
from etalon_otcp.paths import Policy
from etalon_otcp.publication import Document
from etalon_otcp.routes import Routes


@dataclass(frozen=True)
class View:
    """What was computed last, as one: never changed, so that anybody may read it.

    `at` is when (seconds since 1970), `took_ms` how long from waking to published.
    """

    network: Network
    routes: Routes
    policy: Policy
    documents: Mapping[str, Document]
    problems: tuple[str, ...]
    settled: bool
    at: float = 0.0
    took_ms: float = 0.0


@dataclass
class Events:
    """How often what happened, for metrics."""

    switches_connected: int = 0
    switches_lost: int = 0
    switches_refused: int = 0
    ports_changed: int = 0
    computed: int = 0
    failed: int = 0
    published: int = 0
    measurements: int = 0
    last_measured: float = 0.0
