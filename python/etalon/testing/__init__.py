"""Tests that users run on what they write: the properties that the built-in ones are held to.

checked = etalon.testing.check(longest_first)
checked.plot()
"""

from __future__ import annotations

import inspect
from typing import Any

from etalon.custom.capture import unwrapped
from etalon.custom.control import CongestionControl
from etalon.errors import PlanError
from etalon.testing.controls import check_control
from etalon.testing.report import Checked, CheckFailed
from etalon.testing.schedulers import check_scheduler
from etalon.units import shown

__all__ = ["CheckFailed", "Checked", "check"]


def check(thing: Any, cases: int = 200, seed: int = 1) -> Checked:
    """Holds a congestion control or a scheduler to the properties that all built-in ones have, on random cases.

    Args:
        thing: a subclass of `etalon.CongestionControl`; or a scheduler: a function that `etalon.scheduler` marks, or a plain
            one of (demand, network).
        cases: how many random cases are tried.
        seed: of the random cases: the same seed tries the same.

    Returns:
        What was tried, with figures: `checked.plot()`.

    Raises:
        CheckFailed: for the first case that shows a property to be missing; it is an `AssertionError`, too.
    """
    function = unwrapped(thing)
    if inspect.isclass(function) and issubclass(function, CongestionControl):
        return check_control(thing, cases, seed)
    if inspect.isfunction(function):
        return check_scheduler(thing, cases, seed)
    raise PlanError(
        f"etalon.testing.check takes a congestion control or a scheduler, not {shown(thing)}"
    )
