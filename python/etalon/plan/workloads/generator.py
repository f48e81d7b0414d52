# SPDX-License-Identifier: MIT OR Apache-2.0
"""The `[[generator]]` table: flows that a function of the user's makes while the run lasts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from pydantic import Field

from etalon.errors import PlanError
from etalon.plan.base import Reference
from etalon.plan.workloads.base import Setting, Workload

Argument = bool | int | float | str


class Generator(Workload):
    """Flows that a Python function creates during the run; they may wait for others."""

    about: ClassVar = (
        "flows that your Python generator creates and waits for: --code, docs/write.md"
    )
    everywhere: ClassVar = True
    function: Reference
    """A generator of flows and its file, such as `"my.py:closed_loop"`, which runs only with `--code`."""
    arguments: dict[str, Argument] = Field(default_factory=dict)
    """Further arguments of the function."""

    def resolve(self, setting: Setting) -> Iterator[dict[str, Any]]:
        """No flows: the function opens its own."""
        return iter(())

    def expected(self, setting: Setting) -> float:
        """Nobody knows."""
        return 0

    def generator(self) -> dict[str, Any]:
        """What its flows have in common, as the core takes it."""
        return {"start_ns": self.start, **self.carried(), "class": self.flow_class}

    def problems(self, key: str, setting: Setting) -> Iterator[PlanError]:
        """What is wrong with this workload."""
        if self.connect is not None:
            yield PlanError(
                "a generator's flows connect when they start; leave the key out",
                key=f"{key}.connect",
            )
        yield from super().problems(key, setting)
