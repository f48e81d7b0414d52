# SPDX-License-Identifier: MIT OR Apache-2.0
"""The API's documents, for OpenAPI and for the code that answers."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """A document: every field is known."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class RouteModel(Model):
    """Parameters towards a prefix."""

    prefix: str
    rto_min_us: int
    rto_init_us: int
    max_cwnd: int
    initial_cwnd: int
    initial_rwnd: int


class RoutesModel(Model):
    """A host's document (docs/otcp-protocol.md)."""

    host: str
    epoch: int
    version: int
    lifetime_s: int
    routes: list[RouteModel]


class ErrorModel(Model):
    """What went wrong, in one sentence."""

    error: str


class KnownModel(Model):
    """A value, where it comes from, and how old it is."""

    value: float
    source: str
    age_s: float


class LinkModel(Model):
    """One direction of a link: egress port to the neighbour's port, or a host."""

    source: str
    target: str
    delay_us: KnownModel
    rate_bps: KnownModel | None
    queue_bytes: KnownModel | None


class PortModel(Model):
    """A port that is up."""

    number: int
    name: str
    rate_bps: KnownModel | None
    queue_bytes: KnownModel | None


class SwitchModel(Model):
    """A switch that is connected."""

    name: str
    ports: list[PortModel]


class HostModel(Model):
    """A host: where it is, and which document is its newest."""

    name: str
    addresses: list[str]
    switch: str
    port: int
    mac: str
    version: int | None


class TopologyModel(Model):
    """All that is up."""

    switches: list[SwitchModel]
    links: list[LinkModel]
    hosts: list[HostModel]


class MeasureModel(Model):
    """Whether measuring goes on, how many measurements there were, and when the last one ended (seconds since 1970)."""

    running: bool
    finished: int
    last_finished: float


class RolloutModel(Model):
    """Who is told first, whether others are held back, and hosts that are still to be told something."""

    canaries: list[str]
    held: bool
    pending: list[str]


class HealthModel(Model):
    """`ok`, `starting` or `problems`; operators see which, and more."""

    status: str
    problems: list[str] | None = None
    epoch: int | None = None
    version: int | None = None
    switches: int | None = None
    hosts: int | None = None
    listeners: int | None = None
