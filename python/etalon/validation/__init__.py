"""The same experiments on both engines: how far the simulator is from real Linux TCP."""

from etalon.validation.comparison import Comparison, compare
from etalon.validation.experiments import EXPERIMENTS, Experiment
from etalon.validation.page import write

__all__ = ["EXPERIMENTS", "Comparison", "Experiment", "compare", "write"]
