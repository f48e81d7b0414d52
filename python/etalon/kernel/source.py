# SPDX-License-Identifier: MIT OR Apache-2.0
"""The kernel's source: where it is found, how it is fetched, and which parts of it are unpacked."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from etalon.errors import EtalonError, PlanError
from etalon.kernel import places
from etalon.kernel.process import Failed, Log

SERIES = "6.1"
"""The patches are for this series of kernels."""
MADE_FOR = "6.1.192"
"""Of Debian's updates; Debian 12 as first installed has an older one."""
NEWER = (
    "with Debian's updates and security updates among apt's sources, `sudo apt-get update` finds it"
)
PACKAGE = f"linux-source-{SERIES}"
INSTALLED = Path(f"/usr/src/{PACKAGE}.tar.xz")
"""Where Debian's package puts it."""

ELSEWHERE = (
    f"download linux-{SERIES}.x.tar.xz from https://kernel.org and say "
    f"`etalon kernel build --source linux-{SERIES}.x.tar.xz`"
)

UNUSED = "kernel/unused"
"""In Etalon's source tree: what of a kernel is not unpacked, as patterns for tar.

It is code that our configuration never compiles, a third of the files; Kconfig and make files all stay.
"""
BUILT = [
    "*.o",
    "*.a",
    "*.cmd",
    ".git",
    ".config",
    "*/include/generated",
    "*/include/config",
    "vmlinux*",
]
"""What a build leaves in a folder of sources."""


@dataclass(frozen=True)
class Source:
    """A tar archive of a kernel, or the folder of one."""

    path: Path

    @property
    def identity(self) -> str:
        """Digest of the archive's content; of names, sizes and times of change if it is a folder."""
        whole = hashlib.sha256()
        if self.path.is_dir():
            for folder, folders, names in os.walk(self.path):
                folders[:] = sorted(name for name in folders if name != ".git")
                for name in sorted(names):
                    state = os.lstat(os.path.join(folder, name))
                    whole.update(f"{folder}/{name} {state.st_size} {state.st_mtime_ns}\n".encode())
        else:
            with self.path.open("rb") as file:
                while block := file.read(1 << 20):
                    whole.update(block)
        return whole.hexdigest()[:16]

    def unpack(self, to: Path, log: Log) -> None:
        """Puts the kernel's source into an empty folder."""
        without = ["-X", str(places.checkout() / UNUSED)]
        if self.path.is_dir():
            pack = ["tar", *without, *(f"--exclude={pattern}" for pattern in BUILT), "-c", "."]
            command = ["sh", "-c", f'{_quoted(pack)} | tar -x -C "$1"', "sh", str(to)]
            log.run(command, f"copying {self.path}", folder=self.path)
            return
        try:
            extract(self.path, to, log, *without, "--strip-components=1")
        except Failed as error:
            raise EtalonError(
                f"{self.path}: is not a complete kernel archive ({log.last[-1] if log.last else error}); "
                "get it again, or give another one with --source"
            ) from None


DECOMPRESS = """\
import lzma, shutil, sys
with lzma.open(sys.argv[1]) as archive:
    shutil.copyfileobj(archive, sys.stdout.buffer, 1 << 20)
"""
"""For Python: an archive on standard output."""


def extract(archive: Path, to: Path, log: Log, *options: str) -> None:
    """Unpacks an archive into a folder, with options of tar; for .xz Python has what tar would need a program for."""
    tar = ["tar", *options, "-x", "-f"]
    what = f"unpacking {archive}"
    if archive.suffix != ".xz":
        log.run([*tar, str(archive)], what, folder=to)
        return
    script = f'set -o pipefail; "$1" -c "$2" "$3" | {_quoted([*tar, "-"])}'
    log.run(
        ["bash", "-c", script, "bash", sys.executable, DECOMPRESS, str(archive)], what, folder=to
    )


def _quoted(command: list[str]) -> str:
    return " ".join("'" + word.replace("'", "'\\''") + "'" for word in command)


def given(path: Path) -> Source:
    """The source that the user named."""
    if not path.exists():
        raise PlanError(f"--source {path}: there is no such file or folder")
    if path.is_dir() and not (path / "Kconfig").is_file():
        raise PlanError(
            f"--source {path}: is not the folder of a kernel's source: it has no Kconfig"
        )
    return Source(path.absolute())


def again(path: str) -> Source | None:
    """The source that a tree was made of, if it is still there."""
    return Source(Path(path)) if Path(path).exists() else None


def forget(path: str) -> None:
    """Removes a source that was fetched, so that it is fetched anew."""
    if Path(path).parent == places.downloads():
        Path(path).unlink(missing_ok=True)


def unused() -> str:
    """Digest of the list of what is not unpacked."""
    return hashlib.sha256((places.checkout() / UNUSED).read_bytes()).hexdigest()[:16]


def found() -> Source | None:
    """A source that is on this machine already."""
    if INSTALLED.is_file():
        return Source(INSTALLED)
    fetched = places.downloads() / INSTALLED.name
    return Source(fetched) if fetched.is_file() else None


def obtain(status: Callable[[str], None], log: Log) -> Source:
    """The source on this machine, or else fetched with the package manager, as an ordinary user, into the cache."""
    there = found()
    if there is not None:
        return there
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise EtalonError(f"the kernel's source is missing; {ELSEWHERE}")
    status(f"fetching {PACKAGE} (140 MB)")
    downloads = places.downloads()
    part = downloads / "part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        log.run(["apt-get", "-q", "download", PACKAGE], f"apt-get download {PACKAGE}", folder=part)
        (package,) = part.glob(f"{PACKAGE}_*.deb")
        inside = f".{INSTALLED}"
        script = 'dpkg-deb --fsys-tarfile "$1" | tar -xO "$2" > archive'
        command = ["sh", "-c", script, "sh", package.name, inside]
        log.run(command, f"unpacking {package.name}", folder=part)
        if (part / "archive").stat().st_size == 0:
            raise EtalonError(f"{package.name}: has no {INSTALLED}; {ELSEWHERE}")
        fetched = downloads / INSTALLED.name
        os.replace(part / "archive", fetched)
    except Failed as error:
        raise Failed(
            f"{error}\nthe kernel's source could not be fetched: `sudo apt-get update` may help, or "
            f"`sudo apt-get install {PACKAGE}`, or else {ELSEWHERE}"
        ) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return Source(fetched)


def version(tree: Path, name: Path) -> str:
    """The version of an unpacked kernel, which must be of the series that the patches are for."""
    try:
        head = (tree / "Makefile").read_text(encoding="utf-8")[:400]
    except OSError:
        raise EtalonError(f"{name}: contains no kernel: it has no Makefile") from None
    parts = [
        re.search(rf"^{key} = (\d+)$", head, re.M) for key in ("VERSION", "PATCHLEVEL", "SUBLEVEL")
    ]
    if not all(parts):
        raise EtalonError(f"{name}: contains no kernel: its Makefile states no version")
    stated = ".".join(part[1] for part in parts if part)
    if not stated.startswith(f"{SERIES}."):
        raise EtalonError(f"{name}: is Linux {stated}; Etalon's patches are for {SERIES}.x")
    return stated
