"""This machine, in threads of this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from etalon import engine as engines
from etalon.campaign.executors.base import Options
from etalon.plan import Plan
from etalon.results import Run


class Local:
    """Threads of this process; the default."""

    NAME = "local"
    DESCRIPTION = "this machine, one run a processor"

    def check(self) -> None:
        """Nothing is needed."""

    def execute(self, plans: Sequence[Plan], **options: Unpack[Options]) -> list[Run]:
        """Runs plans."""
        return engines.execute(plans, **options)
