# SPDX-License-Identifier: MIT OR Apache-2.0
"""A Linux engine without a kernel, for tests of what surrounds it: the simulator answers in the kernel's place."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from etalon import _core

VERSION = "6.1.0-fake"


@dataclass
class FakeKernel:
    """What was asked of the engine, and what it answers."""

    folder: Path
    built: list[int] = field(default_factory=list)
    """HZ of the kernels that were built, in order."""
    calls: list[dict[str, Any]] = field(default_factory=list)
    """Options of each run."""
    programs: Callable[[Sequence[str]], dict[str, Any]] | None = None
    """What becomes of a program with these arguments."""
    reached: int = 1_000_000
    """How far in ns a run comes that fails."""
    failure: tuple[str, str, bool] | None = None
    """Sentence, console and whether a part was measured, of runs that fail."""

    def find(self, hz: int) -> Path | None:
        path = self.folder / f"linux-{hz}"
        return path if path.exists() else None

    def image(
        self,
        hz: int,
        progress: Callable[[float], None] | None = None,
        told: Callable[[str], None] | None = None,
    ) -> Path:
        path = self.find(hz)
        if path is None:
            self.built.append(hz)
            if told is not None:
                told(f"making HZ {hz}")
            path = self.write(hz)
        return path

    def write(self, hz: int, remark: str = "") -> Path:
        """A kernel that can say its version."""
        path = self.folder / f"linux-{hz}"
        path.write_text(f"#!/bin/sh\n# {hz} {remark}\necho {VERSION}\n")
        path.chmod(0o755)
        return path

    def run(
        self, plan_json: str, image: str, hz: int, control: _core.Control, **options: Any
    ) -> dict[str, Any]:
        self.calls.append({"image": image, "hz": hz, **options})
        plan = json.loads(plan_json)
        given = options.get("programs", ())
        programs = [{"command": argv} for _, _, argv, _, _ in given] + plan.pop("programs", [])
        self.calls[-1]["plan"] = json.loads(plan_json)
        if options.get("mode", "run") != "run":
            plan["duration_ns"] = 1_000_000
        scenario = _core.Scenario(json.dumps(plan))
        answer: dict[str, Any] = _core.run(scenario, control)
        ending = self.programs or (lambda _: {"status": 0, "stdout": b"", "stderr": b""})
        answer["programs"] = [
            {"end_ns": 1_000_000, **ending(program["command"])} for program in programs
        ]
        answer["console"] = ""
        if options.get("output") is not None:
            for index, one in enumerate(answer["programs"]):
                for stream, name in ((1, "stdout"), (2, "stderr")):
                    options["output"](index, stream, one[name])
        if options.get("trace") is not None:
            start, end, path = options["trace"]
            return _core.trace(scenario, path, start, end, control)
        if self.failure is not None:
            sentence, console, measured = self.failure
            answer["meta"]["partial"] = True
            answer["meta"]["simulated_ns"] = self.reached
            raise _core.KernelError(sentence, console, answer if measured else None)
        return answer


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKernel:
    """A Linux engine without a kernel, none of which is built yet."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    kernel = FakeKernel(folder)
    module = ModuleType("etalon.kernel")
    module.find, module.image = kernel.find, kernel.image  # type: ignore[attr-defined]
    module.LIBRARIES = ("libadu.so", "libask.so")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "etalon.kernel", module)
    monkeypatch.setattr("etalon.kernel", module, raising=False)
    monkeypatch.setattr(_core, "run_linux", kernel.run)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return kernel
