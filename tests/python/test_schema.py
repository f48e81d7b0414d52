# SPDX-License-Identifier: MIT OR Apache-2.0
"""What pydantic resolves plans to is what the core reads: the schema comes from its types."""

from __future__ import annotations

import functools
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import etalon as et
from etalon import _core
from etalon.plan import Plan

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads(_core.scenario_schema())
PLANS = sorted(
    path
    for folder in ("examples", "benches", "papers/*/plans")
    for path in ROOT.glob(f"{folder}/*.toml")
)
EVERY_KEY = """
duration = "100ms"
end_when_done = true

[network]
voq = { packets = 16, resize = { packets = 50, before = "150us" }, pairs = [{ from = 0, to = 1, packets = 8 }] }
marking = { threshold = 5, threshold_big = 20 }
ece = { before = "150us" }
notify = { before = "5us", delay = "1us", jitter = "1us", lost = 0.01, each = "10ns" }
ack_bypass = "30us"
host = { downlink_queue = 100 }

[schedule]
kind = "solstice"
estimator = "adu"

[measure]
reordering = true
flows = ["long"]

[[bulk]]
from = 0
to = 1
start = "2ms"
connect = "1ms"
stop = "50ms"
cc = "cubic"
params = { beta = 0.7 }
transport = { kind = "tdtcp", downgrade_at = "40ms" }
class = "long"

[[bulk]]
from = 0
to = 2
transport = "mptcp"

[[dfsio]]
writers = 1
transport = "tdtcp"
placement = "rehdfs"
rotate = "1s"

[[job]]
start = "2ms"
connect = "1ms"
ranks = ["r0h0", "r1h0"]
slow = [[1, 1.5]]
do = [
  { compute = "1ms", jitter = "1us", ranks = [0] },
  { matrix = [["1kB", "2kB"], ["3kB", "4kB"]], algorithm = "bruck", radix = 2 },
  { broadcast = "1MB", algorithm = "chain", pieces = 3, root = 1 },
  { all_reduce = "1MB" },
  { send = "1kB", from = 1, to = 0 },
]

[[job]]
ranks = ["r0h0", "r0h1", "r1h0", "r1h1"]
do = [{ all_reduce = "1MB", algorithm = "hierarchical", groups = 2 }]

[[program]]
host = "r0h0"
command = "echo"
env = { LANG = "C" }
"""

SEVERAL_KINDS = """
duration = "100ms"

[network]
night = "all"

[schedule]
kind = "fixed"

[[schedule.configurations]]
circuits = [[0, 1], [1, 0]]
rate = "40Gbps"
repeat = 3

[[schedule.configurations]]
circuits = [[0, 1], [1, 0]]

[[schedule.change]]
at = "50ms"
configurations = [{ circuits = [[0, 1], [1, 0]], delay = "1us" }]

[[bulk]]
from = 0
to = 1
"""


EVERY_KEY_OF_A_TREE = """
duration = "100ms"

[network]
kind = "tree"
rack = { ecn_threshold = 20 }
delay_in_queue = true
reroute = "1ms"
failure = [{ link = ["r0", "p0a0"], from = "1ms", to = "2ms" }]

[tcp]
initial_rto = "500ms"
max_cwnd = 100
slow_start_after_idle = false
otcp = true

[[tcp.path]]
layer = "core"
initial_rto = "100ms"
max_cwnd = 50

[[flow]]
from = "r0h0"
to = "r0h1"
size = "1MB"
"""


EVERY_KEY_OF_A_LEAF_SPINE = """
duration = "100ms"

[network]
kind = "leaf-spine"
spine = { rate = "10Gbps", switches = 2 }
delay_in_queue = true
reroute = "1ms"
failure = [{ link = ["r0", "s1"], from = "1ms", to = "2ms" }]

[[tcp.path]]
layer = "spine"
initial_rto = "100ms"

[[flow]]
from = "r0h0"
to = "r1h1"
size = "1MB"

[measure]
ports = true
"""


EVERY_KEY_OF_FAILURES = """
duration = "100ms"

[network]
hold = true
reroute = "1us"
failure = [{ switch = 1, from = "1ms", to = "2ms" }, { sender = [0, 1], from = "1ms", locks_after = "1us" }]

[[bulk]]
from = 0
to = 1
"""


EVERY_KEY_OF_CIRCUITS = """
duration = "1ms"
measure = { links = "100us" }

[network]
kind = "ocs"
racks = 4
circuits = { switches = 2 }
host = { queues = true }
packet = { rate = "1Gbps" }
guard = "10ns"
hold = true
skew = "5ns"
late = "completes"
reroute = "1us"

[network.queue]
low = { packets = 8, ecn_threshold = 3, trim = "64B", coin = true, returns = true, downlink = 20 }
bulk = { bytes = "1MB" }

[[network.failure]]
PART
from = "1us"
to = "2us"
locks_after = "50ns"

[schedule]
kind = "fixed"
slice = "10us"
night = "1us"
slices = [[1, 2, 0, 3, 3, 0, 2, 1], [2, 1, 3, 0, 0, 3, 1, 2]]

[routing]
low = LOW
bulk = BULK
cutoff = "1MB"

[network.ece]
before = "3us"

[network.notify]
tdns = TDNS
longest = 3
before = "1us"
delay = "2us"

[[bulk]]
from = 0
to = 1
priority = "bulk"
transport = "tdtcp"
"""

EVERY_KEY_OF_NDP = """
duration = "100ms"

[network]
kind = "leaf-spine"

[[flow]]
from = "r0h0"
to = "r1h1"
size = "1MB"

[flow.transport]
kind = "ndp"
window = 20
payload = "1436B"
header = "64B"
padded = true
pacer = "flow"
pull_bytes = "1436B"
pulls = "each"
timeout = "2ms"
resends_last = true
paths = 4
completes = "acked"
"""


EVERY_KEY_OF_ROTORLB = """
duration = "100ms"

[network]
kind = "ocs"
racks = 4
hosts = 1
circuits = { rate = "10Gbps", delay = "500ns", switches = 2 }

[schedule]
kind = "rotor"

[routing]
low = "direct"

[routing.bulk]
kind = "rotorlb"
hops = 1
margin = "1us"

[[flow]]
from = "r0h0"
to = "r1h0"
size = "1MB"
priority = "bulk"

[flow.transport]
kind = "rotorlb"
payload = "1436B"
header = "64B"
padded = true
"""


EVERY_KEY_OF_A_GENERATOR = """
duration = "100ms"

[[generator]]
function = "mine.py:flows"
source = { "mine.py" = "def flows(hosts):\\n    yield\\n" }
start = "1ms"
class = "mine"
transport = "tdtcp"
cc = "dctcp"
params = { g = 0.1 }

[[job]]
transport = "tdtcp"
do = [{ all_reduce = "1MB", among = [[0, 1]] }]
"""


ASKED = """
duration = "100ms"

[schedule]
kind = "asked"

[[job]]
ranks = ["r0h0", "r1h0"]
circuits = [{ step = 0, circuits = [[0, 1], [1, 0]] }]
do = [{ all_reduce = "1MB" }]
"""

WAYS_OF_CIRCUITS = (
    ('{ kind = "ksp", paths = 2, equal = true, spread = "packet" }', '"ucmp"'),
    ('"earliest"', '{ kind = "table", entries = [[0, 0, 1, 1, 0, 0]] }'),
)
PARTS = ("link = [0, 1]", "sender = [0, 1]", "receiver = [0, 1]", "rack = 0", "switch = 1")


MOST_FLOWS = 100
"""Flows of a plan that are validated: they are all alike, and it takes a millisecond each."""


@functools.cache
def resolved() -> list[tuple[str, dict[str, Any]]]:
    """All plans as the core reads them, of their flows those that are validated."""
    plans = list(_resolved())
    for _, plan in plans:
        plan["flows"] = plan["flows"][:MOST_FLOWS]
        plan.pop("streamed", None)  # which is for the plan's digest
    return plans


def _resolved() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in PLANS:
        yield path.stem, Plan.load(path).resolve()
    yield "several kinds of circuits", Plan.from_dict(tomllib.loads(SEVERAL_KINDS)).resolve()
    yield "every key", Plan.from_dict(tomllib.loads(EVERY_KEY)).resolve()
    yield "failures", Plan.from_dict(tomllib.loads(EVERY_KEY_OF_FAILURES)).resolve()
    yield "asked", Plan.from_dict(tomllib.loads(ASKED)).resolve()
    yield "tree", Plan.from_dict(tomllib.loads(EVERY_KEY_OF_A_TREE)).resolve()
    leaf_spine = tomllib.loads(EVERY_KEY_OF_A_LEAF_SPINE)
    yield "leaf-spine", Plan.from_dict(leaf_spine).resolve()
    for low, bulk in WAYS_OF_CIRCUITS:
        for part in PARTS:
            text = EVERY_KEY_OF_CIRCUITS.replace("LOW", low).replace("BULK", bulk)
            tdns = ("slice", "length", "one")[len(part) % 3]
            text = text.replace("PART", part).replace("TDNS", f'"{tdns}"')
            yield f"ocs, {low}, {part}", Plan.from_dict(tomllib.loads(text)).resolve()
    opera = 'kind = "opera"\n[routing]\nlow = "expander"\n[[bulk]]\nfrom = 0\nto = 1\n'
    text = f'[network]\nkind = "ocs"\nracks = 12\n[schedule]\n{opera}'
    yield "ocs, opera", Plan.from_dict(tomllib.loads(text)).resolve()
    yield "rotorlb", Plan.from_dict(tomllib.loads(EVERY_KEY_OF_ROTORLB)).resolve()
    yield "ndp", Plan.from_dict(tomllib.loads(EVERY_KEY_OF_NDP)).resolve()
    yield "generator", Plan.from_dict(tomllib.loads(EVERY_KEY_OF_A_GENERATOR)).resolve()
    yield "dumbbell", et.experiment(et.dumbbell(), et.bulk(0, 1)).resolve()


def test_plans_resolve_to_what_the_core_reads() -> None:
    validator = Draft202012Validator(SCHEMA)
    for name, plan in resolved():
        errors = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(plan)]
        assert not errors, name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tdf": None}, "None is not of type 'integer'"),
        ({"seed": -1}, "-1 is less than the minimum of 0"),
        ({"speed": 1}, "'speed' was unexpected"),
        ({"network": {"torus": {}}}, "is not valid under any"),
    ],
)
def test_the_schema_refuses_what_the_core_refuses(change: dict[str, Any], message: str) -> None:
    plan = {**Plan.from_dict(tomllib.loads(EVERY_KEY)).resolve(), **change}
    (error,) = Draft202012Validator(SCHEMA).iter_errors(plan)
    assert message in error.message
    with pytest.raises(ValueError, match=r"."):
        _core.Scenario(json.dumps(plan))


def _keys(value: Any, schema: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The schema's keys that a value has, each with the name of its type."""
    while "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        if Draft202012Validator({**part, "$defs": SCHEMA["$defs"]}).is_valid(value):
            yield from _keys(value, part)
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        for entry in value:
            yield from _keys(entry, schema["items"])
    if isinstance(value, dict):
        for key, below in schema.get("properties", {}).items():
            if value.get(key) is not None:
                yield schema.get("description", ""), key
                yield from _keys(value[key], below)


def _all_keys(schema: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Every key of the schema."""
    for key in schema.get("properties", {}):
        yield schema.get("description", ""), key
    for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _all_keys(part)


def test_every_key_of_the_core_can_be_said_in_a_plan() -> None:
    known = {key for part in (SCHEMA, *SCHEMA["$defs"].values()) for key in _all_keys(part)}
    said = {key for _, plan in resolved() for key in _keys(plan, SCHEMA)}
    assert known - said == set()
