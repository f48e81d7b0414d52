# SPDX-License-Identifier: MIT OR Apache-2.0
"""Hosts that hold what they have in nights (`network.hold`), on both engines."""

from __future__ import annotations

from typing import Any

import pytest

import etalon as et
from conftest import need_kernel
from etalon.errors import EtalonError

HYBRID = {
    "network": {"racks": 4, "hosts": 1, "host": {"jitter": "0us"}},
    "schedule": {"kind": "strobe", "day": "180us", "night": "20us"},
}
ROTOR = {
    "network": {
        "kind": "ocs",
        "racks": 4,
        "hosts": 1,
        "circuits": {"switches": 2},
        "packet": {"rate": "10Gbps", "delay": "1us"},
    },
    "schedule": {"kind": "rotor", "slice": "200us", "night": "20us"},
    "routing": {"kind": "packet"},
}


def took(keys: dict[str, Any], engine: str, *, hold: bool, start: str) -> float:
    """How long a small flow over the packet network takes, in us."""
    network = {**keys["network"], "hold": hold}
    # In the hybrid its rack's circuit to rack 3 comes later.
    flow = {"from": "r0h0", "to": "r3h0", "size": "1kB", "start": start, "cc": "reno"}
    base = {"duration": "2ms", "warmup": 0, "tdf": 1, "end_when_done": True}
    plan = et.Plan.from_dict({**base, **keys, "network": network, "flow": [flow]})
    return float(et.run(plan, engine=engine).fct()["fct_us"][0])


@pytest.mark.parametrize(
    ("keys", "engine"), [(HYBRID, "sim"), (ROTOR, "sim"), (HYBRID, "linux")], ids=str
)
def test_what_is_sent_in_a_night_leaves_when_it_ends(keys: dict[str, Any], engine: str) -> None:
    if engine == "linux":
        need_kernel()
    # A day lasts to 180 us, the night to 200 us.
    by_day, by_night = (
        [took(keys, engine, hold=hold, start=start) for hold in (False, True)]
        for start in ("20us", "185us")
    )
    assert by_day[1] == pytest.approx(by_day[0], abs=0.01)
    assert by_night[1] == pytest.approx(by_night[0] + 15, abs=0.01)


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        (
            {"network": {**ROTOR["network"], "racks": 12, "circuits": {"switches": 4}},
             "schedule": {"kind": "opera", "slice": "99us", "night": "10us"}},
            "some circuit is up at any time",
        ),
        ({"network": {"racks": 4, "hosts": 1}, "schedule": {"kind": "solstice"}, "routing": None}, "nobody knows before"),
    ],
)  # fmt: skip
def test_there_must_be_nights_that_hosts_know(keys: dict[str, Any], sentence: str) -> None:
    together = {name: value for name, value in {**ROTOR, **keys}.items() if value is not None}
    network = {**together["network"], "hold": True}
    flow = {"from": "r0h0", "to": "r2h0", "size": "1kB"}
    plan = {
        "duration": "9ms",
        "warmup": 0,
        "tdf": 1,
        **together,
        "network": network,
        "flow": [flow],
    }
    with pytest.raises(EtalonError) as caught:
        et.run(et.Plan.from_dict(plan))
    assert sentence in str(caught.value)
