# SPDX-License-Identifier: MIT OR Apache-2.0
"""Circuits that a plan or a file lists, slice by slice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from etalon import circuits
from etalon.circuits import NOBODY, Circuits
from etalon.errors import PlanError
from etalon.plan.base import said_of_file
from etalon.plan.network import Ocs
from etalon.plan.schedules.rotation import MOST_SLICES, Rotation


class Listed(Rotation):
    """Slices that are listed: for each rack and each of its uplinks the rack that it meets."""

    about: ClassVar = (
        "for several circuit switches: the slices that a plan lists, or those of a file"
    )
    which: ClassVar = 'of kind "file", or "fixed" with slices,'
    kind: Literal["fixed", "file"] = "file"
    """The plan, or a file, lists the slices."""
    file: str | None = None
    """A file in the format of `etalon circuits --out`: a line with the numbers of racks and uplinks, then one line per
    slice: for each rack and uplink the rack at the other end, or -1. The resolved plan contains the slices instead."""
    slices: tuple[tuple[int, ...], ...] = ()
    """The slices: in each, rack by rack and uplink by uplink, the rack at the other end, or -1."""

    def net(self, network: Ocs, seed: int) -> Circuits:
        """Who meets whom."""
        switches = network.circuits.switches
        peers = np.array(self.slices, dtype=np.int32).reshape(
            len(self.slices), network.racks, switches
        )
        return circuits.checked("listed", peers)

    def wrong(self, network: Ocs) -> Iterator[PlanError]:
        """That the slices are of another network."""
        size = network.racks * network.circuits.switches
        if not 1 <= len(self.slices) <= MOST_SLICES:
            yield PlanError(
                f"needs 1 to {MOST_SLICES} slices, or a file with them", key="schedule.slices"
            )
        for index, one in enumerate(self.slices):
            key = f"schedule.slices.{index}"
            if len(one) != size:
                yield PlanError(
                    f"has {len(one)} numbers, not {size}: one for each of {network.racks} racks and "
                    f"{network.circuits.switches} uplinks",
                    key=key,
                )
                return
            if not all(NOBODY <= peer < network.racks for peer in one):
                yield PlanError(
                    f"a rack is a number from 0 to {network.racks - 1}, or -1 for none", key=key
                )
                return
        if self.slices:
            try:
                self.net(network, 1)
            except PlanError as error:
                yield PlanError(error.expected, key="schedule.slices")


def with_slices(schedule: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The table of listed slices with what its file holds in the file's place."""
    made = dict(schedule)
    name = made.pop("file")
    if "slices" in made:
        raise PlanError("the slices are given already", key="schedule.file", value=name)
    try:
        net = circuits.load(folder / name)
    except PlanError as error:
        raise said_of_file(error, name, "schedule.file") from None
    return made | {"slices": [one.ravel().tolist() for one in net.peers]}
