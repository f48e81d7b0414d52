# SPDX-License-Identifier: MIT OR Apache-2.0
"""The demonstration's own authority, certificate, tokens and controller's file."""

from __future__ import annotations

import datetime
import ipaddress
import json
import secrets
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from etalon_otcp.demo.layout import QUEUE_BYTES, RATE_BPS, Layout
from etalon_otcp.demo.network import API_PORT, CONTROL, OPENFLOW_PORT

OPERATOR = "operator"


def write(folder: Path, layout: Layout, databases: list[str], settings: dict[str, Any]) -> Path:
    """Writes all of it into the folder; returns the controller's file. Each name's token is in NAME.token."""
    certificates(folder)
    tokens = {
        name: secrets.token_urlsafe(32) for name in (OPERATOR, *(h.name for h in layout.hosts))
    }
    for name, token in tokens.items():
        _private(folder / f"{name}.token", token)
    lines = ["[hosts]", *(f'{h.name} = "{tokens[h.name]}"' for h in layout.hosts)]
    lines += ["[operators]", f'{OPERATOR} = "{tokens[OPERATOR]}"']
    _private(folder / "tokens.toml", "\n".join(lines))
    file = folder / "controller.toml"
    file.write_text("\n".join(_controller(layout, databases, settings)))
    return file


def _controller(layout: Layout, databases: list[str], settings: dict[str, Any]) -> list[str]:
    """The controller is told names, addresses and queues, and rates where devices are veth; it finds out the rest."""
    how = "\n".join(
        f"{key} = {json.dumps(settings[key])}" for key in ("samples", "calibrate", "statistic")
    )
    lines = [
        'state = "state.json"',
        f'[openflow]\nlisten = "{CONTROL}:{OPENFLOW_PORT}"\nplain_text = true',
        f'[api]\nlisten = "{CONTROL}:{API_PORT}"\ntokens = "tokens.toml"',
        'certificate = "controller.pem"\nkey = "controller.key"\nrequests_per_minute = 600',
        f"[measure]\n{how}",
        f'[network]\nqueue = "{QUEUE_BYTES // 1000}kB"\novsdb = {json.dumps(databases)}',
    ]
    for name, dpid in layout.switches.items():
        lines.append(f'[[switch]]\nname = "{name}"\ndpid = "{dpid:x}"')
        for port in layout.ports(name) if settings["emulated"] else ():
            lines.append(f'[[switch.port]]\nname = "{port}"\nrate = "{RATE_BPS // 10**9}Gbps"')
    lines += [f'[[host]]\nname = "{h.name}"\naddresses = ["{h.address}"]' for h in layout.hosts]
    return lines


def _private(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text)


def certificates(folder: Path) -> None:
    """An authority (ca.pem) and the controller's certificate by it."""
    ca_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    ca_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "OTCP demonstration")])
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "controller")])
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(CONTROL))])
    day, now = datetime.timedelta(days=1), datetime.datetime.now(datetime.UTC)
    for subject, public, file, ca in (
        (ca_name, ca_key.public_key(), "ca.pem", True),
        (name, key.public_key(), "controller.pem", False),
    ):
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(ca_name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - day)
            .not_valid_after(now + day)
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        )
        builder = builder if ca else builder.add_extension(address, critical=False)
        made = builder.sign(ca_key, hashes.SHA256())
        (folder / file).write_bytes(made.public_bytes(serialization.Encoding.PEM))
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    _private(folder / "controller.key", pem.decode())
