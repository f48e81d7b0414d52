# SPDX-License-Identifier: MIT OR Apache-2.0
"""Networks for the tests: trees of racks below two aggregation switches."""

from __future__ import annotations

from ipaddress import ip_address

from etalon_otcp.network import Host, Known, Link, Network, Port, PortId, Source

GBPS = 1_000_000_000
US = 1_000


def known(value: int, source: Source = Source.FILE) -> Known:
    return Known(value, source)


def tables(*switches: str, network: Network | None = None) -> str:
    """The controller's file: switches with datapath ids from 1 on, and the hosts of a network."""
    text = "".join(
        f'[[switch]]\nname = "{name}"\ndpid = "{dpid:x}"\n' for dpid, name in enumerate(switches, 1)
    )
    for name, host in network.hosts.items() if network else ():
        text += f'[[host]]\nname = "{name}"\naddresses = ["{host.addresses[0]}"]\n'
    return text


def tables_of(network: Network) -> str:
    """The tables of all switches and hosts of a network."""
    return tables(*sorted({place.switch for place in network.ports}), network=network)


def tree(
    racks: int = 2,
    hosts: int = 2,
    uppers: int = 2,
    host_us: float = 100,
    upper_us: tuple[float, ...] = (200, 300),
    rate: int = GBPS,
    queue: int = 90_000,
    spread_ns: int = 0,
) -> Network:
    """`racks` ToRs t1.., each with `hosts` hosts h<rack>-<n> at 10.0.<rack>.<n>, below `uppers` switches a1..

    The delay to upper switch i is `upper_us[i]`; `spread_ns` is added to each host's delay, times its number.
    """
    ports: dict[PortId, Port] = {}
    links: dict[PortId, Link] = {}
    found: dict[str, Host] = {}

    def port(switch: str, number: int) -> PortId:
        place = PortId(switch, number)
        ports[place] = Port(place, f"{switch}-{number}", known(rate), known(queue))
        return place

    for rack in range(1, racks + 1):
        for upper in range(1, uppers + 1):
            below, above = port(f"t{rack}", upper), port(f"a{upper}", rack)
            delay = known(round(upper_us[upper - 1] * US))
            links[below] = Link(below, above, delay)
            links[above] = Link(above, below, delay)
        for number in range(1, hosts + 1):
            place = port(f"t{rack}", uppers + number)
            name = f"h{rack}-{number}"
            address = ip_address(f"10.{rack // 256}.{rack % 256}.{number}")
            delay = known(round(host_us * US) + spread_ns * number)
            found[name] = Host(name, (address,), place, delay)
    return Network(ports, links, found)


def without(network: Network, *dead: PortId) -> Network:
    """The network after ports have gone down: their links in both directions are not there."""
    gone = set(dead)
    links = {
        port: link
        for port, link in network.links.items()
        if link.source not in gone and link.target not in gone
    }
    hosts = {name: host for name, host in network.hosts.items() if host.port not in gone}
    return Network(network.ports, links, hosts)


def fat_tree(k: int = 16, hosts: int = 8, spread_ns: int = 100) -> Network:
    """k pods of k/2 edge and k/2 aggregation switches below (k/2)^2 cores; `hosts` at each edge switch.

    Delays of links differ by up to a hundred times `spread_ns`, as measured ones do.
    """
    ports: dict[PortId, Port] = {}
    links: dict[PortId, Link] = {}
    found: dict[str, Host] = {}

    def port(switch: str, number: int) -> PortId:
        place = PortId(switch, number)
        ports[place] = Port(place, f"{switch}-{number}", known(GBPS), known(90_000))
        return place

    def join(below: PortId, above: PortId) -> None:
        delay = known(20_000 + len(links) * 37 % 101 * spread_ns)
        links[below] = Link(below, above, delay)
        links[above] = Link(above, below, delay)

    half = k // 2
    for pod in range(k):
        for edge in range(half):
            name = f"e{pod}-{edge}"
            for upper in range(half):
                join(port(name, 1 + upper), port(f"a{pod}-{upper}", 1 + edge))
            for number in range(hosts):
                place = port(name, 1 + half + number)
                address = ip_address(f"10.{pod}.{edge}.{number + 2}")
                host = f"h{pod}-{edge}-{number}"
                mac = f"02:00:00:{pod:02x}:{edge:02x}:{number:02x}"
                found[host] = Host(host, (address,), place, known(10_000), mac)
        for upper in range(half):
            for core in range(half):
                above = port(f"c{upper}-{core}", 1 + pod)
                join(port(f"a{pod}-{upper}", 1 + half + core), above)
    return Network(ports, links, found)
