# SPDX-License-Identifier: MIT OR Apache-2.0
"""A log for those who have to answer for it: who asked for what, and what was told to whom, when. A JSON object a line."""

from __future__ import annotations

import datetime
import json
import logging
import os
from collections import defaultdict
from collections.abc import Iterable
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from etalon.errors import EtalonError
from etalon_otcp.publication import Document

LARGEST = 64 << 20
"""Bytes of a file; the last `KEPT` are kept beside it."""
KEPT = 8


class _Handler(RotatingFileHandler):
    """Each file of the log is its owner's only, those after a rotation, too."""

    def _open(self) -> TextIOWrapper:
        return open(self.baseFilename, "a", opener=_own)


def _own(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


class Audit:
    """Writes the log; without a file it writes nothing.

    Raises:
        EtalonError: if the file cannot be written.
    """

    def __init__(self, path: Path | None) -> None:
        self._log: logging.Logger | None = None
        if path is None:
            return
        try:
            handler = _Handler(path, maxBytes=LARGEST, backupCount=KEPT)
        except OSError as error:
            raise EtalonError(f"{path}: cannot be written: {error.strerror}") from None
        handler.setFormatter(logging.Formatter("%(message)s"))
        self._log = logging.Logger("audit", logging.INFO)
        self._log.addHandler(handler)

    def asked(self, who: str, address: str, method: str, path: str, status: int) -> None:
        """A request, and its answer's status; `who` as `host h1` or `operator alice`, empty for strangers."""
        self._write("asked", who=who, address=address, method=method, path=path, status=status)

    def told(self, documents: Iterable[Document]) -> None:
        """Documents that were published, those alike together."""
        alike: dict[int, list[Document]] = defaultdict(list)
        for document in documents:
            alike[id(document.routes_json)].append(document)
        for group in alike.values():
            first, hosts = group[0], sorted(document.host for document in group)
            routes = [route.fields() for route in first.routes]
            self._write(
                "told", epoch=first.epoch, version=first.version, hosts=hosts, routes=routes
            )

    def close(self) -> None:
        """Nothing is written any more."""
        for handler in self._log.handlers if self._log else ():
            handler.close()
        self._log = None

    def _write(self, what: str, **more: Any) -> None:
        if self._log:
            at = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
            self._log.info(json.dumps({"at": at, "what": what} | more))
