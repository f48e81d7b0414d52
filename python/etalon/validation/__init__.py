# SPDX-License-Identifier: MIT OR Apache-2.0
"""The same experiments on both engines: how far the simulator is from real Linux TCP."""

from etalon.validation.comparison import Comparison, compare
from etalon.validation.experiments import Experiment, all_experiments
from etalon.validation.page import write

__all__ = ["Comparison", "Experiment", "all_experiments", "compare", "write"]
