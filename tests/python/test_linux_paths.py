# SPDX-License-Identifier: MIT OR Apache-2.0
"""TCP by layer on the Linux engine: what sockets of real Linux say of themselves."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

import etalon as et
import tcp_info_hosts
from conftest import need_kernel, need_program

TICK_US = 4000
LAYERS = {"rack": "r0h1", "pod": "r1h0", "core": "r2h0"}
PATHS = [
    {"layer": "rack", "min_rto": "1ms", "initial_rto": "6ms", "initial_cwnd": 1, "max_cwnd": 7},
    {"layer": "pod", "min_rto": "8ms", "initial_rto": "40ms", "initial_cwnd": 2, "max_cwnd": 13},
    {"layer": "core", "min_rto": "200ms", "initial_rto": "3s"},
]
AS_LINUX = {"rto_min_us": 200_000, "rto_init_us": 1_000_000, "initial": 10, "largest": None}
GIVEN = {
    "rack": {"rto_min_us": TICK_US, "rto_init_us": 2 * TICK_US, "initial": 1, "largest": 7},
    "pod": {"rto_min_us": 8000, "rto_init_us": 40_000, "initial": 2, "largest": 13},
    "core": AS_LINUX | {"rto_init_us": 3_000_000},
}


@pytest.fixture(autouse=True)
def _built() -> None:
    need_kernel()


def command(*arguments: str) -> str:
    return shlex.join([sys.executable, str(Path(tcp_info_hosts.__file__)), *arguments])


def planned(programs: dict[str, str], **plan: Any) -> et.Plan:
    """A tree with a program on each of these hosts."""
    values = {
        "tdf": 1,
        "duration": "2s",
        "warmup": "0s",
        "program": [
            {"host": host, "command": ["sh", "-c", line]} for host, line in programs.items()
        ],
        **plan,
        "network": {"kind": "tree", "hosts": 2, **plan.get("network", {})},
    }
    return et.Plan.from_dict(values)


def told(plan: et.Plan) -> dict[str, Any]:
    """What a plan's programs print, by host."""
    run = et.run(plan, engine="linux")
    answers = {}
    for row in run.programs.iter_rows(named=True):
        assert row["status"] == 0, run.outputs[row["err"]].decode()
        answers[row["host"]] = json.loads(run.outputs[row["out"]])
    return answers


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("given", [True, False])
def test_sockets_have_their_layers_parameters(layer: str, given: bool) -> None:
    """Of both ends, from the first SYN on."""
    host = LAYERS[layer]
    programs = {host: command("server"), "r0h0": command("client", "--server", host)}
    answers = told(planned(programs, tcp={"path": PATHS} if given else {}))
    expected = GIVEN[layer] if given else AS_LINUX
    client, server = answers["r0h0"], answers[host]
    assert client["asked"]["rto_us"] == expected["rto_init_us"]
    assert client["begun"]["snd_cwnd"] == expected["initial"]
    for end in (client, server):
        measured = end["begun"]["rtt_us"]
        rto = expected["rto_min_us"] + measured  # rounded up to ticks
        assert rto <= end["begun"]["rto_us"] < rto + TICK_US
        if expected["largest"] is None:
            assert end["largest"] > 13
        else:
            assert end["largest"] == expected["largest"]
    assert client["retries"] == (6 + 8 if given else 6)  # 6 ms is 2^7.4 times shorter than 1 s


def test_a_syn_ack_has_the_layers_initial_timeout() -> None:
    """The SYN-ACK is lost on a link that is down for a moment. The client has lost its route's parameters and would wait for a
    second; the server sends again after 40 ms."""
    need_program("ip")
    programs = {
        "r1h0": command("server"),
        "r0h0": "ip route replace 10.0.1.0/24 dev eth0 && " + command("client", "--server", "r1h0"),
    }
    down = {"link": ["r0", "p0a0"], "from": "100.6ms", "to": "103ms"}
    answers = told(planned(programs, tcp={"path": PATHS}, network={"failure": [down]}))
    assert answers["r0h0"]["asked"]["rto_us"] == 1_000_000
    assert 0.040 <= answers["r0h0"]["seconds"] < 0.046


def test_otcp_gives_sockets_what_the_controller_computes() -> None:
    programs = {"r2h0": command("server"), "r0h0": command("client", "--server", "r2h0")}
    plan = planned(programs, tcp={"otcp": True})
    answers = told(plan)
    core = plan.resolve()["tcp"]["by_distance"][2]
    asked = answers["r0h0"]["asked"]["rto_us"]
    assert 0 <= asked - core["initial_rto_ns"] / 1000 < TICK_US
    assert answers["r0h0"]["begun"]["snd_cwnd"] == core["initial_cwnd"]
    assert answers["r0h0"]["largest"] <= core["max_cwnd"]


def test_a_server_that_is_away_for_ten_seconds_is_still_reached() -> None:
    """With a first timeout of 4 ms Linux's six attempts would be over after 0.6 s."""
    flow = {"from": "r0h0", "to": "r1h0", "size": "1kB"}
    plan = et.Plan.from_dict(
        {
            "tdf": 1,
            "duration": "30s",
            "warmup": "0s",
            "network": {
                "kind": "tree",
                "failure": [{"link": ["r0", "p0a0"], "from": "0s", "to": "10s"}],
            },
            "tcp": {"initial_rto": "4ms"},
            "flow": [flow],
        }
    )
    linux = et.run(plan, engine="linux").fct()["fct_us"][0] / 1e6
    assert 16.38 < linux < 16.38 * 9 / 8, (
        "4 ms x (1 + 2 + ... + 2^11); Linux's timers may be an eighth late"
    )
