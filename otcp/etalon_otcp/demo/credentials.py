# SPDX-License-Identifier: MIT OR Apache-2.0
"""The demonstration's own authority, certificate, tokens and controller's file."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

from etalon_otcp.demo.authority import Authority
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
        'damping = "0s"',  # `--failures` has one link fail again and again
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
    ours = Authority(folder, "ca", "OTCP demonstration")
    ours.sign("controller", "controller", addresses=[CONTROL])
