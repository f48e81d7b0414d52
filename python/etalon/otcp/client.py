"""Asks a running controller."""

from __future__ import annotations

import http.client
import json
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from etalon.errors import EtalonError, PlanError
from etalon.units import shown

TIMEOUT_S = 10.0
LONGEST_TOKEN = 4096
"""Characters."""
DEFAULT_URL = "http://127.0.0.1:8080"


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
        except ValueError:
            raise EtalonError(f"{self.url}: what answers is no controller") from None

    def text(self, path: str, method: str = "GET") -> str:
        """The body as text. Raises EtalonError."""
        token = self._token()
        try:
            if not self.url.startswith(("http://", "https://")):
                raise ValueError
            request = urllib.request.Request(f"{self.url.rstrip('/')}{path}", method=method)
            if token:
                request.add_header("Authorization", f"Bearer {token}")
            context = self._context() if request.type == "https" else None
            with urllib.request.urlopen(request, timeout=TIMEOUT_S, context=context) as answer:
                return str(answer.read().decode())
        except urllib.error.HTTPError as error:
            raise EtalonError(f"{self.url}: {_sentence(error)}") from None
        except urllib.error.URLError as error:
            raise EtalonError(f"{self.url}: no controller answers ({error.reason})") from None
        except (ValueError, http.client.InvalidURL):
            sentence = f'{shown(self.url)} is no address like "{DEFAULT_URL}"'
            raise PlanError(sentence, key="--url", value=self.url) from None
        except (OSError, http.client.HTTPException) as error:
            raise EtalonError(f"{self.url}: {error}") from None

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


def _sentence(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(error.read())["error"])
    except (ValueError, KeyError, TypeError):
        return f"status {error.code}"
