"""The `[network]` table: a class for each kind of network, in a file of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from etalon.plan.base import Kinds
from etalon.plan.network.base import Racks
from etalon.plan.network.dumbbell import Dumbbell
from etalon.plan.network.rdcn import CircuitNetwork, Network

__all__ = ["NETWORKS", "AnyNetwork", "CircuitNetwork", "Dumbbell", "Network", "Racks"]

NETWORKS = Kinds("rdcn", {"rdcn": Network, "dumbbell": Dumbbell})

if TYPE_CHECKING:
    AnyNetwork: TypeAlias = Racks
else:
    AnyNetwork = NETWORKS.annotation()
