# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rates and queues of ports from Open vSwitch's database (RFC 7047: JSON-RPC over a stream)."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from typing import Any

from etalon_otcp.topology import Given

PACKET_BYTES = 1500
"""What a packet of a queue counts for, where its limit is in packets."""
QUEUE_KEY = "otcp-queue-bytes"
"""Port's external_ids: a switch's buffer, which the database does not know by itself."""
TIMEOUT_S = 2.0
MOST_BYTES = 64 << 20
_COLUMNS = {
    "Bridge": ["datapath_id", "ports"],
    "Port": ["_uuid", "name", "qos", "external_ids"],
    "QoS": ["_uuid", "type", "other_config", "queues"],
    "Queue": ["_uuid", "other_config"],
}


class Unreachable(Exception):
    """The database does not answer as one; the message says how."""


def ask(remote: str) -> dict[tuple[int, str], Given]:
    """What a database says of ports, by datapath id and port name. `remote` is `unix:PATH` or `tcp:ADDRESS:PORT`.

    Raises:
        Unreachable: if it does not answer.
    """
    selects = [
        {"op": "select", "table": table, "where": [], "columns": columns}
        for table, columns in _COLUMNS.items()
    ]
    try:
        with _connect(remote) as stream:
            request = {"method": "transact", "params": ["Open_vSwitch", *selects], "id": 1}
            stream.sendall(json.dumps(request).encode())
            answer = _receive(stream)
        tables = dict(zip(_COLUMNS, (part["rows"] for part in answer["result"]), strict=True))
        return read(tables)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Unreachable(f"{remote}: {error}") from None


def read(tables: Mapping[str, list[dict[str, Any]]]) -> dict[tuple[int, str], Given]:
    """From the rows of the tables to what they say of ports."""
    ports = {_uuid(row["_uuid"]): row for row in tables["Port"]}
    qos = {_uuid(row["_uuid"]): row for row in tables["QoS"]}
    queues = {_uuid(row["_uuid"]): _map(row["other_config"]) for row in tables["Queue"]}
    found: dict[tuple[int, str], Given] = {}
    for bridge in tables["Bridge"]:
        dpid = _optional(bridge["datapath_id"])
        if dpid is None:
            continue
        for uuid in _set(bridge["ports"]):
            port = ports.get(uuid)
            given = _port(port, qos, queues) if port else Given()
            if port and given != Given():
                found[int(dpid, 16), port["name"]] = given
    return found


def _port(
    port: dict[str, Any], qos: dict[str, dict[str, Any]], queues: dict[str, dict[str, str]]
) -> Given:
    """The slowest of QoS and its queue 0, and the bytes that it holds."""
    rates: list[int] = []
    size = _number(_map(port["external_ids"]).get(QUEUE_KEY))
    for uuid in _set(port["qos"]):
        row = qos.get(uuid)
        if row is None:
            continue
        config = _map(row["other_config"])
        default = _map(row["queues"]).get("0")
        for source in (config, queues.get(default, {}) if default else {}):
            if rate := _number(source.get("max-rate")):
                rates.append(rate)
        if size is None and (limit := _number(config.get("limit"))):
            size = limit * PACKET_BYTES
    return Given(min(rates, default=None), size)


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and int(text) > 0 else None


def _map(value: Any) -> dict[str, str]:
    """`["map", [[key, value], ...]]`; a value that is a reference becomes its UUID."""
    return {
        str(key): _uuid(entry) if isinstance(entry, list) else str(entry) for key, entry in value[1]
    }


def _set(value: Any) -> list[str]:
    """A set of references: `["uuid", U]` alone, or `["set", [...]]`."""
    if value[0] == "uuid":
        return [value[1]]
    return [_uuid(entry) for entry in value[1]]


def _optional(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _uuid(value: Any) -> str:
    return str(value[1])


def _connect(remote: str) -> socket.socket:
    kind, _, place = remote.partition(":")
    if kind == "unix":
        stream = socket.socket(socket.AF_UNIX)
        stream.settimeout(TIMEOUT_S)
        try:
            stream.connect(place)
        except OSError:
            stream.close()
            raise
        return stream
    if kind == "tcp":
        host, _, port = place.rpartition(":")
        return socket.create_connection((host.strip("[]"), int(port)), TIMEOUT_S)
    raise ValueError("write it as unix:PATH or tcp:ADDRESS:PORT")


def _receive(stream: socket.socket) -> Any:
    """One JSON document; the stream stays open behind it."""
    data = b""
    while len(data) < MOST_BYTES:
        part = stream.recv(1 << 20)
        if not part:
            raise ValueError("closed")
        data += part
        if data.rstrip().endswith(b"}"):
            try:
                return json.loads(data)
            except ValueError:
                continue
    raise ValueError("too long an answer")
