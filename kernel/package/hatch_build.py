# SPDX-License-Identifier: GPL-2.0
"""Puts kernels into the wheel of etalon-rdcn-kernel.

They are built from the sources in this distribution, by the recipe in it. What lies in the user's cache with the same digest is
not built again. ETALON_KERNEL_HZ says which timer frequencies, apart from 250 and 1000.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Kernels(BuildHookInterface):  # type: ignore[type-arg]
    """hatchling calls it when it builds a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Builds the kernels and says where they go, and for which systems the wheel is."""
        source = Path(self.root) / "source"
        sys.path.insert(0, str(source / "python"))
        os.environ["ETALON_SOURCE"] = str(source)
        from etalon import kernel
        from etalon.kernel import cache, packaged

        chosen = os.environ.get("ETALON_KERNEL_HZ", "").split() or packaged.HZ
        libraries = []
        for hz in map(int, chosen):
            image = kernel.image(hz, None, lambda step: print(step, file=sys.stderr))
            to = f"etalon_kernel/images/{image.parent.name}"
            for name in (cache.IMAGE, *cache.LIBRARIES, cache.ABOUT):
                build_data["force_include"][str(image.with_name(name))] = f"{to}/{name}"
            libraries += map(image.with_name, cache.LIBRARIES)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{_platform(libraries)}"


def _platform(libraries: list[Path]) -> str:
    """The manylinux tag: that of the newest glibc whose symbols the libraries name. The kernels are linked statically."""
    named = (re.findall(rb"GLIBC_2\.(\d+)\0", library.read_bytes()) for library in libraries)
    return f"manylinux_2_{max(int(minor) for minors in named for minor in minors)}_x86_64"
