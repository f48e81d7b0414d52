# SPDX-License-Identifier: MIT OR Apache-2.0
"""Hops through networks of circuits, from the table `hops`, and the bandwidth that they cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

Relayed = Mapping[str, Any]
"""Of RotorLB: the class that it carries, `packets` that came to hosts which relay them, `delivered_packets` that came from
there to their destination, and the bytes of both."""


def by_class(hops: pl.DataFrame, relayed: Relayed | None) -> pl.DataFrame:
    """One row a class: packets, bytes, hops (mean), most (hops), tax."""
    between = hops.filter(pl.col("hops") > 0)
    sums = between.group_by("class", maintain_order=True).agg(
        pl.col("packets").sum(),
        pl.col("bytes").sum(),
        (pl.col("packets") * pl.col("hops")).sum().alias("passed"),
        (pl.col("bytes") * pl.col("hops")).sum().alias("carried"),
        pl.col("hops").max().alias("most"),
    )
    if relayed is not None:
        # One hop each: to a host that was not its destination, which counts with the hop from there.
        is_theirs = (pl.col("class") == relayed["class"]).cast(pl.Int64)
        for name, passed in (("packets", "passed"), ("bytes", "carried")):
            later = relayed[f"delivered_{name}"] - relayed[name]
            sums = sums.with_columns(
                pl.col(name) - is_theirs * relayed[name], pl.col(passed) + is_theirs * later
            )
    return sums.select(
        "class",
        "packets",
        "bytes",
        (pl.col("passed") / pl.col("packets")).alias("hops"),
        "most",
        (pl.col("carried") / pl.col("bytes") - 1).alias("tax"),
    )


def tax(hops: pl.DataFrame, relayed: Relayed | None) -> float | None:
    """The bandwidth tax of all classes together; None if nothing went from rack to rack."""
    rows = by_class(hops, relayed)
    arrived = int(rows["bytes"].sum())
    carried = float((rows["bytes"] * (1 + rows["tax"])).sum())
    return carried / arrived - 1 if arrived else None
