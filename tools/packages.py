# SPDX-License-Identifier: MIT OR Apache-2.0
"""What Etalon asks of the system, in one list. Installs what is missing where it can, else says how.

python3 tools/packages.py kernel     # what builds the Linux engine's kernel; fails without
python3 tools/packages.py tests      # what the tests run; without, these tests are left out

Any Python 3 runs it, before there is an environment. As root on Debian or Ubuntu it installs packages by apt.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
from etalon.kernel import tools

TESTS = {
    "ip": "iproute2",
    "ping": "iputils-ping",
    "iperf3": "iperf3",
    "flowgrind": "flowgrind",
    "sockperf": "sockperf",
    "tshark": "tshark",
    "ovs-vsctl": "openvswitch-switch",
    "ethtool": "ethtool",
    "chromium": "chromium",
    "valgrind": "valgrind",
    "systemd-analyze": "systemd",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "cc": "gcc",
}
"""Debian's package of each program that the tests run."""
PATH = os.pathsep.join(
    [os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"]
)
"""Where programs are looked for: those of the administrator are not on every user's path."""


def missing(name: str) -> dict[str, str]:
    """What is not there of one of the lists, with Debian's packages."""
    if name == "kernel":
        names = [tool for tool in tools.missing() if not tool.startswith("cargo")]
        return {tool: tools.packages([tool], "apt-get")[0] for tool in names}
    return {program: package for program, package in TESTS.items() if not there(program)}


def there(program: str) -> bool:
    """Whether a program is there."""
    return shutil.which(program, path=PATH) is not None


def command(packages: list[str]) -> str:
    """What installs packages on Debian and Ubuntu."""
    return f"apt-get install {' '.join(packages)}"


def install(packages: list[str]) -> bool:
    """Installs packages if this is root on Debian or Ubuntu; whether it did."""
    if os.geteuid() or not shutil.which("apt-get"):
        return False
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
        done = subprocess.run(
            ["apt-get", "-qq", *words], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            print(
                f"apt-get {words[0]} failed: {done.stderr.strip().splitlines()[-1:]}",
                file=sys.stderr,
            )
            return False
    return True


def main(name: str) -> int:
    """Sees to one of the lists; returns the exit code."""
    lacking = missing(name)
    packages = sorted(set(lacking.values()))
    if not packages:
        return 0
    if not os.geteuid() and shutil.which("apt-get"):
        print(f"installing {' '.join(packages)}", file=sys.stderr)
        if install(packages):
            return 0
    if name == "tests":
        print(
            f"not here: {', '.join(lacking)}; tests that need them are left out ({command(packages)})",
            file=sys.stderr,
        )
        return 0
    print(f"the kernel needs {', '.join(lacking)}: {command(packages)}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("list", choices=("kernel", "tests"))
    sys.exit(main(parser.parse_args().list))
