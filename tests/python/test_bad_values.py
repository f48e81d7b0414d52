# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every key of a plan with every kind of bad value: one sentence that names the key, or a plan that can be resolved."""

from __future__ import annotations

import re
from typing import Any

import pytest

from conftest import SMALL
from etalon.errors import PlanError
from etalon.plan import Plan
from etalon.plan.experiment import WORKLOADS
from etalon.plan.keys import Key, all_keys

BAD: tuple[Any, ...] = (
    *(-1, 0, 2**63, 10**30, -(10**30), 0.5, 1e-320, float("nan"), float("inf"), True),
    *("", "x", "\x1b[2J", "1e23", "-1us", "99999999999s", "0us", "r9999h9999", "x" * 100_000),
    *([], [[]], [1, 2, 3], [{}], {}, {"x": 1}, {"kind": "x"}, {"": {}}),
)
VALID: dict[str, dict[str, Any]] = {
    "bulk": {"from": 0, "to": 1},
    "flow": {"from": "r0h0", "to": "r1h0", "size": "1MB"},
    "rings": {"period": "10ms"},
    "shuffle": {"size": "1kB"},
    "permutation": {"size": "1kB"},
    "incast": {"to": "r0h0", "size": "1kB"},
    "poisson": {"load": 0.1, "period": "1ms"},
    "dfsio": {},
    "job": {"do": [{"compute": "1us"}]},
    "generator": {"function": "mine.py:flows", "source": {"mine.py": "def flows(hosts): yield"}},
    "program": {"host": "r0h0", "command": "true"},
}
PATH = [{"rate": "10Gbps", "delay": "30us", "queue": 100}]
KINDS: dict[str, dict[str, Any]] = {
    'of kind "dumbbell"': {"network": {"kind": "dumbbell", "path": PATH}},
    'of kind "tree"': {"network": {"kind": "tree"}},
    'of kind "leaf-spine"': {"network": {"kind": "leaf-spine"}},
    'of kind "tournament"': {"schedule": {"kind": "tournament"}},
    'of kind "fixed"': {"schedule": {"kind": "fixed", "configurations": [{"circuits": [[0, 1]]}]}},
    'of kind "fixed" with a demand': {
        "schedule": {"kind": "fixed", "demand": [[0, 9, 9], [9, 0, 9], [9, 9, 0]]}
    },
    'of kind "none"': {"schedule": {"kind": "none"}},
    "that is computed from demand": {"schedule": {"kind": "solstice"}},
}
KEYS = [key for key in all_keys() if not key.name.startswith("trace.")]


def base(key: Key) -> Plan:
    """A plan in which this key may stand."""
    head = key.name.partition(".")[0]
    changes: dict[str, Any] = {}
    if head in VALID:
        changes[head] = [VALID[head]]
    for which, tables in KINDS.items():
        if key.table.endswith(which):
            changes |= tables
    if "network" in changes:
        return Plan.from_dict({"duration": "30ms", "bulk": [VALID["bulk"]], **changes})
    return Plan.from_toml(SMALL.replace('day = "180us"\nnight = "20us"\n', "")).replace(changes)


def test_there_is_a_base_for_every_kind() -> None:
    assert {*VALID, "trace"} == {*WORKLOADS, "program"}
    assert len(KEYS) * len(BAD) >= 500


@pytest.mark.parametrize("key", KEYS, ids=lambda key: f"{key.table}: {key.name}")
def test_every_key_refuses_in_a_sentence(key: Key) -> None:
    plan = base(key)
    refused = 0
    for value in BAD:
        try:
            again = plan.replace({key.name: value})
            assert again.resolve()["duration_ns"] > 0
        except PlanError as error:
            refused += 1
            for line in str(error).split("\n"):
                assert re.match(r"[\w.]+: \S", line), f"{value!r}: {line[:300]}"
                assert len(line) < 1000, f"{value!r}: {line[:300]}"
    # A description may be anything; the text of users' code is read anew from where it stands.
    assert refused or key.name == "description" or key.name.endswith(".source")
