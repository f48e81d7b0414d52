# SPDX-License-Identifier: MIT OR Apache-2.0
"""The `[network]` table: a class for each kind of network, in a file of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from etalon.plan.base import Kinds
from etalon.plan.network.base import Racks
from etalon.plan.network.dumbbell import Dumbbell
from etalon.plan.network.leaf_spine import LeafSpine
from etalon.plan.network.ocs import Ocs
from etalon.plan.network.rdcn import CircuitNetwork, Network
from etalon.plan.network.switched import Switched
from etalon.plan.network.tree import Tree

__all__ = [
    "NETWORKS",
    "AnyNetwork",
    "CircuitNetwork",
    "Dumbbell",
    "LeafSpine",
    "Network",
    "Ocs",
    "Racks",
    "Switched",
    "Tree",
]

NETWORKS = Kinds(
    "rdcn",
    {"rdcn": Network, "dumbbell": Dumbbell, "tree": Tree, "leaf-spine": LeafSpine, "ocs": Ocs},
)

if TYPE_CHECKING:
    AnyNetwork: TypeAlias = Racks
else:
    AnyNetwork = NETWORKS.annotation()
