# SPDX-License-Identifier: MIT OR Apache-2.0
"""`etalon circuits`: networks of circuits, drawn or read from a file, summed up and written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etalon.cli import common

if TYPE_CHECKING:
    from etalon import circuits as networks


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(
        epilog="Example:  etalon circuits opera --racks 108 --switches 6 --out schedule.txt"
    )(circuits)


def circuits(
    what: Annotated[
        str,
        typer.Argument(
            metavar="opera|rotor|regular|round-robin|shale|FILE",
            help="A kind of network, or a file with a schedule.",
        ),
    ],
    racks: Annotated[int, typer.Option("--racks", min=2, help="Racks.")] = 108,
    switches: Annotated[
        int, typer.Option("--switches", min=1, help="Circuit switches, and uplinks of a rack.")
    ] = 6,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of random networks.")] = 1,
    dimensions: Annotated[
        int, typer.Option("--dimensions", min=1, max=8, help="Dimensions of Shale's cube.")
    ] = 2,
    staggered: Annotated[
        bool,
        typer.Option("--staggered", help="The file's switches change one after another."),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write the schedule to this file.", show_default=False),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite that file.")] = False,
    json: common.Json = False,
) -> None:
    """Describe a network of circuits. Prints paths within a slice, and the entries of a ToR's tables."""
    from etalon import circuits as networks

    made = _drawn(what, racks, switches, seed, dimensions) or _read(Path(what), staggered)
    if out is not None:
        made.save(out, force=force)
    ways = {str(hops): count for hops, count in made.paths.items() if hops != networks.NO_WAY}
    said = {
        "racks": made.racks,
        "switches": made.switches,
        "slices": made.slices,
        "longest_path": made.longest_path,
        "mean_path": round(made.mean_path, 4),
        "pairs_by_hops": ways,
        "pairs_without_way": made.paths.get(networks.NO_WAY, 0),
        "routing_entries": made.routing_entries,
    }
    if json:
        common.print_json(said)
        return
    table = common.plain_table("", ">")
    table.show_header = False
    for name, value in said.items():
        if not isinstance(value, dict):
            table.add_row(name.replace("_", " "), str(value))
    everything = sum(made.paths.values())
    for hops, count in ways.items():
        table.add_row(
            f"pairs {hops} {'hop' if hops == '1' else 'hops'} apart",
            f"{100 * count / everything:.1f} %",
        )
    common.print_table(table)


def _drawn(
    what: str, racks: int, switches: int, seed: int, dimensions: int
) -> networks.Circuits | None:
    """A network of a kind; None for a file."""
    from etalon import circuits as networks
    from etalon.errors import PlanError
    from etalon.units import shown

    if what == "shale":
        return networks.shale(racks, switches, dimensions)
    if what in networks.KINDS:
        return networks.KINDS[what](racks, switches, seed)
    if not Path(what).exists():
        kinds = ", ".join((*networks.KINDS, "shale"))
        raise PlanError(f"{shown(what)} is neither a kind of network ({kinds}) nor a file")
    return None


def _read(path: Path, staggered: bool) -> networks.Circuits:
    """A network from a file, whose switches may change one after another instead."""
    from etalon import circuits as networks

    made = networks.load(path)
    return made.staggered() if staggered else made
