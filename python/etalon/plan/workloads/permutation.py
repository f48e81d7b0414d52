# SPDX-License-Identifier: MIT OR Apache-2.0
"""The `[[permutation]]` table: everyone sends to one, and hears from one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, TypeVar

from etalon.plan.workloads.base import Setting, Workload
from etalon.units import Size

T = TypeVar("T")


class Permutation(Workload):
    """Every host sends to a host of another rack, drawn at random so that every host receives one flow."""

    everywhere: ClassVar = True
    about: ClassVar = "every host sends to one random host of another rack, and receives from one"
    size: Size
    """Payload of each flow."""

    def resolve(self, setting: Setting) -> Iterator[dict[str, Any]]:
        """The flows as the core takes them. Hosts of one number send around a circle of all racks, drawn for each number."""
        draw = setting.random().random
        receivers = [shuffled(range(setting.hosts), draw) for _ in range(setting.racks)]
        for host in range(setting.hosts):
            circle = shuffled(range(setting.racks), draw)
            for at, rack in enumerate(circle):
                other = circle[(at + 1) % setting.racks]
                yield self.one((rack, host), (other, receivers[other][host]), self.size)

    def expected(self, setting: Setting) -> float:
        """One for each host."""
        return setting.racks * setting.hosts


def shuffled(items: Sequence[T], draw: Callable[[], float]) -> list[T]:
    """The items in an order drawn at random (Fisher and Yates 1938; Durstenfeld, CACM 7(7), 1964)."""
    order = list(items)
    for last in range(len(order) - 1, 0, -1):
        other = int(draw() * (last + 1))
        order[last], order[other] = order[other], order[last]
    return order
