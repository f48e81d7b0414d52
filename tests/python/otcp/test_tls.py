# SPDX-License-Identifier: MIT OR Apache-2.0
"""Open vSwitch by TLS: its certificate names the switches that it may be."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

from controller_beside import ControllerBeside
from fabric import until

from conftest import need_module

need_module("os_ken", "otcp")

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from openvswitch import OpenVSwitch, open_vswitch

FILE = """
[measure]
samples = 10
[network]
queue = "90kB"
rate = "1Gbps"
[[switch]]
name = "t1"
dpid = "1"
[[switch]]
name = "t2"
dpid = "2"
[[switch]]
name = "t3"
dpid = "3"
"""


class Authority:
    """Signs certificates; its own is `name.pem` in the folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name, self._key = folder, name, ec.generate_private_key(ec.SECP256R1())
        self._write(name, name, (), self._key)
        self.file = folder / f"{name}.pem"

    def sign(self, file: str, common: str, dns: tuple[str, ...] = ()) -> tuple[Path, Path]:
        """A key and a certificate with these names."""
        key = ec.generate_private_key(ec.SECP256R1())
        form = serialization.PrivateFormat.PKCS8
        pem = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
        (self._folder / f"{file}.key").write_bytes(pem)
        self._write(file, common, dns, key)
        return self._folder / f"{file}.key", self._folder / f"{file}.pem"

    def _write(
        self, file: str, common: str, dns: tuple[str, ...], key: ec.EllipticCurvePrivateKey
    ) -> None:
        def named(name: str) -> x509.Name:
            return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])

        day, now = datetime.timedelta(days=1), datetime.datetime.now(datetime.UTC)
        builder = x509.CertificateBuilder(named(self._name), named(common), key.public_key())
        builder = builder.serial_number(x509.random_serial_number())
        builder = builder.not_valid_before(now - day).not_valid_after(now + day)
        ca = x509.BasicConstraints(ca=key is self._key, path_length=None)
        builder = builder.add_extension(ca, critical=True)
        if dns:
            other = x509.SubjectAlternativeName([x509.DNSName(name) for name in dns])
            builder = builder.add_extension(other, critical=False)
        made = builder.sign(self._key, hashes.SHA256())
        (self._folder / f"{file}.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))


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
