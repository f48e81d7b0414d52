# SPDX-License-Identifier: MIT OR Apache-2.0
"""Loads beyond what a network carries are run as they are, with a warning."""

from __future__ import annotations

import pytest

from etalon.plan import Plan


def warned(load: float, *tables: str) -> list[str]:
    plan = Plan.from_toml("\n".join([*tables, "[[poisson]]", f"load = {load}"]))
    return [one for one in plan.warnings if "can leave it" in one]


@pytest.mark.parametrize("kind", ["tree", "leaf-spine", "ocs", "dumbbell"])
def test_more_than_a_rack_can_send_is_warned_of(kind: str) -> None:
    network = f'[network]\nkind = "{kind}"'
    if kind == "ocs":
        network += '\n[schedule]\nkind = "rotor"'
    assert warned(1.0, network) == []
    (sentence,) = warned(2.0, network)
    assert sentence.startswith("[[poisson]] offers ")


def test_circuits_carry_what_the_packet_network_does_not() -> None:
    """10 Gb/s, and 80 Gb/s but for nights of 20 us in 200: 82 in all, as far as the hosts' NICs go."""
    assert warned(8.1) == []
    assert warned(9.0) == [
        "[[poisson]] offers 90 Gb/s in each rack, of which at most 82 Gb/s can leave it: "
        "flows queue up, and take longer and longer until the end"
    ]
    assert len(warned(2.0, '[network]\nhosts = 1\nhost.rate = "10Gbps"')) == 1


def test_several_tables_add_up() -> None:
    both = warned(0.6, '[network]\nkind = "leaf-spine"', "[[poisson]]", "load = 0.6")
    assert len(both) == 1
