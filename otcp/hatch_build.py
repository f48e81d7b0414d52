# SPDX-License-Identifier: MIT OR Apache-2.0
"""Puts the demonstration's programs into the wheel of etalon-otcp, if `tools/wheels.py` has built them.

A wheel that is built without them, such as one from the sources, holds Python alone; the demonstration then asks for them.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Programs(BuildHookInterface):  # type: ignore[type-arg]
    """hatchling calls it when it builds a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Says where the programs go. They are linked statically, so that any glibc, and none, is theirs."""
        folder = os.environ.get("ETALON_OTCP_PROGRAMS")
        if not folder or version == "editable":
            return
        for program in Path(folder).iterdir():
            build_data["force_include"][str(program)] = f"etalon_otcp/bin/{program.name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_2_17_{platform.machine()}"
