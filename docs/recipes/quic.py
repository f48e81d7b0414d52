# SPDX-License-Identifier: MIT OR Apache-2.0
"""A transfer over QUIC (docs/recipes/programs.md): `quic.py serve`, `quic.py send HOST BYTES`. Needs `pip install aioquic`."""

from __future__ import annotations

import asyncio
import datetime
import ssl
import sys
import time
from contextlib import suppress
from typing import Any

from aioquic.asyncio import connect, serve
from aioquic.quic.configuration import QuicConfiguration
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

PORT = 4433


def configuration(is_client: bool) -> Any:
    """Datagrams of 1,400 bytes, and windows that limit nothing."""
    made = QuicConfiguration(is_client=is_client, alpn_protocols=["bulk"], max_datagram_size=1400)
    made.max_data = made.max_stream_data = 1 << 30
    made.verify_mode = ssl.CERT_NONE
    return made


def certificate() -> tuple[Any, Any]:
    """A certificate that nobody signed, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "server")])
    born = datetime.datetime(1970, 1, 1)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).serial_number(1)
    builder = builder.not_valid_before(born).not_valid_after(born.replace(year=2070))
    return builder.public_key(key.public_key()).sign(key, hashes.SHA256()), key


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Reads all of a stream, and answers how much it was."""
    count = 0
    while piece := await reader.read(1 << 20):
        count += len(piece)
    writer.write(str(count).encode())
    writer.write_eof()


async def listen() -> None:
    """Serves until it is interrupted."""
    made, tasks = configuration(is_client=False), set()
    made.certificate, made.private_key = certificate()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.ensure_future(answer(reader, writer)))

    await serve("0.0.0.0", PORT, configuration=made, stream_handler=accept)
    await asyncio.Event().wait()


async def send(host: str, size: int) -> None:
    """Sends, and prints how long it took until the answer was there."""
    async with connect(host, PORT, configuration=configuration(is_client=True)) as connection:
        reader, writer = await connection.create_stream()
        start = time.monotonic()
        writer.write(bytes(size))
        writer.write_eof()
        count = int(await reader.read())
        took = time.monotonic() - start
        print(f"{count} bytes in {took * 1e3:.1f} ms: {8e-9 * count / took:.2f} Gb/s")


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(listen() if sys.argv[1] == "serve" else send(sys.argv[2], int(sys.argv[3])))
