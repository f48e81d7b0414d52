# SPDX-License-Identifier: MIT OR Apache-2.0
"""Plans: everything about an experiment, as the user writes it."""

from __future__ import annotations

from etalon.plan.plan import Plan

__all__ = ["Plan"]
