# SPDX-License-Identifier: MIT OR Apache-2.0
"""Instructions a packet, and memory: what a machine that is busy or slow does not change, held against a committed table.

The core runs without Python, as the example `plan` of etalon-sim, one second of virtual time, under valgrind's callgrind. What
it counts depends on the compiler and the code, and hardly on the machine; `benches/instructions.json` holds it for each bench,
function by function, and the peak memory of benches of many racks and flows. `.ci/run` fails when either grows.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from etalon.bench import FOLDER, load
from etalon.errors import EtalonError

TABLE = FOLDER / "instructions.json"
COUNTED = ("full", "lean", "strobe")
"""Benches whose instructions are counted."""
WEIGHED = ("all-to-all-108", "flows-100k", "poisson-256", "ring-512")
"""Benches whose memory is looked at."""
NAMES = (*COUNTED, *WEIGHED)
MOST_INSTRUCTIONS = 1.01
"""As much more than in the table is too much: a hundredth."""
MOST_MEMORY = 1.05
FUNCTIONS = 40
"""Rows of the table for each bench: the functions that cost most. The others are its last row."""
OTHERS = "(all others)"


@dataclass(frozen=True)
class Count:
    """What a bench took."""

    per_packet: float = 0.0
    """Instructions of the whole run, by data packet that left the network; 0 if they were not counted."""
    peak_bytes: int = 0
    """0 if it was not looked at."""
    functions: Mapping[str, float] = field(default_factory=dict)
    """Instructions a packet by function, without those that it calls."""


def compiler() -> str:
    """The compiler that builds the core, as it names itself."""
    return _output(["rustc", "--version"], "rustc").strip()


def missing() -> str | None:
    """What keeps this machine from counting instructions, as a sentence."""
    if shutil.which("valgrind") is None:
        return "instructions are counted with valgrind, which is not installed"
    if shutil.which("cargo") is None:
        return "the core that is counted is built with cargo, which is not installed"
    return None


def build() -> Path:
    """The program that runs a plan without Python, compiled as the core is. Takes minutes the first time."""
    command = ["cargo", "build", "--release", "--package", "etalon-sim", "--example", "plan"]
    said = _output([*command, "--quiet", "--message-format=json"], "cargo", cwd=FOLDER.parent)
    for line in said.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == "plan":
            return Path(message["executable"])
    raise EtalonError("cargo built no example called plan")


def count(name: str, program: Path) -> Count:
    """Runs a bench as the table has it: under callgrind for a second of virtual time, or as it is for its memory.

    Raises:
        EtalonError: the run failed.
    """
    plan = load(name)
    if name in COUNTED:
        plan = plan.replace({"duration": "1s"})
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "plan.json"
        scenario.write_text(json.dumps(plan.resolve()))
        command = [str(program), str(scenario)]
        if name not in COUNTED:
            return Count(peak_bytes=_told(r"peak memory: (\d+) kB", command, name) * 1024)
        profile = Path(folder) / "callgrind.out"
        tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
        packets = _told(r"packets_delivered: (\d+)", [*tool, *command], name)
        costs = functions(profile.read_text())
    total = sum(costs.values())
    top = dict(costs.most_common(FUNCTIONS))
    top[OTHERS] = total - sum(top.values())
    return Count(total / packets, functions={name: cost / packets for name, cost in top.items()})


def _told(pattern: str, command: list[str], name: str) -> int:
    """A number that the program tells of a bench."""
    found = re.search(pattern, _output(command, f"bench {name}"))
    if found is None:
        raise EtalonError(f"bench {name} did not report {pattern.partition(':')[0]}")
    return int(found[1])


def functions(profile: str) -> Counter[str]:
    """Instructions by function, without what it calls, of a profile as valgrind's manual describes it ('Callgrind Format')."""
    costs: Counter[str] = Counter()
    names: dict[str, str] = {}
    current, is_call = "", False
    for line in profile.splitlines():
        if line.startswith("fn="):
            number, _, name = line[3:].partition(" ")
            current = names.setdefault(number, _short(name or number))
        elif line.startswith("cfn="):
            number, _, name = line[4:].partition(" ")
            names.setdefault(number, _short(name or number))
        elif line.startswith("calls="):
            is_call = True
        elif line[:1] in "0123456789+-*" and line[:1]:
            if not is_call:
                costs[current] += int(line.split()[1])
            is_call = False
    return costs


def _short(name: str) -> str:
    """A function's name without what valgrind adds for recursion, so that it stays the same from build to build."""
    return re.sub(r"'\d+$", "", name)


def _output(command: list[str], what: str, cwd: Path | None = None) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    if done.returncode != 0:
        last = done.stderr.strip().rpartition("\n")[2] or f"exit code {done.returncode}"
        raise EtalonError(f"{what} failed: {last}")
    return done.stdout


def read(path: Path = TABLE) -> tuple[str, dict[str, Count]]:
    """The committed table: the compiler that it is of, and what each bench took."""
    try:
        table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        benches = {name: Count(**bench) for name, bench in table["benches"].items()}
        return str(table["compiler"]), benches
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise EtalonError(f"{path}: cannot be read: {error}") from None


def shown(compiler: str, counts: Mapping[str, Count]) -> str:
    """The table as text, in JSON."""
    table = {
        "about": "Instructions a data packet (with its ACK), and peak memory in bytes.",
        "written by": f"etalon bench --instructions --out benches/{TABLE.name}",
        "compiler": compiler,
        "benches": {name: _row(counted) for name, counted in sorted(counts.items())},
    }
    return json.dumps(table, indent=1) + "\n"


def _row(counted: Count) -> dict[str, Any]:
    if not counted.per_packet:
        return {"peak_bytes": counted.peak_bytes}
    functions = {name: round(cost, 1) for name, cost in counted.functions.items()}
    return {"per_packet": round(counted.per_packet, 1), "functions": functions}


def grown(name: str, then: Count | None, now: Count) -> str | None:
    """A sentence if a bench takes more than the table says, with the function that grew most. Less is no failure."""
    if then is None:
        return f"{name} is not in the table"
    if now.per_packet > then.per_packet * MOST_INSTRUCTIONS:
        growth = {
            function: cost - then.functions.get(function, 0.0)
            for function, cost in now.functions.items()
        }
        function = max(growth, key=lambda function: growth[function])
        return (
            f"{name}: {now.per_packet:.0f} instructions a packet, {then.per_packet:.0f} in the table; "
            f"{function} grew most, by {growth[function]:.0f}"
        )
    if now.peak_bytes > then.peak_bytes * MOST_MEMORY:
        was, is_now = then.peak_bytes / 1e6, now.peak_bytes / 1e6
        return f"{name}: {is_now:.0f} MB of memory at most, {was:.0f} MB in the table"
    return None
