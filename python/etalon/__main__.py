# SPDX-License-Identifier: MIT OR Apache-2.0
"""The program: `etalon`, and `python -m etalon`. Modules load within, so that Ctrl-C is heard from the first of them on."""

from __future__ import annotations

import gc
import os
import signal
import sys

INTERRUPTED = 130
TERMINATED = 143


def main() -> int:
    """Runs the command line; returns its exit code."""
    for number in range(
        3
    ):  # a stream that is closed would give its number to the next file that is opened
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    terminated = _listen()
    gc.set_threshold(100_000)  # a fifth of a short command's time would go into looking for garbage
    try:
        _reopen()
        from etalon.cli import main as command_line

        code = command_line()
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        code = INTERRUPTED
    return TERMINATED if terminated else code


def _listen() -> list[int]:
    """Lets SIGTERM end the program as Ctrl-C does; the list is empty until it comes."""
    terminated: list[int] = []
    process = os.getpid()

    def end(number: int, _: object) -> None:
        if os.getpid() != process:  # a copy of this process, such as a worker, just ends
            os._exit(TERMINATED)
        terminated.append(number)
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, end)
    return terminated


def _reopen() -> None:
    """Makes what Python leaves out if the streams are closed when it starts."""
    sys.stdin = sys.stdin or open(0)  # noqa: SIM115
    sys.stdout = sys.stdout or open(1, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", buffering=1)  # noqa: SIM115


if __name__ == "__main__":
    sys.exit(main())
