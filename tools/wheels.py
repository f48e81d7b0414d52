# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds the distributions etalon-rdcn, etalon-otcp and etalon-rdcn-kernel, of each a wheel and its sources.

python tools/wheels.py                   # into dist/
python tools/wheels.py --hz 250          # with this kernel only
python tools/wheels.py --unguided        # a core that no profile guides: sooner built, slower
python tools/wheels.py --core            # nothing but the core, guided by its profile, into this tree: `make release`

A core is guided by the profile of what tools/train.py runs (PGO), if llvm-profdata is there in the version of rustc's LLVM:
from `rustup component add llvm-tools`, or Debian's package llvm-22 for LLVM 22. Results are the same bytes either way.
The kernels' wheel is built from the kernels' source distribution, so that this is shown to be complete.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
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
CORE = "etalon/_core.abi3.so"
HATCH: tuple[str | Path, ...] = (sys.executable, "-m", "hatchling", "build", "-t")
LEFT_OUT = {"tests", "benches", "package"}
"""Folders that no kernel is built from."""


def main() -> None:
    """Builds what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--hz", type=int, nargs="+", default=list(packaged.HZ))
    parser.add_argument("--unguided", action="store_true")
    parser.add_argument("--core", action="store_true")
    arguments = parser.parse_args()
    try:
        if arguments.core:
            core()
            return
        arguments.out.mkdir(parents=True, exist_ok=True)
        otcp(arguments.out)
        etalon(arguments.out, None if arguments.unguided else profiler())
        kernels(arguments.out, arguments.hz)
    except (EtalonError, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"error: {error}")


def profiler() -> Path | None:
    """The folder of the llvm-profdata that reads what this rustc's programs count; None, with a word why, if there is none."""
    said = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    about = dict(line.split(": ", 1) for line in said.splitlines() if ": " in line)
    major = about["LLVM version"].partition(".")[0]
    rustc = subprocess.run(
        ["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True
    )
    for folder in (
        Path(rustc.stdout.strip(), "lib", "rustlib", about["host"], "bin"),
        Path(f"/usr/lib/llvm-{major}/bin"),
    ):
        if (folder / "llvm-profdata").exists():
            return folder
    print(
        f"no llvm-profdata of LLVM {major} (rustup component add llvm-tools, or apt-get install llvm-{major}): "
        "the core is built without its profile",
        file=sys.stderr,
    )
    return None


def wheel(out: Path, profdata: Path | None) -> None:
    """The wheel of etalon-rdcn. A profile is at another place each time, which leaves nothing that a later build could use."""
    build: list[str | Path] = [sys.executable, "-m", "maturin", "build", "--release", "--locked"]
    build += ["--interpreter", sys.executable, "--out", out.resolve()]
    if profdata is None:
        _run(build, ROOT)
        return
    with tempfile.TemporaryDirectory() as scratch:
        path = f"{profdata}{os.pathsep}{os.environ['PATH']}"
        _run([*build, "--pgo"], ROOT, {"CARGO_TARGET_DIR": scratch, "PATH": path})


def core() -> None:
    """The core of this tree, guided by its profile, where Python finds it."""
    profdata = profiler()
    if profdata is None:
        sys.exit(1)
    with tempfile.TemporaryDirectory() as scratch:
        wheel(Path(scratch), profdata)
        (built,) = Path(scratch).glob("*.whl")
        with zipfile.ZipFile(built) as packed:
            packed.extract(CORE, ROOT / "python")


def etalon(out: Path, profdata: Path | None) -> None:
    """The wheel and the sources of etalon-rdcn, which know the kernels that belong to them."""
    wanted = {str(hz): recipe(hz).image for hz in packaged.HZ}
    packaged.WANTED.write_text(json.dumps(wanted, indent=2) + "\n", encoding="utf-8")
    try:
        wheel(out, profdata)
        _run([sys.executable, "-m", "maturin", "sdist", "--out", out], ROOT)
    finally:
        packaged.WANTED.unlink()


def otcp(out: Path) -> None:
    """The wheel and the sources of etalon-otcp, without links to what is outside of its folder. The wheel has programs."""
    with tempfile.TemporaryDirectory() as scratch:
        programs = Path(scratch, "programs")
        static(programs)
        folder = Path(scratch, "otcp")
        shutil.copytree(ROOT / "otcp", folder, ignore=shutil.ignore_patterns("__pycache__"))
        chosen = {"ETALON_OTCP_PROGRAMS": str(programs)}
        _run([*HATCH, "sdist", "-t", "wheel", "-d", out.resolve()], folder, chosen)


def static(folder: Path) -> None:
    """Builds the agent and the demonstration's links to run on any Linux: the agent, which resolves names, with musl where
    rustup has it, and the rest with a static glibc.
    """
    folder.mkdir()
    machine = platform.machine()
    musl, glibc = (f"{machine}-unknown-linux-{libc}" for libc in ("musl", "gnu"))
    agent = glibc
    if shutil.which("rustup"):
        added = subprocess.run(["rustup", "target", "add", musl], capture_output=True, check=False)
        agent = glibc if added.returncode else musl
    for name, target in (("etalon-otcp-agent", agent), ("etalon-otcp-links", glibc)):
        flags = {"RUSTFLAGS": "-C target-feature=+crt-static"} if target == glibc else {}
        command = ["cargo", "build", "--locked", "--quiet", "--profile", "small", "-p", name]
        compiler = {"TARGET_CC": os.environ.get("CC", "cc")}
        _run([*command, "--target", target], ROOT, flags | compiler)
        built = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"), target, "small", name)
        shutil.copy(built, folder)


def kernels(out: Path, hz: list[int]) -> None:
    """The sources and the wheel of etalon-rdcn-kernel."""
    images = [kernel.image(one, None, lambda step: print(step, file=sys.stderr)) for one in hz]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "sources")
        lay_out(folder)
        (folder / "UPSTREAM.toml").write_text(upstream(images[0]), encoding="utf-8")
        _run([*HATCH, "sdist", "-d", out.resolve()], folder)
        (archive,) = out.glob("etalon_rdcn_kernel-*.tar.gz")
        with tarfile.open(archive) as packed:
            packed.extractall(scratch, filter="data")
        chosen = {"ETALON_KERNEL_HZ": " ".join(map(str, hz))}
        unpacked = Path(scratch, archive.name.removesuffix(".tar.gz"))
        _run([*HATCH, "wheel", "-d", out.resolve()], unpacked, chosen)


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
