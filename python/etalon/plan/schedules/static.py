# SPDX-License-Identifier: MIT OR Apache-2.0
"""Graphs that stay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from etalon import graphs
from etalon.circuits import Circuits
from etalon.errors import PlanError
from etalon.graphs import Graph
from etalon.plan.base import said_of_file
from etalon.plan.network import Ocs
from etalon.plan.schedules.rotation import Rotation


class Static(Rotation):
    """Circuits that stay: a random regular graph, a folded Clos network, or a graph from a file."""

    about: ClassVar = (
        "a graph that never changes: random and regular, a folded Clos network, or from a file"
    )
    which: ClassVar = 'of kind "static"'
    kind: Literal["static"] = "static"
    """A graph."""
    graph: Literal["regular", "clos"] = "regular"
    """A random graph with `network.circuits.switches` neighbours per rack, or a folded Clos network."""
    ports: int = Field(default=12, strict=True, ge=2, le=256)
    """Ports of the switches of a folded Clos network (k); it has k pods of k / 2 racks."""
    oversubscription: int = Field(default=1, strict=True, ge=1, le=64)
    """Ratio of a ToR switch's ports down to its ports up."""
    file: str | None = None
    """A file with another graph: one line per node, with its neighbours. Nodes after the racks are switches without
    hosts. The resolved plan contains the graph instead."""
    neighbours: tuple[tuple[int, ...], ...] = ()
    """Another graph: the neighbours of each node."""

    def net(self, network: Ocs, seed: int) -> Circuits:
        """The graph as circuits with one slice."""
        return graphs.as_circuits(self._graph(network, seed))

    def _graph(self, network: Ocs, seed: int) -> Graph:
        if self.neighbours:
            return graphs.given(self.neighbours, network.racks)
        if self.graph == "regular":
            return graphs.regular(network.racks, network.circuits.switches, seed)
        return graphs.clos(self.ports, self.oversubscription)

    def wrong(self, network: Ocs) -> Iterator[PlanError]:
        """That the graph has other racks, or uplinks."""
        try:
            graph = self._graph(network, 1)
        except PlanError as error:
            yield PlanError(str(error), key="schedule")
            return
        if graph.racks != network.racks:
            yield PlanError(
                f"the graph has {graph.racks} racks, not {network.racks}",
                key="network.racks",
                value=network.racks,
            )
        switches = network.circuits.switches
        # A plan that is read back has every key.
        is_default = switches == type(network.circuits).model_fields["switches"].default
        if graph.uplinks != switches and not is_default:
            yield PlanError(
                f"the graph needs {graph.uplinks} uplinks, not {switches}; leave it out",
                key="network.circuits.switches",
                value=switches,
            )


def with_graph(schedule: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The table of a static schedule with what its file holds in the file's place."""
    made = dict(schedule)
    name = made.pop("file")
    if "neighbours" in made:
        raise PlanError(
            "the graph is given already, by neighbours", key="schedule.file", value=name
        )
    try:
        return made | {"neighbours": [list(row) for row in graphs.load(folder / name).neighbours]}
    except PlanError as error:
        raise said_of_file(error, name, "schedule.file") from None
