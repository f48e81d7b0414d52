"""Memory does not grow with the length of a run."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from etalon.plan import Plan

CHILD = """
import sys
from etalon import _core
_core.run(sys.stdin.read())
print(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc for the peak")
def test_twenty_times_the_length_takes_the_same_memory(small: Plan) -> None:
    short, long = (_peak_kb(small.replace({"duration": d})) for d in ("500ms", "10s"))
    assert long < short + 3000


def _peak_kb(plan: Plan) -> int:
    resolved = json.dumps(plan.resolve())
    command = [sys.executable, "-c", CHILD]
    child = subprocess.run(command, input=resolved, capture_output=True, text=True, check=True)
    return int(child.stdout)
