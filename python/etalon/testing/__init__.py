# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests for users' own congestion controls and schedulers: the properties that hold for the built-in ones.

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
    """Tests a congestion control or a scheduler for the properties of the built-in ones, on random cases.

    Args:
        thing: a subclass of `etalon.CongestionControl`; or a scheduler, that is a function marked by `etalon.scheduler` or a
            plain function of (demand, network).
        cases: number of random cases.
        seed: seed of the random cases; the same seed gives the same cases.

    Returns:
        The properties that hold, as sentences (`print(checked)`), and figures (`checked.plot()`).

    Raises:
        CheckFailed: for the first case that violates a property. It is also an `AssertionError`, so pytest reports it.
        PlanError: if `thing` is neither.
    """
    function = unwrapped(thing)
    if inspect.isclass(function) and issubclass(function, CongestionControl):
        return check_control(thing, cases, seed)
    if inspect.isfunction(function):
        return check_scheduler(thing, cases, seed)
    raise PlanError(
        f"etalon.testing.check takes a congestion control or a scheduler, not {shown(thing)}"
    )
