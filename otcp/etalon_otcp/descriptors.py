# SPDX-License-Identifier: MIT OR Apache-2.0
"""How many files and connections the system lets the controller have open, and how they are shared out."""

from __future__ import annotations

import logging
import resource

LOG = logging.getLogger("etalon_otcp")
RESERVED = 512
"""Descriptors that the API leaves to switches, probes and files."""


def raise_limit() -> int:
    """Takes as many descriptors as an ordinary process may; how many that are."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def most_connections(wanted: int) -> int:
    """How many connections the API may have at a time: so many, or what the system leaves it."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max(soft - RESERVED, soft // 2)
    if soft != resource.RLIM_INFINITY and most < wanted:
        LOG.warning(
            "the system allows %d descriptors, and so %d connections at a time instead of %d: raise LimitNOFILE",
            soft, most, wanted,
        )  # fmt: skip
        return most
    return wanted
