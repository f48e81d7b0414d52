# SPDX-License-Identifier: MIT OR Apache-2.0
"""The controller's file: where it listens, what it is told of the network, how it measures."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from etalon import files
from etalon.plan.base import Table
from etalon.plan.explain import build
from etalon.plan.otcp import equations
from etalon.plan.otcp.bounds import Bounds
from etalon.units import MS, Duration, Rate, Size, Time, problem, shown
from etalon_otcp import groups, routes
from etalon_otcp.delays import Calibrate, Statistic
from etalon_otcp.paths import Policy
from etalon_otcp.prefixes import Subnet
from etalon_otcp.rollout import Manner, share
from etalon_otcp.seats import Policy as SeatPolicy
from etalon_otcp.topology import Given, KnownHost

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"
"""Names of switches and hosts: the protocol's."""
HARDWARE = r"^([0-9a-f]{2}:){5}[0-9a-f]{2}$"


def like(pattern: str, expected: str) -> BeforeValidator:
    """Text of a form that no general sentence describes."""

    def check(value: Any) -> Any:
        if isinstance(value, str) and not re.fullmatch(pattern, value):
            raise problem(f"{shown(value)} must be {expected}")
        return value

    return BeforeValidator(check)


Name = Annotated[
    str, like(NAME, "1 to 63 letters, digits and . _ -, the first one a letter or a digit")
]
Window = Annotated[int, Field(strict=True, ge=1, le=65_535)]


class Listen(Table):
    """An address to listen at, and TLS: a certificate and its key (PEM), and the CA whose clients are let in."""

    listen: str = "127.0.0.1:0"
    certificate: Path | None = None
    key: Path | None = None
    client_ca: Path | None = None
    plain_text: bool = False
    """Whether it may listen beyond loopback without a certificate: only where the network is closed."""

    @field_validator("listen")
    @classmethod
    def _place(cls, value: str) -> str:
        host, colon, port = value.rpartition(":")
        good = colon and host and port.isdigit() and int(port) < 65536
        if not good:
            raise problem(
                f'{shown(value)} is no address; write it like "127.0.0.1:6653" or "[::1]:6653"'
            )
        try:
            (IPv6Address if host.startswith("[") else IPv4Address)(host.strip("[]"))
        except ValueError:
            raise problem(f"{shown(host)} is no IP address") from None
        return value

    @model_validator(mode="after")
    def _pair(self) -> Listen:
        if (self.certificate is None) != (self.key is None):
            raise problem("certificate and key go together")
        if self.client_ca and not self.certificate:
            raise problem("client_ca needs certificate and key")
        return self

    @property
    def host(self) -> str:
        """The IP address."""
        return self.listen.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """The TCP port."""
        return int(self.listen.rpartition(":")[2])

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        return (IPv6Address if ":" in self.host else IPv4Address)(self.host).is_loopback


class OpenFlow(Listen):
    """Where switches connect."""

    listen: str = "127.0.0.1:6653"
    packets_per_second: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] = 1_000
    """Of each switch, in bursts of as many: frames that it hands in, besides the answers to probes. More are dropped."""


class Api(Listen):
    """Where hosts and operators ask. Without tokens it listens on loopback only."""

    listen: str = "127.0.0.1:8443"
    tokens: Path | None = None
    lifetime: Duration = 60_000 * MS
    """How long hosts keep what they were told when the controller is gone."""
    requests_per_minute: Annotated[int, Field(strict=True, ge=1)] = 120
    """Of each token."""
    connections: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] = 16_384
    """At a time, of hosts and operators; fewer if the system lets the controller have fewer descriptors."""
    connections_of_one: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] = 256
    """At a time, from one address."""

    @field_validator("lifetime")
    @classmethod
    def _in_seconds(cls, value: int) -> int:
        if value % 1_000_000_000 or not 5 <= value // 1_000_000_000 <= 3600:
            raise problem('a lifetime is whole seconds from "5s" to "3600s"')
        return value


class Measure(Table):
    """How delays are measured. The default is the most exact; the paper: calibrate = "echo", statistic = "mean"."""

    calibrate: Calibrate = Calibrate.LOOP
    statistic: Statistic = Statistic.MIN
    samples: Annotated[int, Field(strict=True, ge=1, le=10_000)] = 100
    gap: Time = 1 * MS
    """Between probes."""
    longest: Duration = 20_000 * MS
    """A measurement of everything takes about so long at most: where there is much to measure, pauses are shorter."""
    watch: Duration = 1_000 * MS
    """Each link is probed so often; one that is silent three times is down."""
    again: Time = 0
    """All is measured again so often; 0: only what is new."""


def _alpha(value: Any) -> Any:
    whole = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 1_000_000
    if not (whole or value == "flows"):
        raise problem(f'{shown(value)} must be a whole number from 1 to 1000000, or "flows"')
    return value


class Tcp(Table):
    """Equation 5's alpha, and the segment size in bytes."""

    alpha: Annotated[int | Literal["flows"], BeforeValidator(_alpha)] = equations.ALPHA
    """A number, or "flows": counted from switches' flow entries (which then must be one for each TCP flow)."""
    mss: Annotated[int, Field(strict=True, ge=88, le=65_495)] = equations.MSS


class Limits(Table):
    """Bounds narrower than the protocol's."""

    rto_min: tuple[Duration, Duration] = (1 * MS, 1_000 * MS)
    rto_init: tuple[Duration, Duration] = (1 * MS, 3_000 * MS)
    max_cwnd: tuple[Window, Window] = (1, 65_535)
    initial_cwnd: tuple[Window, Window] = (1, 65_535)

    @field_validator("rto_min", "rto_init", "max_cwnd", "initial_cwnd")
    @classmethod
    def _ordered(cls, value: tuple[int, int]) -> tuple[int, int]:
        if value[0] > value[1]:
            raise problem("the first bound is above the second")
        return value

    @model_validator(mode="after")
    def _within(self) -> Limits:
        if self.rto_min[0] < 1 * MS or self.rto_min[1] > 1_000 * MS:
            raise problem('rto_min is from "1ms" to "1s" at most')
        if self.rto_init[0] < 1 * MS or self.rto_init[1] > 3_000 * MS:
            raise problem('rto_init is from "1ms" to "3s" at most')
        return self

    def bounds(self) -> Bounds:
        """For the equations' results."""
        return Bounds(*self.rto_min, *self.rto_init, *self.max_cwnd, *self.initial_cwnd)


class PortTable(Table):
    """What the operator knows of a port, by its name or OpenFlow number."""

    name: str | None = None
    number: Annotated[int, Field(strict=True, ge=1)] | None = None
    rate: Rate | None = None
    queue: Size | None = None

    @model_validator(mode="after")
    def _named(self) -> PortTable:
        if (self.name is None) == (self.number is None):
            raise problem("a port has a name or a number")
        return self


class SwitchTable(Table):
    """A switch: its datapath id in hexadecimal, and the prefixes that belong to its hosts alone."""

    name: Name
    dpid: Annotated[str, like(r"[0-9a-fA-F]{1,16}", "1 to 16 hexadecimal digits")]
    prefixes: tuple[str, ...] = ()
    port: tuple[PortTable, ...] = ()

    @model_validator(mode="after")
    def _ports(self) -> SwitchTable:
        _unique(f"switch {self.name}: port", [port.name or port.number for port in self.port])
        return self

    @field_validator("prefixes")
    @classmethod
    def _subnets(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            try:
                subnet = ip_network(text)
            except ValueError as error:
                raise problem(f"{shown(text)} is no prefix: {error}") from None
            if subnet.prefixlen == 0:
                raise problem(f"{shown(text)} is everything")
        return value


class HostTable(Table):
    """A host: its addresses, and, if wanted, where it is and its hardware address."""

    name: Name
    addresses: Annotated[tuple[IPv4Address | IPv6Address, ...], Field(min_length=1)]
    mac: (
        Annotated[
            str, like(HARDWARE, 'six pairs of small hexadecimal digits, like "02:00:00:00:00:01"')
        ]
        | None
    ) = None
    switch: str | None = None
    port: Annotated[int, Field(strict=True, ge=1)] | None = None

    @field_validator("addresses")
    @classmethod
    def _of_a_host(
        cls, value: tuple[IPv4Address | IPv6Address, ...]
    ) -> tuple[IPv4Address | IPv6Address, ...]:
        for one in value:
            scoped = isinstance(one, IPv6Address) and (one.scope_id or one.ipv4_mapped)
            nobodys = one.is_multicast or one.is_unspecified or one.is_loopback or one.is_link_local
            if scoped or nobodys or one == IPv4Address("255.255.255.255"):
                raise problem(f'"{one}" is no address by which others reach a host')
        return value

    @field_validator("mac")
    @classmethod
    def _unicast(cls, value: str | None) -> str | None:
        if value and (int(value[:2], 16) & 1 or not int(value.replace(":", ""), 16)):
            raise problem(f"{shown(value)} is no host's: it is a group's, or nobody's")
        return value

    @model_validator(mode="after")
    def _reachable(self) -> HostTable:
        if self.port is not None and self.switch is None:
            raise problem("a port needs its switch")
        return self


class NetworkTable(Table):
    """What holds for all ports and paths."""

    rate: Rate | None = None
    queue: Size | None = None
    equal: Time = routes.EQUAL_NS
    """Ways whose delays differ by no more are equal."""
    alike: Time = groups.ALIKE_NS
    """Hosts of a switch whose delays differ by no more are told the same."""
    forwarding: bool = True
    """Whether the controller writes flow entries and answers ARP for its hosts."""
    multipath: bool = True
    """Whether flows are spread over equal ways, by the hash of switches' select groups; else one of them carries all."""
    seats: SeatPolicy = SeatPolicy.FIRST
    """Which port counts where several answer for a host: `first`, `latest`, or `pinned` to the hardware address of the file, or
    the one that was seen first."""
    settle: Time = 3_000 * MS
    """At a start, how long it waits for the switches of this file before it publishes."""
    damping: Time = 5_000 * MS
    """The penalty of a port, or of a switch's connection, for going down halves in this time: after the third time within it,
    it is not used for a while, up to four times as long. 0: what flaps is used whenever it is up."""
    ovsdb: tuple[str, ...] = ()
    """Databases to ask for rates and queues: "unix:PATH" or "tcp:ADDRESS:PORT"."""


def _canary(value: Any) -> Any:
    names = isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)
    if not (names or (isinstance(value, str) and re.fullmatch(r"[0-9]{1,2}(\.[0-9]+)?%", value))):
        raise problem(f'{shown(value)} must be a list of hosts, or a share below 100 % like "5%"')
    return value


class RolloutTable(Table):
    """How what is new reaches hosts: all at once, if nothing is said."""

    canary: Annotated[tuple[str, ...] | str, BeforeValidator(_canary)] = ()
    """Hosts that are told first, or a share of all, such as "5%"."""
    wait: Duration = 600_000 * MS
    """How long the first hosts must have had what the others are then told."""
    step: Annotated[float, Field(gt=1, le=1000)] | None = None
    """No value changes by a larger factor at a time; what was not told yet begins at Linux's own values."""
    every: Duration = 10_000 * MS
    """Between two steps."""

    def manner(self, hosts: Iterable[str]) -> Manner:
        """For these hosts."""
        first = self.canary
        if isinstance(first, str):
            first = tuple(share(hosts, float(first[:-1]) / 100))
        return Manner(frozenset(first), self.wait / 1e9, self.step, self.every / 1e9)


class Config(Table):
    """All of it. Relative paths are relative to the file."""

    openflow: OpenFlow = OpenFlow()
    api: Api = Api()
    measure: Measure = Measure()
    tcp: Tcp = Tcp()
    bounds: Limits = Limits()
    network: NetworkTable = NetworkTable()
    rollout: RolloutTable = RolloutTable()
    switch: tuple[SwitchTable, ...] = ()
    host: tuple[HostTable, ...] = ()
    state: Path | None = None
    """Where epoch and measurements are kept, so that a restart needs no new ones."""
    audit: Path | None = None
    """Who asked for what, and what was told to whom, when: a JSON object a line."""

    @model_validator(mode="after")
    def _whole(self) -> Config:
        _unique("switch", [switch.name for switch in self.switch])
        _unique("dpid", [int(switch.dpid, 16) for switch in self.switch])
        _unique("host", [host.name for host in self.host])
        _unique("address", [address for host in self.host for address in host.addresses])
        _unique("mac", [host.mac for host in self.host if host.mac])
        _elsewhere(self.switch, self.host)
        if self.api.port and (self.api.host, self.api.port) == (
            self.openflow.host,
            self.openflow.port,
        ):
            raise problem(f"api.listen: {shown(self.api.listen)} is openflow.listen too")
        if self.audit and self.audit == self.state:
            raise problem(f"audit: {self.audit} is the state's file too")
        if isinstance(self.rollout.canary, str) and float(self.rollout.canary[:-1]) == 0:
            raise problem(
                "rollout.canary: 0 % names no host: expected a larger share, or no canary"
            )
        if isinstance(self.rollout.canary, tuple):
            for name in self.rollout.canary:
                if name not in {host.name for host in self.host}:
                    raise problem(f"rollout.canary: there is no host {shown(name)}")
        names = {switch.name for switch in self.switch}
        for host in self.host:
            if host.switch is not None and host.switch not in names:
                raise problem(f"host {host.name}: there is no switch {shown(host.switch)}")
        _apart(
            [
                (switch.name, subnet)
                for switch in self.switch
                for subnet in map(ip_network, switch.prefixes)
            ]
        )
        for name, at in (("openflow", self.openflow), ("api", self.api)):
            if not (at.is_loopback or at.certificate or at.plain_text):
                raise problem(
                    f"{name}.listen: {shown(at.listen)} would be plain text beyond this machine: expected "
                    f"{name}.certificate and key, or {name}.plain_text = true where the network is closed"
                )
        if not self.api.is_loopback and self.api.tokens is None:
            raise problem("api.listen: without api.tokens the API listens on loopback only")
        return self

    @classmethod
    def load(cls, path: Path) -> Config:
        """Reads a file.

        Raises:
            PlanError: a sentence with file, key, value and what was expected.
        """
        values = files.toml_of(path, "controller's file")
        return build(cls, _absolute(values, path.absolute().parent), file=str(path))

    @property
    def policy(self) -> Policy:
        """What the equations take from the file."""
        alpha = self.tcp.alpha if isinstance(self.tcp.alpha, int) else 1
        return Policy(alpha, self.tcp.mss, self.bounds.bounds())

    def dpids(self) -> dict[str, int]:
        """Datapath ids by switch."""
        return {switch.name: int(switch.dpid, 16) for switch in self.switch}

    def declared(self) -> dict[str, list[Subnet]]:
        """The prefixes of each switch's hosts."""
        return {
            switch.name: [ip_network(text) for text in switch.prefixes] for switch in self.switch
        }

    def ports_given(self) -> dict[tuple[str, str | int], Given]:
        """What the file says of ports."""
        return {
            (switch.name, port.name or port.number or 0): Given(port.rate, port.queue)
            for switch in self.switch
            for port in switch.port
        }

    def hosts_given(self) -> dict[str, KnownHost]:
        """The hosts by name."""
        return {
            host.name: KnownHost(
                host.name, host.addresses, host.mac or "", host.switch or "", host.port
            )
            for host in self.host
        }


def _unique(what: str, values: list[Any]) -> None:
    seen = set()
    for value in values:
        if value in seen:
            raise problem(f"{what} {value} is there twice")
        seen.add(value)


def _elsewhere(switches: tuple[SwitchTable, ...], hosts: tuple[HostTable, ...]) -> None:
    """Raises a problem if a host is at one switch and its address belongs to another's hosts."""
    for host, switch in itertools.product(hosts, switches):
        if host.switch in (None, switch.name):
            continue
        for address, subnet in itertools.product(host.addresses, map(ip_network, switch.prefixes)):
            if address in subnet:
                raise problem(
                    f"host {host.name}: {address} is in {subnet}, which is of the hosts of {switch.name}, not {host.switch}"
                )


def _apart(owned: list[tuple[str, IPv4Network | IPv6Network]]) -> None:
    ordered = sorted(owned, key=lambda entry: (entry[1].version, int(entry[1].network_address)))
    for (one, before), (other, after) in itertools.pairwise(ordered):
        if before.version == after.version and before.overlaps(after):
            raise problem(f"prefixes {before} of {one} and {after} of {other} overlap")


_PATHS = (
    ("state",),
    ("audit",),
    *((t, k) for t in ("api", "openflow") for k in ("certificate", "key", "client_ca", "tokens")),
)


def _absolute(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Paths of the file, from the file's folder."""
    for *tables, key in _PATHS:
        table = values
        for name in tables:
            table = table.get(name, {}) if isinstance(table, dict) else {}
        if isinstance(table, dict) and isinstance(table.get(key), str):
            table[key] = str(folder / table[key])
    return values
