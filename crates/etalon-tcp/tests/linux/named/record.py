# SPDX-License-Identifier: MIT OR Apache-2.0
"""Has the Linux engine's kernel answer the exchanges of `named.py`, for `../../exchanges.rs`: `python record.py`."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

sys.path.insert(0, str(HERE.parent / "exchanges"))
from record import answers  # noqa: E402

if __name__ == "__main__":
    (HERE.parent / "named.txt").write_text(answers(60, HERE / "named.py"))
