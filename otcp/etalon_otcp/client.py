# SPDX-License-Identifier: MIT OR Apache-2.0
"""Asks a running controller."""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import json
import ssl
import urllib.parse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from etalon.errors import EtalonError, PlanError
from etalon.files import LARGEST
from etalon.units import shown

TIMEOUT_S = 10.0
LONGEST_TOKEN = 4096
"""Characters."""
DEFAULT_URL = "http://127.0.0.1:8443"


@dataclass(frozen=True)
class Client:
    """Where the controller is; a file with an operator's token and the CA of its certificate, if need be."""

    url: str = DEFAULT_URL
    token_file: Path | None = None
    ca: Path | None = None

    def get(self, path: str) -> Any:
        """The JSON document at a path. Raises EtalonError with the controller's sentence."""
        return self._json(path, "GET")

    def post(self, path: str) -> Any:
        """The JSON answer to an empty POST. Raises EtalonError."""
        return self._json(path, "POST")

    def _json(self, path: str, method: str) -> Any:
        try:
            return json.loads(self.text(path, method))
        except (ValueError, RecursionError):
            raise self._no_controller() from None

    def text(self, path: str, method: str = "GET") -> str:
        """The body as text. Raises EtalonError."""
        status, content = self._ask(path, method)
        if len(content) > LARGEST:
            raise self._no_controller(f": it sends more than {LARGEST >> 20} MiB")
        if 300 <= status < 400:  # not followed: the token is for this address only
            raise self._no_controller(": it redirects to another address")
        if not 200 <= status < 300:
            raise EtalonError(f"{self.url}: {_sentence(status, content)}")
        try:
            return content.decode()
        except UnicodeDecodeError:
            raise self._no_controller() from None

    def _ask(self, path: str, method: str) -> tuple[int, bytes]:
        """Status and body, of which no more than shows that it is too large. Asks the address itself, by no proxy."""
        token = self._token()
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        with contextlib.ExitStack() as stack:
            try:
                connection, base = self._connection(bool(token))
                stack.callback(connection.close)
                connection.request(method, f"{base}{path}", headers=headers)
            except OSError as error:  # a certificate's error is a ValueError too
                raise EtalonError(f"{self.url}: no controller answers ({error})") from None
            except (ValueError, http.client.InvalidURL):
                sentence = f'{shown(self.url)} is no address like "{DEFAULT_URL}"'
                raise PlanError(sentence, key="--url", value=self.url) from None
            try:
                answer = stack.enter_context(connection.getresponse())
                content = answer.read(LARGEST + 1)
                if answer.length and len(content) <= LARGEST:
                    raise http.client.IncompleteRead(content, answer.length)
            except (OSError, http.client.HTTPException) as error:
                raise EtalonError(f"{self.url}: no whole answer comes: {error}") from None
        return answer.status, content

    def _connection(self, secret: bool) -> tuple[http.client.HTTPConnection, str]:
        """One that is not open yet, and what paths begin with. Raises ValueError and InvalidURL."""
        where = urllib.parse.urlsplit(self.url)
        name = where.hostname
        if where.scheme not in ("http", "https") or not name:
            raise ValueError
        base = where.path.rstrip("/")
        if where.scheme == "https":
            port = where.port or http.client.HTTPS_PORT
            return http.client.HTTPSConnection(
                name, port, timeout=TIMEOUT_S, context=self._context()
            ), base
        port = where.port or http.client.HTTP_PORT
        if secret and not _is_loopback(name):
            sentence = f"{shown(self.url)} would carry the token in the clear: expected https://, or localhost"
            raise PlanError(sentence, key="--url", value=self.url)
        return http.client.HTTPConnection(name, port, timeout=TIMEOUT_S), base

    def _no_controller(self, reason: str = "") -> EtalonError:
        return EtalonError(f"{self.url}: what answers is no controller{reason}")

    def _context(self) -> ssl.SSLContext:
        """What the controller's certificate is checked against."""
        try:
            return ssl.create_default_context(cafile=self.ca)
        except OSError as error:
            sentence = f"is no CA's certificate in PEM: {error.strerror or error}"
            raise PlanError(sentence, file=str(self.ca)) from None

    def _token(self) -> str:
        """What the file holds, if there is one."""
        if self.token_file is None:
            return ""
        try:
            with self.token_file.open("rb") as stream:
                token = stream.read(LONGEST_TOKEN + 1).decode("ascii").strip()
        except OSError as error:
            sentence = f"cannot be read: {error.strerror}"
            raise PlanError(sentence, file=str(self.token_file)) from None
        except UnicodeDecodeError:
            token = ""
        if not token.isprintable() or not 0 < len(token) <= LONGEST_TOKEN:
            sentence = "is expected to hold one token, on one line"
            raise PlanError(sentence, file=str(self.token_file))
        return token


def _is_loopback(name: str) -> bool:
    """By what the address says: what another name stands for, others may decide."""
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _sentence(status: int, content: bytes) -> str:
    try:
        return str(json.loads(content)["error"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return f"status {status}"
