# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs the tools of a build: their output goes to the log, and none outlives an interruption."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from etalon.errors import EtalonError

SHOWN = 10
"""Lines of the log that an error shows."""
TELLING = re.compile(r"\berror\b|undefined reference|No such file|No space left|Unable to", re.I)
"""Lines that say why, which need not be the last ones where several compilers run at once."""
HEEDED = (
    "MAKE",
    "MFLAGS",
    "CFLAGS",
    "LDFLAGS",
    "KC",
    "KBUILD",
    "ARCH",
    "SUBARCH",
    "CROSS_",
    "LOCALVERSION",
)
"""Beginnings of environment variables that a kernel's build would heed."""
GUARDED = """\
exec 3<&0 </dev/null
{ read -r _ <&3; kill -TERM 0; } >/dev/null 2>&1 &
exec 3<&-
exec "$@"
"""
"""Runs a command beside a guard, which ends all of it once nobody holds the other end of its standard input any more:
a tool that says nothing would not notice that this process was killed, nor would those that it has started."""


class Failed(EtalonError):
    """A tool that ended with an error; the message shows the end of the log and says where all of it is."""


class Log:
    """A log file and the commands that write to it. It is removed if the block ends well."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.last: deque[str] = deque(maxlen=SHOWN)
        self.telling: list[str] = []
        self.file: IO[str] | None = None

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.file = self.path.open("w", encoding="utf-8")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self.file is not None
        self.file.close()
        if not isinstance(error, Failed):
            self.path.unlink(missing_ok=True)

    def run(
        self,
        command: Sequence[str | Path],
        what: str,
        *,
        folder: Path,
        environment: Mapping[str, str] | None = None,
        each_line: Callable[[str], None] | None = None,
    ) -> None:
        """Runs a command to its end; raises `Failed`, saying that `what` failed, if it ends with an error."""
        assert self.file is not None
        self.last.clear()
        self.telling.clear()
        print("$", *command, file=self.file, flush=True)
        with subprocess.Popen(
            ["sh", "-c", GUARDED, "sh", *command],
            cwd=folder,
            env=clean_environment() | dict(environment or {}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process:
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    self.heed(line)
                    if each_line is not None:
                        each_line(line)
                process.wait()
            finally:
                _end(process)
        if process.returncode != 0:
            self.file.flush()
            shown = "".join(f"\n  {line}" for line in self.telling or self.last)
            raise Failed(f"{what} failed:{shown}\nfull log: {self.path}")

    def heed(self, line: str) -> None:
        """Takes a line of a tool's output."""
        assert self.file is not None
        self.file.write(line)
        if line.strip():
            self.last.append(line.rstrip())
        if len(self.telling) < SHOWN and TELLING.search(line):
            self.telling.append(line.rstrip())


def _end(process: subprocess.Popen[str]) -> None:
    """Ends a command with everything that it started."""
    if process.poll() is not None:
        return
    for number, patience in ((signal.SIGTERM, 3.0), (signal.SIGKILL, None)):
        try:
            os.killpg(process.pid, number)
            process.wait(patience)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
        return


def clean_environment() -> dict[str, str]:
    """The environment without what would make one user's kernel another than the next one's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(HEEDED)}
    return kept | {"LC_ALL": "C"}
