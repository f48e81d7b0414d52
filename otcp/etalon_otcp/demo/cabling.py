# SPDX-License-Identifier: MIT OR Apache-2.0
"""The demonstration's links: a program in user space between TAP devices, or veth devices with netem where time is exact."""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from etalon.errors import EtalonError
from etalon_otcp.demo.layout import QUEUE_BYTES, RATE_BPS, Cable
from etalon_otcp.demo.parts import Part, ip, run

FRAME_BYTES = 1500
SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCETHTOOL, IFF_UP = 0x8913, 0x8914, 0x8946, 1
ETHTOOL_STXCSUM, ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO = 0x17, 0x1F, 0x24, 0x2C


class Cabling(Protocol):
    """What joins hosts and switches."""

    parts: list[Part]
    """Programs that it needs."""

    def add(self, cables: Sequence[Cable]) -> None:
        """Makes links and the devices at their ends."""

    def taken(self) -> None:
        """The switches have taken their ports."""

    def plug(self, device: str, up: bool) -> None:
        """Plugs a switch's cable in or pulls it; its interface with it.

        Linux tells of carriers once a second at most (net/core/link_watch), of interfaces that are set down at once: a switch
        that is not Linux need not wait.
        """


class UserSpace:
    """Links within a program, which takes of the processor what it needs: exact as far as the machine is idle."""

    def __init__(self, program: str, log: Path) -> None:
        self._answers: list[str] = []
        self._answered = threading.Condition()
        self._part = Part("links", [program], log, self._heard)
        self.parts = [self._part]

    def add(self, cables: Sequence[Cable]) -> None:
        """Makes links and the devices at their ends."""
        for cable in cables:
            words = ["link"]
            for namespace, device in cable.ends:
                words += [f"/run/netns/{namespace}" if namespace else "-", device]
            self._ask(f"{' '.join(words)} {cable.delay_us * 1000} {RATE_BPS} {QUEUE_BYTES}")
            for namespace, device in cable.ends:
                if not namespace:  # as a controller wants to know it
                    run("ethtool", "-s", device, "speed", "1000", "duplex", "full")

    def taken(self) -> None:
        """Open vSwitch leaves TAP devices as they are."""

    def plug(self, device: str, up: bool) -> None:
        """Sets the interface, then the cable."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            request = struct.pack("16sH14x", device.encode(), 0)
            name, flags = struct.unpack("16sH14x", fcntl.ioctl(control, SIOCGIFFLAGS, request))
            flags = flags | IFF_UP if up else flags & ~IFF_UP
            fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH14x", name, flags))
        self._ask(f"{'up' if up else 'down'} {device}")

    def _ask(self, line: str) -> str:
        with self._answered:
            self._part.tell(line)
            if not self._answered.wait_for(lambda: self._answers, 10):
                raise EtalonError("links: no answer")
            verdict, _, rest = self._answers.pop(0).partition(" ")
        if verdict != "ok":
            raise EtalonError(f"links: {rest}")
        return rest

    def _heard(self, at: int, line: str) -> None:
        with self._answered:
            self._answers.append(line)
            self._answered.notify()


class Netem:
    """Links of the kernel, between switches that are apart, for emulated hosts: exact, and without processes."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self._cables: list[Cable] = []

    def add(self, cables: Sequence[Cable]) -> None:
        """Makes pairs of veth devices that hand on what a wire would: whole packets, with their checksums."""
        self._cables += cables
        names = {cable: _names(cable) for cable in cables}
        ip([f"link add {near} type veth peer name {far}" for near, far in names.values()])
        for device in (device for both in names.values() for device in both):
            _no_offloads(device)
        ip(
            [
                f"link set {name} netns {namespace} name {device}"
                for cable in cables
                for name, (namespace, device) in zip(names[cable], cable.ends, strict=True)
            ]
        )

    def taken(self) -> None:
        """Delays, rates and queues. Open vSwitch removes the queueing discipline of a device that it takes, hence only now."""
        lines: dict[str, list[str]] = {}
        for cable in self._cables:
            under_way = cable.delay_us * RATE_BPS // 8_000_000 // FRAME_BYTES
            limit = QUEUE_BYTES // FRAME_BYTES + under_way  # netem's counts what is under way
            shape = f"netem limit {limit} delay {cable.delay_us}us rate {RATE_BPS}bit"
            for namespace, device in cable.ends:
                lines.setdefault(namespace, []).append(f"qdisc add dev {device} root {shape}")
        for namespace, those in lines.items():
            run("tc", "-n", namespace, "-batch", "-", lines=those)

    def plug(self, device: str, up: bool) -> None:
        """Sets the interface: the other end's carrier goes with it."""
        switch = device.partition("-")[0]
        run("ip", "-n", switch, "link", "set", device, "up" if up else "down")


def _names(cable: Cable) -> tuple[str, str]:
    """Of both devices, as long as all are in one namespace."""
    (_, near), (_, far) = cable.ends
    return near, f"{near}.h" if far == "eth0" else far


def _no_offloads(device: str) -> None:
    """As `ethtool -K DEVICE tx off tso off gso off gro off`, in no time."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for command in (ETHTOOL_STXCSUM, ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO):
            value = (ctypes.c_uint32 * 2)(command, 0)
            request = struct.pack("16sP16x", device.encode(), ctypes.addressof(value))
            fcntl.ioctl(control, SIOCETHTOOL, request)
