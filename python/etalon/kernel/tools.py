# SPDX-License-Identifier: MIT OR Apache-2.0
"""The tools that a kernel's build needs, and the command that installs what is missing."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from dataclasses import dataclass

from etalon.errors import EtalonError
from etalon.kernel import places

MANAGERS = {"apt-get": "apt-get install", "dnf": "dnf install", "pacman": "pacman -S"}
"""Package managers by the program that is there, and how each installs."""


@dataclass(frozen=True)
class Tool:
    """A program of the build, and the packages that have it by package manager."""

    name: str
    purpose: str
    packages: dict[str, str]


def _same(name: str, purpose: str, package: str | None = None) -> Tool:
    return Tool(name, purpose, dict.fromkeys(MANAGERS, package or name))


TOOLS = (
    _same("gcc", "compiles the kernel"),
    _same("make", "runs the build"),
    _same("git", "applies Etalon's patches"),
    _same("tar", "unpacks the kernel's source"),
    _same("ld", "links the kernel", "binutils"),
    _same("perl", "generates some of the kernel's source"),
)
RUSTUP = "with rustup (https://rustup.rs): curl -sSf https://sh.rustup.rs | sh"


def cargo() -> str | None:
    """What is missing of cargo: all of it, or a version that is new enough for the source tree; None if nothing is."""
    if shutil.which("cargo") is None:
        return "cargo"
    said = subprocess.run(["cargo", "--version"], capture_output=True, text=True, check=False)
    found = re.match(r"cargo (\d+)\.(\d+)", said.stdout)
    least = _least_cargo()
    if found and (int(found[1]), int(found[2])) >= tuple(map(int, least.split("."))):
        return None
    return f"cargo {least}"


def _least_cargo() -> str:
    """The version that the source tree asks for; any will do if it does not say, or if there is no source tree."""
    try:
        manifest = (places.checkout() / "Cargo.toml").read_text(encoding="utf-8")
    except (EtalonError, OSError):
        return "1.0"
    package = tomllib.loads(manifest)["workspace"].get("package", {})
    return str(package.get("rust-version", "1.0"))


def static_libc() -> bool:
    """Whether programs can be linked with a static C library, as the kernel and its init are."""
    if shutil.which("gcc") is None:
        return False
    found = subprocess.run(
        ["gcc", "-print-file-name=libc.a"], capture_output=True, text=True, check=False
    )
    return "/" in found.stdout  # the name alone says that it is not there


def missing() -> list[str]:
    """The names of what is missing."""
    names = [tool.name for tool in TOOLS if shutil.which(tool.name) is None]
    if "gcc" not in names and not static_libc():
        names.append("static libc")
    if (lacking := cargo()) is not None:
        names.append(lacking)
    return names


def remedy(names: list[str]) -> str:
    """What to do about missing tools."""
    manager = next((name for name in MANAGERS if shutil.which(name)), None)
    steps = []
    system = [name for name in names if not name.startswith("cargo")]
    if system and manager is None:
        steps.append(f"install {', '.join(system)} with your system's package manager")
    elif manager is not None and system:
        steps.append(f"sudo {MANAGERS[manager]} {' '.join(packages(system, manager))}")
    if "cargo" in names:
        steps.append(f"install Rust {RUSTUP}")
    elif len(system) < len(names):
        newer = "rustup update stable" if shutil.which("rustup") else f"install it {RUSTUP}"
        steps.append(f"the Rust here is too old, or does not run: {newer}")
    return "; ".join(steps)


def packages(names: list[str], manager: str) -> list[str]:
    """The packages that have these tools, each once."""
    libc = {"apt-get": "libc6-dev", "dnf": "glibc-static", "pacman": "glibc"}
    known = {tool.name: tool.packages for tool in TOOLS}
    return list(dict.fromkeys(known.get(name, libc)[manager] for name in names))


def check() -> None:
    """Refuses a build for which a tool is missing."""
    names = missing()
    if names:
        verb = "is" if len(names) == 1 else "are"
        raise EtalonError(
            f"the kernel cannot be built: {', '.join(names)} {verb} missing\n  {remedy(names)}"
        )
