# SPDX-License-Identifier: MIT OR Apache-2.0
"""What hosts would be told otherwise: by another controller's file on the network as it is, or once a roll-out goes on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Any

from etalon.errors import EtalonError
from etalon.units import counted
from etalon_otcp import groups
from etalon_otcp.config import Config
from etalon_otcp.network import Host, Known, Link, Network, Port, PortId, Source
from etalon_otcp.publication import FIELDS
from etalon_otcp.routes import Routes

Json = dict[str, Any]
Values = Mapping[str, Mapping[str, int]]
"""By prefix, by name."""


def network(topology: Json, links: list[Json], config: Config) -> Network:
    """The network that a controller sees (its `/v1/topology` and `/v1/links`), with rates, queues and hosts of another file."""
    given, ports, switches = config.ports_given(), {}, config.dpids()
    everywhere = config.network
    for switch in topology["switches"]:
        for found in switch["ports"]:
            place = PortId(switch["name"], found["number"])
            own = given.get((place.switch, found["name"]), given.get((place.switch, place.number)))
            rate = (own and own.rate_bps) or _measured(found["rate_bps"]) or everywhere.rate
            measured = _measured(found["queue_bytes"])
            queue = measured or (own and own.queue_bytes) or everywhere.queue
            if place.switch in switches:
                ports[place] = Port(place, found["name"], _known(rate), _known(queue))
    delays = {(link["source"], link["target"]): link["delay_us"]["value"] for link in links}
    by_name = {str(place): place for place in ports}
    joined = {
        by_name[source]: Link(by_name[source], by_name[target], Known(_ns(us), Source.LLDP))
        for (source, target), us in delays.items()
        if source in by_name and target in by_name
    }
    hosts, wanted = {}, config.hosts_given()
    for host in topology["hosts"]:
        place, name = PortId(host["switch"], host["port"]), host["name"]
        if name in wanted and place in ports:
            delay = Known(_ns(delays[str(place), name]), Source.ARP)
            hosts[name] = Host(name, wanted[name].addresses, place, delay, host["mac"])
    return Network(ports, joined, hosts)


def documents(seen: Network, config: Config) -> dict[str, Values]:
    """What the hosts of a network are told by a file.

    Raises:
        EtalonError: if the file counts flows, which only the running controller does.
    """
    if config.tcp.alpha == "flows":
        raise EtalonError(
            'tcp.alpha: "flows" are counted by the running controller only: expected a number to compare with'
        )
    routes = Routes(seen, config.network.equal)
    found = groups.compute(routes, config.policy, config.declared(), config.network.alike)
    return {
        host: values(route.fields() for route in listed) for host, listed in found.routes.items()
    }


def values(routes: Any) -> Values:
    """Routes as the API has them, by prefix."""
    return {
        route["prefix"]: {key: route[key] for key in FIELDS if key != "prefix"} for route in routes
    }


def differences(before: Mapping[str, Values], after: Mapping[str, Values]) -> list[Json]:
    """Hosts whose documents differ, those with the same differences together."""
    alike: dict[str, list[str]] = defaultdict(list)
    found: dict[str, list[Json]] = {}
    for host in sorted(before.keys() | after.keys()):
        changes = list(_changes(before.get(host, {}), after.get(host, {})))
        if changes:
            alike[repr(changes)].append(host)
            found[repr(changes)] = changes
    return [{"hosts": hosts, "changes": found[key]} for key, hosts in alike.items()]


def text(found: list[Json]) -> Iterator[str]:
    """For people."""
    if not found:
        yield "no host would be told anything else"
    for group in found:
        hosts = group["hosts"]
        yield f"{', '.join(hosts[:8])}{f' and {len(hosts) - 8} more' if len(hosts) > 8 else ''}:"
        for change in group["changes"]:
            yield f"  {change['prefix']:<20}{change['change']}"
    if found:
        yield counted(sum(len(group["hosts"]) for group in found), "host")


def _changes(before: Values, after: Values) -> Iterator[Json]:
    prefixes = before.keys() | after.keys()
    for prefix in sorted(prefixes, key=lambda p: (int(ip_address(p.split("/")[0])), p)):
        old, new = before.get(prefix), after.get(prefix)
        if old == new:
            continue
        if new is None:
            change = "no longer told"
        elif old is None:
            change = "new: " + ", ".join(f"{name} {value}" for name, value in new.items())
        else:
            change = ", ".join(f"{n} {old[n]} -> {new[n]}" for n in new if new[n] != old[n])
        yield {"prefix": prefix, "before": old, "after": new, "change": change}


def _measured(known: Json | None) -> int | None:
    """A value that no file gave."""
    return round(known["value"]) if known and known["source"] != Source.FILE else None


def _known(value: int | None) -> Known | None:
    return None if value is None else Known(value, Source.FILE)


def _ns(us: float) -> int:
    return round(us * 1000)
