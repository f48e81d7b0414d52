# SPDX-License-Identifier: MIT OR Apache-2.0
"""Who asks: a host or an operator, by a token from a file.

Tokens are looked up by their hashes, so that ten thousand take no longer than one, and how long it takes tells nothing of
a token: nobody can choose what a guess's hash begins with.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
import time
from dataclasses import dataclass
from pathlib import Path

from etalon import files
from etalon.errors import PlanError
from etalon_otcp.config import NAME

SHORTEST = 16
"""Characters of a token."""
_HASHED = re.compile(r"^sha256:[0-9a-f]{64}$")
_LOOK_EVERY_S = 1.0


@dataclass(frozen=True)
class Identity:
    """Whose token it was."""

    name: str
    operator: bool

    def __str__(self) -> str:
        return f"{'operator' if self.operator else 'host'} {self.name}"


NOBODY_ELSE = Identity("operator", True)
"""Who asks where there are no tokens, on loopback."""


class Tokens:
    """The tokens of a TOML file with tables `hosts` and `operators`: name = token, or "sha256:" and its hash.

    The file is read again when it changes; one that cannot be read then leaves the last good one in force.

    Raises:
        PlanError: if it cannot be used at the start.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = _read(path)
        self._stamp = _stamp(path)
        self._looked = time.monotonic()
        self.complaint = ""

    def who(self, token: str) -> Identity | None:
        """Whose token this is."""
        self._look()
        return self._known.get(hashlib.sha256(token.encode()).digest())

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._looked < _LOOK_EVERY_S:
            return
        self._looked = now
        stamp = _stamp(self._path)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._known, self.complaint = _read(self._path), ""
        except PlanError as error:
            self.complaint = str(error)


def make() -> tuple[str, str]:
    """A new token, and what to write into the file in its stead."""
    token = secrets.token_urlsafe(32)
    return token, f"sha256:{hashlib.sha256(token.encode()).hexdigest()}"


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _read(path: Path) -> dict[bytes, Identity]:
    def private(descriptor: int) -> None:  # of what is read, whatever has the name by then
        if os.fstat(descriptor).st_mode & (stat.S_IROTH | stat.S_IWOTH):
            raise PlanError("is open to everybody on this machine: chmod o-rw", file=str(path))

    tables = files.toml_of(path, "file of tokens", private)
    known: dict[bytes, Identity] = {}
    for table, entries in tables.items():
        if table not in ("hosts", "operators") or not isinstance(entries, dict):
            raise PlanError("tables are [hosts] and [operators]", key=table, file=str(path))
        for name, token in entries.items():
            key = f"{table}.{name}"
            digest = _digest(name, token, key, path)
            if digest in known:
                raise PlanError("a token is there twice", key=key, file=str(path))
            known[digest] = Identity(name, table == "operators")
    return known


def _digest(name: str, token: object, key: str, path: Path) -> bytes:
    if not re.match(NAME, name):
        raise PlanError("names are letters, digits, '.', '_' and '-'", key=key, file=str(path))
    if not isinstance(token, str):
        raise PlanError("a token is text", key=key, file=str(path))
    if _HASHED.match(token):
        return bytes.fromhex(token[7:])
    if token.startswith("sha256:"):
        raise PlanError("behind sha256: stand 64 hexadecimal digits", key=key, file=str(path))
    if len(token) < SHORTEST:
        sentence = f"a token has {SHORTEST} characters or more; etalon otcp token makes one"
        raise PlanError(sentence, key=key, file=str(path))
    return hashlib.sha256(token.encode()).digest()
