# SPDX-License-Identifier: MIT OR Apache-2.0
"""Flows by size: under which size a flow counts, and the statistics of its group. Draws nothing."""

from __future__ import annotations

import polars as pl

MOST_SIZES = 50
"""Sizes of flows that have a point each."""


def size_of(rows: pl.LazyFrame) -> pl.Expr:
    """The size under which a row with the column `bytes` counts: its own, or, of more than 50 sizes, the next of four for
    each factor of ten."""
    sizes = rows.select(pl.col("bytes").n_unique()).collect(engine="streaming").item()
    if sizes <= MOST_SIZES:
        return pl.col("bytes")
    steps = (4 * pl.col("bytes").clip(lower_bound=1).log10()).ceil()
    return (10 ** (steps / 4)).ceil().cast(pl.Int64)


def mean(column: str) -> pl.Expr:
    """Of the values that there are."""
    return pl.col(column).mean()


def p50(column: str) -> pl.Expr:
    """Their median, one of them."""
    return pl.col(column).quantile(0.5, "nearest")


def p99(column: str) -> pl.Expr:
    """Their 99th percentile, one of them."""
    return pl.col(column).quantile(0.99, "nearest")
