# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reports: one HTML file a run, a sweep or a reproduction, with figures, tables, the plan and the origin of the numbers."""

from __future__ import annotations

from etalon.report.page import Answer, Claims, Code, Part, Picture, Prose, Section, Table, write
from etalon.report.runs import MOST_LINES, MOST_ROWS, drawn, provenance, sections_of_run, write_run

__all__ = [
    "MOST_LINES",
    "MOST_ROWS",
    "Answer",
    "Claims",
    "Code",
    "Part",
    "Picture",
    "Prose",
    "Section",
    "Table",
    "drawn",
    "provenance",
    "sections_of_run",
    "write",
    "write_run",
]
