"""Asks a running controller."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from etalon.errors import EtalonError

TIMEOUT_S = 10.0
DEFAULT_URL = "http://127.0.0.1:8080"


@dataclass(frozen=True)
class Client:
    """Where the controller is; a file with an operator's token and the CA of its certificate, if need be."""

    url: str = DEFAULT_URL
    token_file: Path | None = None
    ca: Path | None = None

    def get(self, path: str) -> Any:
        """The JSON document at a path. Raises EtalonError with the controller's sentence."""
        return json.loads(self.text(path))

    def post(self, path: str) -> Any:
        """The JSON answer to an empty POST. Raises EtalonError."""
        return json.loads(self.text(path, "POST"))

    def text(self, path: str, method: str = "GET") -> str:
        """The body as text. Raises EtalonError."""
        request = urllib.request.Request(f"{self.url.rstrip('/')}{path}", method=method)
        try:
            if self.token_file:
                token = self.token_file.read_text().strip()
                request.add_header("Authorization", f"Bearer {token}")
            context = (
                ssl.create_default_context(cafile=self.ca) if self.url.startswith("https") else None
            )
            with urllib.request.urlopen(request, timeout=TIMEOUT_S, context=context) as answer:
                return str(answer.read().decode())
        except urllib.error.HTTPError as error:
            raise EtalonError(f"{self.url}: {_sentence(error)}") from None
        except urllib.error.URLError as error:
            raise EtalonError(f"{self.url}: no controller answers ({error.reason})") from None
        except (OSError, ValueError) as error:
            raise EtalonError(f"{self.url}: {error}") from None


def _sentence(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(error.read())["error"])
    except (ValueError, KeyError, TypeError):
        return f"status {error.code}"
