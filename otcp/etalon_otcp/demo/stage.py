# SPDX-License-Identifier: MIT OR Apache-2.0
"""Everything that runs in the demonstration: set up, watched, ended."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from etalon_otcp.demo import credentials, network
from etalon_otcp.demo.cabling import Cabling, Netem, UserSpace
from etalon_otcp.demo.layout import Layout
from etalon_otcp.demo.outside import ETALON
from etalon_otcp.demo.parts import Agents, Part, run

FOLDER = Path("/run/etalon-otcp")
WATCH_S = 0.2
"""Between two looks at whether all parts run."""


class Stage:
    """The parts. `died` is called with the name of one that ends unasked."""

    def __init__(self, settings: dict[str, Any], died: Callable[[str], None]) -> None:
        self.layout = Layout(
            settings["racks"],
            settings["hosts_per_rack"],
            settings["layers"],
            apart=settings["emulated"],
        )
        self.settings = settings
        self._died = died
        run("mount", "-t", "tmpfs", "tmpfs", "/run")
        FOLDER.mkdir()
        self.logs = Path(settings["logs"]) if settings["logs"] else FOLDER
        self.logs.mkdir(parents=True, exist_ok=True)
        network.members_up(self.layout)
        self.cabling = self._cabling()
        network.cables_up(self.layout, self.cabling)
        self.switches = network.switches_up(self.layout, FOLDER, self.logs)
        self.cabling.taken()
        self.file = credentials.write(
            FOLDER, self.layout, [switch.remote for switch in self.switches], settings
        )
        self.agents = Agents()
        self._ending = threading.Event()
        self.agent_parts: dict[str, Part] = {}
        self.controller: Part | None = None
        self.start_controller()
        threading.Thread(target=self._watch, daemon=True).start()

    def _cabling(self) -> Cabling:
        if self.settings["emulated"]:
            return Netem()
        return UserSpace(self.settings["programs"]["etalon-otcp-links"], self.logs / "links.log")

    def start_controller(self) -> None:
        """Starts it, as an operator would."""
        words = [*ETALON, "otcp", "controller", str(self.file), "-v"]
        self.controller = Part("controller", words, self.logs / "controller.log", fifo=True)

    def kill_controller(self) -> None:
        """As an accident would, but expected."""
        part, self.controller = self.controller, None
        if part:
            part.kill()

    def start_agents(self) -> None:
        """One for each host, in its namespace and for its cgroup."""
        for host in self.layout.hosts:
            (FOLDER / host.name).mkdir()
            words = ["nsenter", f"--net=/run/netns/{host.name}"]
            words += [self.settings["programs"]["etalon-otcp-agent"], "--host", host.name]
            words += ["--controller", f"https://{network.CONTROL}:{network.API_PORT}"]
            words += ["--ca", str(FOLDER / "ca.pem"), "--token", str(FOLDER / f"{host.name}.token")]
            words += ["--allow", "10.0.0.0/8", "--run", str(FOLDER / host.name)]
            cgroup = self.cgroup(host.name)
            words += ["--cgroup", str(cgroup)] if cgroup else ["--no-bpf"]
            heard = self.agents.of(host.name)
            log = self.logs / f"agent-{host.name}.log"
            self.agent_parts[host.name] = Part(f"agent of {host.name}", words, log, heard)

    def cgroup(self, host: str) -> Path | None:
        """A host's cgroup; None where BPF is not to be had."""
        if self.settings["cgroup"] is None:
            return None
        folder = Path(self.settings["cgroup"]) / host
        folder.mkdir(exist_ok=True)
        return folder

    def parts(self) -> list[Part]:
        """All that has to run."""
        switches = [part for switch in self.switches for part in switch.parts]
        controller = [self.controller] if self.controller else []
        return [*self.cabling.parts, *switches, *controller, *self.agent_parts.values()]

    def end(self) -> None:
        """Agents first, so that they put back what they set."""
        self._ending.set()
        for part in self.agent_parts.values():
            part.end()
        if self.controller:
            self.controller.end()

    def _watch(self) -> None:
        """If a part dies, so does everything: we are the first process."""
        while not self._ending.wait(WATCH_S):
            for part in self.parts():
                gone = (
                    not part.alive() and part in self.parts()
                )  # it may have been killed on purpose meanwhile
                if gone and not self._ending.is_set():
                    self._died(part.name)
