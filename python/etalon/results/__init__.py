# SPDX-License-Identifier: MIT OR Apache-2.0
"""Results: a run with its tables and numbers, and the folder that keeps it."""

from __future__ import annotations

from etalon.results.run import Run
from etalon.results.tables import TABLES

__all__ = ["TABLES", "Run"]
