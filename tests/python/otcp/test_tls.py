# SPDX-License-Identifier: MIT OR Apache-2.0
"""Open vSwitch by TLS: its certificate names the switches that it may be."""

from __future__ import annotations

import json
from pathlib import Path

from controller_beside import ControllerBeside
from fabric import until

from conftest import need_module

need_module("os_ken", "otcp")
need_module("cryptography", "otcp")

from networks import tables
from openvswitch import OpenVSwitch, open_vswitch

from etalon_otcp.demo.authority import Authority

FILE = f"""
[measure]
samples = 10
[network]
queue = "90kB"
rate = "1Gbps"
{tables("t1", "t2", "t3")}"""


def tells(switch: OpenVSwitch, bridge: str) -> bool:
    """Whether a bridge sees itself connected."""
    return "true" in switch.vsctl("get", "controller", bridge, "is_connected")


def test_a_switch_is_who_its_certificate_says(tmp_path: Path) -> None:
    ours, others = Authority(tmp_path, "ca"), Authority(tmp_path, "other")
    ours.sign("controller", "controller")
    files = 'certificate = "controller.pem"\nkey = "controller.key"\nclient_ca = "ca.pem"'
    with (
        ControllerBeside(tmp_path, FILE, files) as controller,
        open_vswitch(tmp_path / "honest") as honest,
        open_vswitch(tmp_path / "liar") as liar,
        open_vswitch(tmp_path / "stranger") as stranger,
    ):
        where = f"ssl:127.0.0.1:{controller.port}"

        def shows(switch: OpenVSwitch, *certificate: Path) -> None:
            switch.vsctl("set-ssl", *map(str, certificate), str(ours.file))

        shows(honest, *ours.sign("honest", "t1", ("t3", "0000000000000001")))
        shows(liar, *ours.sign("liar", "anybody", ("0000000000000002",)))
        shows(stranger, *others.sign("stranger", "t1"))
        honest.bridge("b1", 1, where)
        honest.bridge("b3", 3, where)
        for one, peer in (("b1", "b3"), ("b3", "b1")):
            patch = ["type=patch", f"options:peer=to-{one}"]
            honest.vsctl("add-port", one, f"to-{peer}", "--", "set", "interface", f"to-{peer}", *patch)  # fmt: skip

        def there() -> set[str]:
            found = json.loads(controller.get("/v1/topology"))
            return {one["name"] for one in found["switches"]}

        until(lambda: len(json.loads(controller.get("/v1/topology"))["links"]) == 2)
        assert there() == {"t1", "t3"}
        assert controller.metric("etalon_otcp_switches_refused_total") == 0

        # Another's certificate, by the same authority: it may be t2, not t1, which the honest one stays.
        liar.bridge("b1", 1, where)
        liar.vsctl("add-port", "b1", "p1", "--", "set", "interface", "p1", "type=dummy")
        until(lambda: controller.metric("etalon_otcp_switches_refused_total") >= 2)
        log = controller.log.read_text()
        assert "a certificate of 0000000000000002, anybody claims to be switch t1" in log
        until(lambda: tells(honest, "b1"))  # Open vSwitch says so every five seconds
        assert there() == {"t1", "t3"} and "is gone" not in controller.log.read_text()
        liar.vsctl("set", "bridge", "b1", "other-config:datapath-id=0000000000000002")
        until(lambda: there() == {"t1", "t2", "t3"} and tells(liar, "b1"))

        # A certificate by another authority, or none: no TLS.
        stranger.bridge("b1", 1, where)
        until(lambda: "no TLS" in controller.log.read_text())
        assert not tells(stranger, "b1") and there() == {"t1", "t2", "t3"}
        assert "could not be handled" not in controller.log.read_text()
