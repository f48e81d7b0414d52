# SPDX-License-Identifier: MIT OR Apache-2.0
"""The controller as a process: switches, probes, databases and API, until a signal."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections.abc import Callable
from importlib.util import find_spec

from etalon import files
from etalon.errors import EtalonError
from etalon_otcp.config import Config

LOG = logging.getLogger("etalon_otcp")
NEEDED = ("os_ken", "fastapi", "uvicorn")


def check_extra() -> None:
    """Raises EtalonError if what it needs is not installed, as in a clone of which only a part is."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise EtalonError(f"{', '.join(missing)} is missing: pip install 'etalon-rdcn[otcp]'")


def check(config: Config) -> None:
    """Reads what a start needs besides the file itself: tokens, certificates, and the state of before.

    Raises:
        EtalonError: if one of them cannot be used.
    """
    check_extra()
    from etalon_otcp import listening
    from etalon_otcp.api.auth import Tokens
    from etalon_otcp.state import State

    State.load(config.state)
    for path in (config.state, config.audit):
        if path:
            files.check_writable(path.parent)
            if path.is_dir():
                raise EtalonError(f"{path}: is a folder, expected a file")
    if config.api.tokens:
        Tokens(config.api.tokens)
    for listen in (config.openflow, config.api):
        listening.context(listen)


def run(config: Config, ready: Callable[[str], None]) -> None:
    """Runs until SIGINT, SIGTERM or SIGHUP; calls `ready` with the API's address once it listens.

    Raises:
        EtalonError: if an address cannot be taken, or a file cannot be used.
    """
    check_extra()
    from etalon_otcp import state

    done = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # before anybody can connect
        signal.signal(number, lambda *_: done.set())
    with state.alone(config.state):
        _run(config, ready, done)


def _run(config: Config, ready: Callable[[str], None], done: threading.Event) -> None:
    from etalon_otcp import descriptors, measuring, switches, watching
    from etalon_otcp.api import server
    from etalon_otcp.api.service import Service
    from etalon_otcp.controller import Controller
    from etalon_otcp.listening import Listening

    descriptors.raise_limit()
    sys.setswitchinterval(0.0005)  # threads that stamp times wait for each other's turns
    controller = Controller(config)
    probes = measuring.Measuring(controller)
    service = Service(controller, probes)
    at = server.bind(config.api)
    host, port = at.getsockname()[:2]
    openflow = server.bind(config.openflow)
    listening = Listening(openflow, config.openflow, len(config.switch))
    stop_api = server.start(service, at)
    switches.start(controller, listening)
    work = [
        threading.Thread(target=controller.run, name="compute"),
        threading.Thread(target=probes.run, name="probes"),
        threading.Thread(target=watching.watch_links, args=(controller,), name="links"),
        threading.Thread(target=watching.watch_seats, args=(controller,), name="seats"),
    ]
    if config.network.ovsdb:
        work.append(threading.Thread(target=watching.watch_ovsdb, args=(controller,), name="ovsdb"))
    for thread in work:
        thread.start()
    try:
        ready(
            f"http{'s' if config.api.certificate else ''}://{f'[{host}]' if ':' in host else host}:{port}"
        )
        done.wait()
    finally:
        controller.stop()
        for thread in work:
            thread.join(5)
        stop_api()
        controller.keep()
        controller.audit.close()
