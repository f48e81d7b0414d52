# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a kernel is made from, as a hash of its content: the same hash is the same kernel."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from etalon.errors import EtalonError, PlanError
from etalon.kernel import answers, packaged, places, profile

DEFAULT_HZ = 250
"""Timer frequency of Ubuntu's kernels, which the papers used."""
LEAST_HZ, MOST_HZ = 24, 1000
"""What CONFIG_HZ accepts: the range in patch 0001."""

INITRAMFS = "usr/etalon/initramfs.list"
"""Within the kernel tree."""

FIXED = {
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 1970",
    "KBUILD_BUILD_USER": "etalon",
    "KBUILD_BUILD_HOST": "etalon",
    "KBUILD_BUILD_VERSION": "1",
}
"""What a kernel says of its build. It enters the kernel's random numbers, so that it must not vary."""


@dataclass(frozen=True)
class Recipe:
    """`tree` names a tree built from sources, patches and configuration; `image` the kernel linked from it, with libraries."""

    root: Path
    hz: int
    tree: str
    image: str

    @property
    def patches(self) -> list[Path]:
        """In the order in which they are applied."""
        return sorted((self.root / "kernel" / "patches").glob("*.patch"))

    @property
    def config(self) -> str:
        """The kernel's configuration: what is not named is off."""
        return configuration(self.root, self.hz)


def recipe(hz: int = DEFAULT_HZ) -> Recipe:
    """The kernel that the source tree would give as it is now."""
    if not LEAST_HZ <= hz <= MOST_HZ:
        raise PlanError(f"HZ {hz}: a kernel's timer frequency is between {LEAST_HZ} and {MOST_HZ}")
    root = places.checkout().resolve()
    if places.installed():
        _check_fits(root)
    return _recipe(root, hz)


def digest(hz: int = DEFAULT_HZ) -> str:
    """Names the kernel that belongs to this Etalon: `recipe(hz).image`, which an installation knows without reading sources."""
    wanted = packaged.wanted() if places.installed() and packaged.folder() else {}
    return wanted[hz] if hz in wanted else recipe(hz).image


def _check_fits(root: Path) -> None:
    """Refuses the sources of an installed kernel that is another version's."""
    wanted = packaged.wanted()
    if not wanted:
        raise EtalonError(
            "this installation does not know which kernel it needs, since it was not built by `make wheel`: "
            f"set {places.VARIABLE} to the folder of Etalon's repository"
        )
    if any(_recipe(root, hz).image != image for hz, image in wanted.items()):
        raise EtalonError(
            f"{packaged.DISTRIBUTION} {packaged.version()} is not the kernel of this version of Etalon: "
            f"{packaged.INSTALL} --upgrade"
        )


def _recipe(root: Path, hz: int) -> Recipe:
    kernel = root / "kernel"
    tree = hashlib.sha256(configuration(root, hz).encode())
    tree.update(repr(sorted(FIXED.items())).encode())
    _add(tree, root, [*_files(kernel / "patches", "*.patch"), kernel / "driver" / "Kconfig"])
    _add(tree, root, [root / answers.ANSWERS])
    _add(tree, root, [file for file in (root / profile.ARCHIVE,) if file.is_file()])
    image = tree.copy()
    crates = dict.fromkeys(
        crate
        for start in (kernel / "core", root / "crates" / "libadu", root / "crates" / "libask")
        for crate in _crates(root, start)
    )
    for folder in (kernel / "driver", kernel / "tcp", kernel / "init", *crates):
        _add(image, root, _files(folder, "*"))
    _add(image, root, [kernel / "libraries.sh", root / "Cargo.toml", root / "Cargo.lock"])
    return Recipe(root, hz, tree.hexdigest()[:16], image.hexdigest()[:16])


def configuration(root: Path, hz: int) -> str:
    """kernel/config, the timer frequency and the initramfs."""
    text = (root / "kernel" / "config").read_text(encoding="utf-8")
    return f'{text}\nCONFIG_HZ={hz}\nCONFIG_INITRAMFS_SOURCE="{INITRAMFS}"\n'


def _add(whole: hashlib._Hash, root: Path, files: list[Path]) -> None:
    for file in files:
        content = file.read_bytes()
        whole.update(f"{file.relative_to(root)} {len(content)}\n".encode())
        whole.update(content)


def _files(folder: Path, pattern: str) -> list[Path]:
    """The files of a folder that belong to it: no hidden ones, nothing that a build left there."""
    found = (path for path in folder.rglob(pattern) if path.is_file())
    return sorted(path for path in found if _belongs(path.relative_to(folder)))


def _belongs(path: Path) -> bool:
    built = {"target", "tests", "benches"}
    return not built & set(path.parts) and not any(part.startswith(".") for part in path.parts)


def _crates(root: Path, crate: Path) -> Iterator[Path]:
    """A crate and, recursively, the crates of the source tree that it depends on."""
    workspace = tomllib.loads((root / "Cargo.toml").read_text(encoding="utf-8"))
    shared = workspace["workspace"]["dependencies"]
    waiting, seen = [crate.resolve()], set[Path]()
    while waiting:
        at = waiting.pop()
        if at in seen:
            continue
        seen.add(at)
        yield at
        manifest = tomllib.loads((at / "Cargo.toml").read_text(encoding="utf-8"))
        for name, wanted in sorted(manifest.get("dependencies", {}).items()):
            inherited = isinstance(wanted, dict) and wanted.get("workspace")
            base, entry = (root, shared[name]) if inherited else (at, wanted)
            if isinstance(entry, dict) and "path" in entry:
                waiting.append((base / entry["path"]).resolve())
