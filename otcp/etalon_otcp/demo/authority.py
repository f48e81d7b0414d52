# SPDX-License-Identifier: MIT OR Apache-2.0
"""An authority that signs certificates for a day: the demonstration's, and the tests'."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """Its own certificate is `name.pem` in the folder; nobody else has its key. `common` is its common name."""

    def __init__(self, folder: Path, name: str, common: str = "") -> None:
        self.file = folder / f"{name}.pem"
        self._folder, self._name = folder, common or name
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._write(self.file, self._name, (), self._key)

    def sign(
        self, file: str, common: str, dns: Iterable[str] = (), addresses: Iterable[str] = ()
    ) -> tuple[Path, Path]:
        """Writes a key that only its owner can read, and a certificate with these names: `file.key` and `file.pem`."""
        key = ec.generate_private_key(ec.SECP256R1())
        form = serialization.PrivateFormat.PKCS8
        pem = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
        private, public = self._folder / f"{file}.key", self._folder / f"{file}.pem"
        private.touch(mode=0o600)
        private.write_bytes(pem)
        names: list[x509.GeneralName] = [x509.DNSName(name) for name in dns]
        names += [x509.IPAddress(ip_address(one)) for one in addresses]
        self._write(public, common, names, key)
        return private, public

    def _write(
        self,
        file: Path,
        common: str,
        names: Sequence[x509.GeneralName],
        key: ec.EllipticCurvePrivateKey,
    ) -> None:
        day, now = datetime.timedelta(days=1), datetime.datetime.now(datetime.UTC)
        builder = x509.CertificateBuilder(_name(self._name), _name(common), key.public_key())
        builder = builder.serial_number(x509.random_serial_number())
        builder = builder.not_valid_before(now - day).not_valid_after(now + day)
        ca = x509.BasicConstraints(ca=key is self._key, path_length=None)
        builder = builder.add_extension(ca, critical=True)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        made = builder.sign(self._key, hashes.SHA256())
        file.write_bytes(made.public_bytes(serialization.Encoding.PEM))


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])
