"""Builds the distributions etalon-rdcn and etalon-rdcn-kernel, of each a wheel and its sources.

python tools/wheels.py                   # into dist/
python tools/wheels.py --hz 250          # with this kernel only

The kernels' wheel is built from the kernels' source distribution, so that this is shown to be complete.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import tomli_w

from etalon import kernel
from etalon.errors import EtalonError
from etalon.kernel import cache, packaged
from etalon.kernel.recipe import recipe

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "kernel" / "package"
RECIPE = ("__init__.py", "cache.py", "errors.py", "files.py", "kernel")
"""Of python/etalon: what builds kernels."""
LEFT_OUT = {"tests", "benches", "package"}
"""Folders that no kernel is built from."""


def main() -> None:
    """Builds what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--hz", type=int, nargs="+", default=list(packaged.HZ))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    try:
        etalon(arguments.out)
        kernels(arguments.out, arguments.hz)
    except (EtalonError, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"error: {error}")


def etalon(out: Path) -> None:
    """The wheel and the sources of etalon-rdcn, which know the kernels that belong to them."""
    wanted = {str(hz): recipe(hz).image for hz in packaged.HZ}
    packaged.WANTED.write_text(json.dumps(wanted, indent=2) + "\n", encoding="utf-8")
    try:
        maturin = [sys.executable, "-m", "maturin"]
        build = ["build", "--release", "--locked", "--interpreter", sys.executable]
        _run([*maturin, *build, "--out", out], ROOT)
        _run([*maturin, "sdist", "--out", out], ROOT)
    finally:
        packaged.WANTED.unlink()


def kernels(out: Path, hz: list[int]) -> None:
    """The sources and the wheel of etalon-rdcn-kernel."""
    images = [kernel.image(one, None, lambda step: print(step, file=sys.stderr)) for one in hz]
    build = [sys.executable, "-m", "hatchling", "build", "-t"]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "sources")
        lay_out(folder)
        (folder / "UPSTREAM.toml").write_text(upstream(images[0]), encoding="utf-8")
        _run([*build, "sdist", "-d", out.resolve()], folder)
        (archive,) = out.glob("etalon_rdcn_kernel-*.tar.gz")
        with tarfile.open(archive) as packed:
            packed.extractall(scratch, filter="data")
        chosen = {"ETALON_KERNEL_HZ": " ".join(map(str, hz))}
        unpacked = Path(scratch, archive.name.removesuffix(".tar.gz"))
        _run([*build, "wheel", "-d", out.resolve()], unpacked, chosen)


def lay_out(folder: Path) -> None:
    """What the source distribution of the kernels holds."""
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for licence in ("kernel/COPYING", "LICENSE-MIT", "LICENSE-APACHE"):
        shutil.copy(ROOT / licence, folder)
    recipes = [f"python/etalon/{name}" for name in RECIPE]
    for name in _tracked("kernel", "crates", "Cargo.toml", "Cargo.lock", "LICENSE-*", *recipes):
        if not LEFT_OUT & set(Path(name).parts):
            to = folder / "source" / name
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, to)


def _tracked(*paths: str) -> list[str]:
    """The files of the source tree in these places, without what builds leave there."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *paths]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def upstream(image: Path) -> str:
    """Which Linux the kernels were built from, and with what."""
    about = cache.read_about(image.parent)
    assert about is not None
    archive = Path(about["source"])
    with archive.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return tomli_w.dumps(
        {
            "linux": about["version"],
            "archive": archive.name,
            "sha256": digest,
            "from": "Debian's package linux-source-6.1, or its older versions at https://snapshot.debian.org",
            "compilers": [_first_line("gcc", "--version"), _first_line("rustc", "--version")],
        }
    )


def _first_line(*command: str) -> str:
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    return said.stdout.partition("\n")[0]


def _run(
    command: list[str | Path], folder: Path, environment: dict[str, str] | None = None
) -> None:
    subprocess.run(command, cwd=folder, check=True, env={**os.environ, **(environment or {})})


if __name__ == "__main__":
    main()
