# SPDX-License-Identifier: MIT OR Apache-2.0
"""A whole controller as a process: `etalon otcp controller`, on ports of its own."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

from fabric import until
from sockets import keep_port


class ControllerBeside:
    """Runs from `start` to `end` or `kill`, as often as one likes; it writes its log to `log`.

    `text` is its file without `openflow.listen` and `api`; `openflow` is what else [openflow] holds.
    """

    def __init__(self, folder: Path, text: str, openflow: str = "", api: str = "") -> None:
        self._kept = keep_port(), keep_port()
        self.port, api_port = (one.getsockname()[1] for one in self._kept)
        self.url = f"http://127.0.0.1:{api_port}"
        self.file, self.log = folder / "controller.toml", folder / "controller.log"
        self.file.write_text(
            f'{text}\n[openflow]\nlisten = "127.0.0.1:{self.port}"\n{openflow}\n'
            f'[api]\nlisten = "127.0.0.1:{api_port}"\nrequests_per_minute = 12000\n{api}\n'
        )
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> ControllerBeside:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        for one in self._kept:
            one.close()

    def start(self) -> None:
        words = [sys.executable, "-m", "etalon", "otcp", "controller", str(self.file), "-v"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log)
        until(self.answers, 60)

    def answers(self) -> bool:
        assert self.process and self.process.poll() is None, self.log.read_text()
        try:
            return bool(self.get("/v1/health"))
        except OSError:
            return False

    def get(self, path: str, method: str = "GET") -> str:
        """Raises OSError if nobody answers, or not with 2xx."""
        asked = urllib.request.Request(self.url + path, method=method)
        with urllib.request.urlopen(asked, timeout=10) as answer:
            text: str = answer.read().decode()
            return text

    def metric(self, name: str) -> float:
        """The sum of a metric's values."""
        found = re.findall(rf"^{name}(?:{{.*}})? ([0-9.e+-]+)$", self.get("/metrics"), re.M)
        return sum(map(float, found))

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def end(self) -> None:
        self._send(signal.SIGTERM)

    def _send(self, number: int) -> None:
        if self.process:
            self.process.send_signal(number)
            self.process.wait(20)
            self.process = None
