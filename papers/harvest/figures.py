# SPDX-License-Identifier: MIT OR Apache-2.0
"""How the paper's figures are drawn: the time of an iteration over its closed form, by size."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from etalon.reproduce import Drawing, Results


def _over_the_closed_form(names: Mapping[str, str]) -> Callable[[Results], Drawing]:
    """A line a series, by the name for the legend."""

    def drawing(results: Results) -> Drawing:
        over = results.paper.measures.over_closed_form
        lines = {
            title: {x / 1024: over(run) for x, run in results.series(name).items()}
            for name, title in names.items()
        }
        return Drawing("lines", lines, xlabel="size (MiB)", ylabel="time over the closed form (%)")

    return drawing


def _of_figure_5(results: Results) -> list[Drawing]:
    """How many times as long a static ring takes as Harvest's schedule, by size: a drawing for each time of a change."""
    took = results.paper.measures.took
    drawings = []
    for change in ("1us", "10us", "100us"):
        lines = {}
        for name in ("cyclic", "swing", "all-to-all"):
            static = results.series(f"static-{name}-64")
            harvest = results.series(f"harvest-{name}-64-{change}")
            lines[name] = {
                x / 1024: took(static[x]) / took(run) for x, run in harvest.items() if x in static
            }
        ylabel = f"static ring over Harvest, {change}"
        drawings.append(Drawing("lines", lines, part=change, xlabel="size (MiB)", ylabel=ylabel))
    return drawings


def _with_ranks(name: str, counts: tuple[int, ...] = (16, 64)) -> dict[str, str]:
    return {f"{name}-{n}": f"{name}, {n} ranks" for n in counts}


DRAWINGS: Mapping[str, Callable[[Results], Drawing | list[Drawing]]] = {
    "every-step": _over_the_closed_form(
        {**_with_ranks("cyclic"), **_with_ranks("swing"), **_with_ranks("all-to-all")}
    ),
    "small": _over_the_closed_form(
        {f"{name}-64-small": name for name in ("cyclic", "swing", "all-to-all")}
    ),
    "several-hops": _of_figure_5,
    "ring": _over_the_closed_form(_with_ranks("ring")),
}
