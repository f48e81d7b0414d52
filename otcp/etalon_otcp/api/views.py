# SPDX-License-Identifier: MIT OR Apache-2.0
"""From what the controller computed to the API's documents."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

from etalon_otcp.api.models import (
    HealthModel,
    HostModel,
    KnownModel,
    LinkModel,
    PortModel,
    SwitchModel,
    TopologyModel,
)
from etalon_otcp.controller import Controller
from etalon_otcp.network import Known
from etalon_otcp.view import View


def topology(view: View, now: float) -> TopologyModel:
    """All that is up."""
    switches: dict[str, list[PortModel]] = {}
    for place, port in sorted(view.network.ports.items()):
        rate, queue = _known(port.rate_bps, now), _known(port.queue_bytes, now)
        model = PortModel(number=place.number, name=port.name, rate_bps=rate, queue_bytes=queue)
        switches.setdefault(place.switch, []).append(model)
    hosts = []
    for name, host in sorted(view.network.hosts.items()):
        document = view.documents.get(name)
        hosts.append(
            HostModel(
                name=name,
                addresses=[str(address) for address in host.addresses],
                switch=host.port.switch,
                port=host.port.number,
                mac=host.mac,
                version=document.version if document else None,
            )
        )
    listed = [SwitchModel(name=name, ports=ports) for name, ports in switches.items()]
    return TopologyModel(switches=listed, links=links(view, now), hosts=hosts)


def links(view: View, now: float) -> list[LinkModel]:
    """Links between switches, then those to hosts."""
    found = [
        (str(link.source), str(link.target), link.delay_ns, link.source)
        for _, link in sorted(view.network.links.items())
    ]
    found += [
        (str(host.port), name, host.delay_ns, host.port)
        for name, host in sorted(view.network.hosts.items())
    ]
    return [
        LinkModel(
            source=source,
            target=target,
            delay_us=_there(delay, now, 1e3),
            rate_bps=_known(view.network.ports[egress].rate_bps, now),
            queue_bytes=_known(view.network.ports[egress].queue_bytes, now),
        )
        for source, target, delay, egress in found
    ]


def route_of(view: View, source: str, target: str) -> dict[str, Any] | None:
    """The route of a host's document that a destination falls under: what the host was really told."""
    document, address = view.documents.get(source), view.network.hosts[target].addresses[0]
    if document is None:
        return None
    covering = [route for route in document.routes if address in ip_network(route.prefix)]
    if not covering:
        return None
    best = max(covering, key=lambda route: ip_network(route.prefix).prefixlen)
    return best.fields() | {"version": document.version}


def problems_of(controller: Controller, complaint: str) -> list[str]:
    """What operators should look at."""
    failures = complaint, controller.failure, controller.unsaved, controller.audit.failure
    with controller.lock:
        up = controller.connections.connected()
    return [
        *controller.view.problems,
        *controller.disputes,
        *(text for text in failures if text),
        *(
            f"switch {switch.name} is not connected"
            for switch in controller.config.switch
            if switch.name not in up
        ),
    ]


def health(controller: Controller, listeners: int, complaint: str, operator: bool) -> HealthModel:
    """The status; for operators with the reasons. `complaint` is about the tokens file."""
    view, problems = controller.view, problems_of(controller, complaint)
    status = "starting" if not view.settled else "problems" if problems else "ok"
    if not operator:
        return HealthModel(status=status)
    with controller.lock:
        up = controller.connections.connected()
    return HealthModel(
        status=status,
        problems=problems,
        epoch=controller.publication.epoch,
        version=controller.publication.version,
        switches=len(up),
        hosts=len(view.network.hosts),
        listeners=listeners,
    )


def _known(known: Known | None, now: float) -> KnownModel | None:
    return None if known is None else _there(known, now, 1)


def _there(known: Known, now: float, divisor: float) -> KnownModel:
    age = round(max(0.0, now - known.at), 1)
    return KnownModel(value=known.value / divisor, source=str(known.source), age_s=age)
