# SPDX-License-Identifier: MIT OR Apache-2.0
"""The `[routing]` table: how packets of each class find their way through a network of circuits. A new kind is a class in a
file of its own and a line in `ways.py`."""

from __future__ import annotations

from etalon.plan.routing.base import Way
from etalon.plan.routing.table import CLASSES, Routing, with_tables
from etalon.plan.routing.ways import WAYS

__all__ = ["CLASSES", "WAYS", "Routing", "Way", "with_tables"]
