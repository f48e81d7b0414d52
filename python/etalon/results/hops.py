# SPDX-License-Identifier: MIT OR Apache-2.0
"""Hops through networks of circuits, from the table `hops`, and the bandwidth that they cost."""

from __future__ import annotations

import polars as pl


def by_class(hops: pl.DataFrame) -> pl.DataFrame:
    """One row a class: packets, bytes, hops (mean), most (hops), tax."""
    between = hops.filter(pl.col("hops") > 0)
    sums = between.group_by("class", maintain_order=True).agg(
        pl.col("packets").sum(),
        pl.col("bytes").sum(),
        (pl.col("packets") * pl.col("hops")).sum().alias("passed"),
        (pl.col("bytes") * pl.col("hops")).sum().alias("carried"),
        pl.col("hops").max().alias("most"),
    )
    return sums.select(
        "class",
        "packets",
        "bytes",
        (pl.col("passed") / pl.col("packets")).alias("hops"),
        "most",
        (pl.col("carried") / pl.col("bytes") - 1).alias("tax"),
    )


def tax(hops: pl.DataFrame) -> float | None:
    """The bandwidth tax of all classes together; None if nothing went from rack to rack."""
    rows = by_class(hops)
    arrived = int(rows["bytes"].sum())
    carried = float((rows["bytes"] * (1 + rows["tax"])).sum())
    return carried / arrived - 1 if arrived else None
