# SPDX-License-Identifier: MIT OR Apache-2.0
"""A log for those who have to answer for it: who asked for what, and what was told to whom, when. A JSON object a line."""

from __future__ import annotations

import contextlib
import datetime
import json
import logging
import os
import stat
import sys
from collections import defaultdict
from collections.abc import Iterable
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from etalon.errors import EtalonError
from etalon_otcp.publication import Document

LOG = logging.getLogger("etalon_otcp")
LARGEST = 64 << 20
"""Bytes of a file; the last `KEPT` are kept beside it."""
KEPT = 8
LONGEST = 160
"""Characters of a path; those of the API have 138 at most, with two names of 63."""


class _Handler(RotatingFileHandler):
    """Each file of the log is its owner's only, after a rotation too. A full disk is reported once.

    A line that was written in part, by a full disk or a controller that was killed, stays a line: the next one begins anew.
    """

    failure = ""
    _failed = False

    def emit(self, record: logging.LogRecord) -> None:
        self._failed = False
        super().emit(record)
        if self.failure and not self._failed:
            LOG.warning("%s: written again; lines may be missing", self.baseFilename)
            self.failure = ""

    def handleError(self, record: logging.LogRecord) -> None:
        self._failed = True
        if not self.failure:
            self.failure = (
                f"{self.baseFilename}: the audit log cannot be written: {sys.exception()}"
            )
            LOG.error("%s", self.failure)
        if self.stream:
            with contextlib.suppress(OSError):
                self.stream.close()
            self.stream = None  # the next line opens it

    def _open(self) -> TextIOWrapper:
        stream = open(self.baseFilename, "a", opener=_own)  # noqa: SIM115, the handler's to close
        try:
            if _is_torn(stream.fileno()):
                os.write(stream.fileno(), b"\n")
        except OSError:
            stream.close()
            raise
        return stream


def _cut(text: str) -> str:
    """What strangers wrote, no longer than what this API has: long lines would push out what older files say."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _is_torn(file: int) -> bool:
    """Whether the last line has no end."""
    status = os.fstat(file)
    if not stat.S_ISREG(status.st_mode) or not status.st_size:
        return False
    return os.pread(file, 1, status.st_size - 1) != b"\n"


def _own(path: str, flags: int) -> int:
    return os.open(path, flags & ~os.O_WRONLY | os.O_RDWR, 0o600)  # read too: see `_is_torn`


class Audit:
    """Writes the log; without a file it writes nothing.

    Raises:
        EtalonError: if the file cannot be written.
    """

    def __init__(self, path: Path | None) -> None:
        self._log: logging.Logger | None = None
        self._handler: _Handler | None = None
        if path is None:
            return
        try:
            handler = _Handler(path, maxBytes=LARGEST, backupCount=KEPT)
        except OSError as error:
            raise EtalonError(f"{path}: cannot be written: {error.strerror}") from None
        handler.setFormatter(logging.Formatter("%(message)s"))
        self._log = logging.Logger("audit", logging.INFO)
        self._log.addHandler(handler)
        self._handler = handler

    @property
    def failure(self) -> str:
        """Why the last line could not be written; empty if it could."""
        return self._handler.failure if self._handler else ""

    def asked(self, who: str, address: str, method: str, path: str, status: int) -> None:
        """A request, and its answer's status; `who` as `host h1` or `operator alice`, empty for strangers."""
        asked = {"method": _cut(method), "path": _cut(path)}
        self._write("asked", who=who, address=address, **asked, status=status)

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
            with contextlib.suppress(OSError):  # on a full disk, which was reported
                handler.close()
        self._log = None

    def _write(self, what: str, **more: Any) -> None:
        if self._log:
            at = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
            self._log.info(json.dumps({"at": at, "what": what} | more))
