# SPDX-License-Identifier: MIT OR Apache-2.0
"""Prometheus' text format."""

from __future__ import annotations

import time
from collections.abc import Iterator

from etalon_otcp.api.events import Hub
from etalon_otcp.controller import Controller

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def text(controller: Controller, hub: Hub, requests: dict[int, int], problems: int) -> str:
    """All metrics. `requests` are counts of answers by status, `problems` how many there are."""
    return "".join(f"{line}\n" for line in _lines(controller, hub, requests, problems))


def _lines(
    controller: Controller, hub: Hub, requests: dict[int, int], problems: int
) -> Iterator[str]:
    events, view, now = controller.events, controller.view, time.time()
    with controller.lock:
        counters = dict(controller.prober.counters)
        switches = len(controller.connections.connected())
        unsteady = controller.connections.damped()
        waiting = len(controller.rollout.pending)
        damped, flaps = controller.damping.damped(), controller.damping.flaps
    yield from _one("switches", "gauge", "Switches that are connected", switches)
    yield from _one("hosts", "gauge", "Hosts that are found and measured", len(view.network.hosts))
    yield from _one("links", "gauge", "Directions of links that are up", len(view.network.links))
    yield from _one("problems", "gauge", "What operators should look at", problems)
    yield from _one("version", "gauge", "Newest version", controller.publication.version)
    yield from _one("epoch", "gauge", "This life of the controller", controller.publication.epoch)
    yield from _one("rollout_pending", "gauge", "Hosts still to be told what is new", waiting)
    yield from _one("listeners", "gauge", "Open event streams", hub.count())
    yield from _one("compute_milliseconds", "gauge", "Last computation", view.took_ms)
    age = now - events.last_measured if events.last_measured else float("nan")
    yield from _one("measurement_age_seconds", "gauge", "Since the last measurement", age)
    yield from _one("published_total", "counter", "Versions published", events.published)
    yield from _one("computed_total", "counter", "Computations", events.computed)
    yield from _one("computing_failed_total", "counter", "Computations that failed", events.failed)
    yield from _one("measurements_total", "counter", "Measurements", events.measurements)
    yield from _one("switches_lost_total", "counter", "Switches lost", events.switches_lost)
    refused = events.switches_refused
    yield from _one(
        "switches_refused_total", "counter", "Connections refused a switch's place", refused
    )
    yield from _one("port_changes_total", "counter", "Ports changed", events.ports_changed)
    yield from _one("port_flaps_total", "counter", "Ports that went down", flaps)
    yield from _one("ports_damped", "gauge", "Ports that flap, and count as down", damped)
    yield from _one(
        "switches_damped", "gauge", "Switches whose connection comes and goes", unsteady
    )
    yield from _one("pushed_total", "counter", "Documents pushed", hub.pushed)
    yield from _one("displaced_total", "counter", "Streams closed for newer ones", hub.displaced)
    yield from _head("frames_total", "counter", "Probes and frames, by what became of them")
    for name, count in sorted(counters.items()):
        yield f'etalon_otcp_frames_total{{what="{name}"}} {count}'
    yield from _head("dropped_total", "counter", "Messages that a switch sent beyond its rate")
    for (switch, kind), count in sorted(controller.floods.dropped().items()):
        yield f'etalon_otcp_dropped_total{{switch="{switch}",what="{kind}"}} {count}'
    yield from _head("requests_total", "counter", "HTTP answers by status")
    for status, count in sorted(requests.items()):
        yield f'etalon_otcp_requests_total{{status="{status}"}} {count}'
    yield from _head("link_delay_seconds", "gauge", "One-way delay of a link")
    for link in view.network.links.values():
        labels = f'source="{link.source}",target="{link.target}"'
        yield f"etalon_otcp_link_delay_seconds{{{labels}}} {link.delay_ns.value / 1e9:.9f}"


def _head(name: str, kind: str, text: str) -> Iterator[str]:
    yield f"# HELP etalon_otcp_{name} {text}."
    yield f"# TYPE etalon_otcp_{name} {kind}"


def _one(name: str, kind: str, text: str, value: float) -> Iterator[str]:
    yield from _head(name, kind, text)
    yield f"etalon_otcp_{name} {value}"
