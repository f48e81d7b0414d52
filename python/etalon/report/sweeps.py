"""The report of a sweep: its figures and its table."""

from __future__ import annotations

from pathlib import Path

from etalon import figures
from etalon.campaign.sweeps import Sweep
from etalon.figures import sweeps
from etalon.report.page import Code, Picture, Section, Table
from etalon.report.page import write as write_page
from etalon.report.runs import MOST_ROWS


def write(sweep: Sweep, folder: Path) -> Path:
    """Draws the figures that suit the sweep into `folder`/figures and writes `folder`/report.html."""
    pictures = []
    for name, caption in sweeps.suitable(sweep).items():
        png, _ = figures.save(sweeps.draw(sweep, name), folder / "figures", name)
        web = sweeps.interactive(sweep, name)
        pictures.append(Picture(caption, png, web))
    table = sweep.table
    empty = [column for column in table.columns if table[column].null_count() == table.height]
    caption = f"{table.height} runs; table.parquet and table.csv have all columns"
    shown = table.drop(empty).head(MOST_ROWS)
    sections = [Section("Figures", pictures)] if pictures else []
    sections += [
        Section("Runs", [Table(shown.columns, shown.rows(), caption)]),
        Section("Plan", [Code(sweep.plan.to_toml())]),
    ]
    keys = ", ".join(sweeps.varied(sweep)) or "the seed"
    return write_page(
        folder / "report.html", f"{sweep.plan.name}, sweep", sections, subtitle=f"over {keys}"
    )
