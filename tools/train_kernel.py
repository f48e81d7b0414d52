# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes kernel/profile.tar.xz: what guides the compiler of the Linux engine's kernel (etalon/kernel/profile.py).

python tools/train_kernel.py

Builds the kernel once more, so that it counts which branches it takes, and runs some benches on it. Worth doing when the
patches to TCP or the driver have changed much, or for another gcc. Needs what builds a kernel, and gcc 12 (Debian 12).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from etalon import _core, kernel
from etalon.kernel import places, profile
from etalon.kernel.build import ARCH
from etalon.kernel.recipe import FIXED
from etalon.plan import Plan

ROOT = Path(__file__).resolve().parents[1]
PLANS = ("linux-strobe", "linux-tdtcp", "linux-tdtcp-cubic")
HZ = 250
PATIENCE_S = 300


def main() -> None:
    """Builds, runs and packs."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    kernel.image(HZ, None, lambda step: print(step, file=sys.stderr))
    with tempfile.TemporaryDirectory(dir=places.trees()) as scratch:
        tree = Path(scratch, "linux")
        shutil.copytree(places.trees() / f"hz{HZ}", tree, symlinks=True)
        for old in tree.rglob("*.gcda"):
            old.unlink()
        let_count(tree)
        flags = f"COUNTING={' '.join(profile.COUNTING)}"
        jobs = f"-j{len(os.sched_getaffinity(0))}"
        print("compiling Linux so that it counts", file=sys.stderr)
        _run(["make", "-s", *ARCH, jobs, "KCFLAGS=", flags, "linux"], tree)
        for name in PLANS:
            print(f"running {name}", file=sys.stderr)
            run(Plan.load(ROOT / "benches" / f"{name}.toml"), tree / "linux")
        pack(tree, ROOT / profile.ARCHIVE)


def let_count(tree: Path) -> None:
    """Has a tree's kernel count, where the kernel's own profiler could (not in the vDSO), and write counts down at its end."""
    _edit(tree / "scripts/Makefile.lib", "ifeq ($(CONFIG_GCOV_KERNEL),y)", "ifneq ($(COUNTING),)")
    _edit(tree / "scripts/Makefile.lib", "$(CONFIG_GCOV_PROFILE_ALL)", "y")
    _edit(tree / "scripts/Makefile.lib", "$(CFLAGS_GCOV))", "$(COUNTING))")
    # gcc's library and the kernel have a function of this name.
    found = subprocess.run(
        ["gcc", "-print-file-name=libgcov.a"], capture_output=True, text=True, check=True
    )
    library = found.stdout.strip()
    _run(["objcopy", "--redefine-sym", "mangle_path=gcov_mangle_path", library, "libgcov.a"], tree)
    _edit(tree / "scripts/link-vmlinux.sh", "-lrt -lpthread", "-lrt -lpthread ./libgcov.a")
    halt = tree / "arch/um/kernel/reboot.c"
    _edit(halt, "\tkill_off_processes();\n}", "\tkill_off_processes();\n\t__gcov_dump();\n}")
    _edit(
        halt, "void uml_cleanup(void)", "extern void __gcov_dump(void);\n\nvoid uml_cleanup(void)"
    )


def _edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    if text.count(old) != 1:
        sys.exit(f"error: {file}: has {old!r} {text.count(old)} times")
    file.write_text(text.replace(old, new), encoding="utf-8")


def run(plan: Plan, image: Path) -> None:
    """Runs a plan on this kernel; counts add up."""
    options = {"folder": str(image.parent), "patience_s": PATIENCE_S, "memory_mib": None}
    _core.run_linux(json.dumps(plan.resolve()), str(image), HZ, _core.Control(), **options)


def pack(tree: Path, archive: Path) -> None:
    """Packs the counts, the same bytes for the same counts."""
    counts = sorted(str(file.relative_to(tree)) for file in tree.rglob("*.gcda"))
    if not counts:
        sys.exit("error: the kernel wrote no counts")
    same = ["--owner=0", "--group=0", "--mtime=@0", "--mode=0644"]
    listed = "\n".join(counts).encode()
    draft = archive.with_suffix(".new")
    command = ["tar", *same, "-I", "xz -9e", "-cf", str(draft), "-T", "-"]
    subprocess.run(command, cwd=tree, input=listed, check=True)
    os.replace(draft, archive)
    print(f"{archive}: counts of {len(counts)} objects, {archive.stat().st_size} bytes")


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True, env={**os.environ, **FIXED})


if __name__ == "__main__":
    main()
