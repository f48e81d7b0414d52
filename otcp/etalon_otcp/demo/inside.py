# SPDX-License-Identifier: MIT OR Apache-2.0
"""The demonstration inside its namespaces, where it is the first process: sets all up, shows it, ends.

Called as `python -m etalon_otcp.demo.inside DESCRIPTOR SETTINGS`; results go to the descriptor as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from http.client import HTTPException
from typing import Any

from etalon.errors import EtalonError
from etalon_otcp.demo import story
from etalon_otcp.demo.stage import WATCH_S, Stage


def finish(answer: dict[str, Any]) -> None:
    """Writes the answer and ends; the kernel ends the rest."""
    descriptor = int(sys.argv[1])
    os.write(descriptor, json.dumps(answer).encode())
    os._exit(1 if "error" in answer else 0)


def died(part: str) -> None:
    """A part has ended: so does everything, since we are the first process."""
    finish({"error": f"{part} has ended unexpectedly"})


def main() -> None:
    """Sets up, shows, ends."""
    signal.signal(signal.SIGTERM, lambda *_: finish({"error": "ended by a signal"}))
    try:
        stage = Stage(json.loads(sys.argv[2]), died)
        answer = story.tell(stage)
        stage.end()
    except (EtalonError, OSError, HTTPException) as error:
        time.sleep(2 * WATCH_S)  # if a part has died, that is the reason, and ends us
        finish({"error": str(getattr(error, "strerror", None) or error)})
    finish(answer)


if __name__ == "__main__":
    main()
