# SPDX-License-Identifier: MIT OR Apache-2.0
"""The user's cache: what Etalon can make again."""

from __future__ import annotations

import os
from pathlib import Path


def folder(name: str) -> Path:
    """The folder of this name in the cache; it need not exist."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "etalon" / name
