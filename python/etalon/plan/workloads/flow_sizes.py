# SPDX-License-Identifier: MIT OR Apache-2.0
"""Published distributions of flow sizes, as points of their cumulative distribution functions.

Between two points a size is uniformly distributed. The points are those read off the papers' figures that simulations
commonly use: HKUST's TrafficGenerator (github.com/HKUST-SING/TrafficGenerator, conf/DCTCP_CDF.txt and conf/VL2_CDF.txt).
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class FlowSizes:
    """A distribution of flow sizes."""

    name: str
    description: str
    points: tuple[tuple[int, float], ...]
    """Bytes, and the share of flows that are not longer: from (0, 0) to share 1, both growing."""
    steps: bool = False
    """Sizes are those of the points, none between them."""

    @property
    def is_distribution(self) -> bool:
        """Whether the points are those of one."""
        grow = all(
            before < after and low < high for (before, low), (after, high) in pairwise(self.points)
        )
        return grow and len(self.points) > 1 and self.points[-1][1] == 1

    @property
    def mean(self) -> float:
        """The mean in bytes."""
        return sum(
            (high - low) * (after if self.steps else (before + after) / 2)
            for (before, low), (after, high) in pairwise(self.points)
        )

    def at(self, share: float) -> int:
        """The size in bytes that this share of flows, 0 to 1, does not exceed; at least one."""
        after = max(bisect_left(self.points, share, key=lambda point: point[1]), 1)
        (low, from_share), (high, to_share) = self.points[after - 1], self.points[after]
        if self.steps:
            return high
        part = (share - from_share) / (to_share - from_share)
        return max(round(low + part * (high - low)), 1)


FLOW_SIZES: dict[str, FlowSizes] = {
    sizes.name: sizes
    for sizes in (
        FlowSizes(
            "websearch",
            "background flows of a web search cluster (DCTCP, SIGCOMM 2010, figure 4)",
            (
                (0, 0.0),
                (10_000, 0.15),
                (20_000, 0.2),
                (30_000, 0.3),
                (50_000, 0.4),
                (80_000, 0.53),
                (200_000, 0.6),
                (1_000_000, 0.7),
                (2_000_000, 0.8),
                (5_000_000, 0.9),
                (10_000_000, 0.97),
                (30_000_000, 1.0),
            ),
        ),
        FlowSizes(
            "datamining",
            "flows of a data mining cluster (VL2, SIGCOMM 2009, figure 2)",
            (
                (0, 0.0),
                (180, 0.1),
                (216, 0.2),
                (560, 0.3),
                (900, 0.4),
                (1_100, 0.5),
                (1_870, 0.6),
                (3_160, 0.7),
                (10_000, 0.8),
                (400_000, 0.9),
                (3_160_000, 0.95),
                (100_000_000, 0.98),
                (1_000_000_000, 1.0),
            ),
        ),
        FlowSizes(
            "opera-websearch",
            "web search as Opera's authors have it: no sizes but these (NSDI 2020, figure 9)",
            (
                (0, 0.0),
                (5_971, 0.0770),
                (8_722, 0.1525),
                (18_614, 0.1951),
                (27_563, 0.3),
                (44_871, 0.4279),
                (77_113, 0.5328),
                (193_593, 0.6016),
                (620_119, 0.6967),
                (1_933_313, 0.8016),
                (3_147_330, 0.8607),
                (4_853_634, 0.9033),
                (6_901_099, 0.9426),
                (9_812_271, 0.9721),
                (15_759_080, 0.9852),
                (28_589_215, 1.0),
            ),
            steps=True,
        ),
        FlowSizes(
            "opera-datamining",
            "data mining as Opera's authors have it: no sizes but these (NSDI 2020, figure 7)",
            (
                (0, 0.0),
                (180, 0.085),
                (250, 0.14),
                (560, 0.33),
                (900, 0.47),
                (1_100, 0.55),
                (1_870, 0.65),
                (3_160, 0.7),
                (10_000, 0.8),
                (100_001, 0.874),
                (400_000, 0.9),
                (1_850_000, 0.95),
                (10_000_000, 0.97),
                (30_000_000, 0.98),
                (100_000_000, 0.99),
                (250_000_000, 0.995),
                (1_000_000_000, 1.0),
            ),
            steps=True,
        ),
    )
}
"""The distributions by name. A new one is an entry here."""
