# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds a kernel: source, patches and configuration give a tree that is kept; driver, core and init are linked into it.
Beside it lie libadu and libask, for the programs that run in it.

An interrupted build goes on where it was. What looks like an image is one: it appears by a rename at the end.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path

from etalon.errors import EtalonError
from etalon.kernel import answers, cache, patches, places, profile, source, tools
from etalon.kernel.cache import About
from etalon.kernel.process import Failed, Log
from etalon.kernel.recipe import DEFAULT_HZ, FIXED, INITRAMFS, Recipe, recipe

Progress = Callable[[float], None]
"""Is called with the share of the work that is done, 0 to 1."""
Status = Callable[[str], None]
"""Is called with what is being done."""

OBJECTS = 700
"""About what a whole build compiles: for the progress bar only."""
BEFORE_MAKE = 0.15
"""Share of a whole build's time before the compiler starts."""
NEEDED = 1_200_000_000
"""Bytes on the disk for a new tree."""

ARCH = ("ARCH=um", "SUBARCH=x86_64")
DRIVER = "drivers/net/etalon"
CORE = f"{DRIVER}/etalon_core.o_shipped"
LIBRARIES = ".etalon"


def image(
    hz: int = DEFAULT_HZ,
    progress: Progress | None = None,
    status: Status | None = None,
    *,
    given: Path | None = None,
    jobs: int | None = None,
    force: bool = False,
) -> Path:
    """The kernel with this timer frequency; builds it if it is neither here nor installed, or not of the `given` source.

    `given` is an archive or folder with the source of Linux 6.1.x; `force` builds everything anew.
    """
    path = cache.find(hz)
    if path is not None and given is None and not force:
        return path
    tools.check()
    # Libraries that are loaded by now may have had system calls go on after a signal: Ctrl-C would wait for the compiler.
    signal.siginterrupt(signal.SIGINT, True)
    status = status or (lambda step: None)
    with cache.lock(f"hz{hz}", status):
        path = cache.find(hz)  # another build may have made it while this one waited
        if path is not None and given is None and not force:
            return path
        with Log(places.log(hz)) as log:
            build = _Build(recipe(hz), log, progress or (lambda share: None), status, jobs)
            try:
                return build.run(None if given is None else source.given(given), force)
            except OSError as error:
                what = error.filename or places.cache()
                raise EtalonError(f"{what}: {error.strerror}; the kernel was not built") from error


def asked(recipe: Recipe) -> answers.Options:
    """What kconfig answers to this recipe's configuration, in a tree of its own; needs flex and bison."""
    with cache.lock("source", print), Log(places.log(recipe.hz)) as log:
        at = source.obtain(print, log)
        with tempfile.TemporaryDirectory(dir=places.cache()) as scratch:
            tree = Path(scratch)
            at.unpack(tree, log)
            patches.apply(tree, recipe.patches, log)
            shutil.copytree(recipe.root / "kernel" / "driver", tree / DRIVER)
            wanted = tree / "wanted"
            wanted.write_text(recipe.config, encoding="utf-8")
            words = ["make", *ARCH, f"KCONFIG_ALLCONFIG={wanted}", "allnoconfig"]
            log.run(words, "kconfig", folder=tree, environment=FIXED)
            return answers.parse((tree / ".config").read_text(encoding="utf-8"))


class _Build:
    """One build, from what there is to the image."""

    def __init__(
        self, recipe: Recipe, log: Log, progress: Progress, status: Status, jobs: int | None
    ) -> None:
        self.recipe = recipe
        self.log = log
        self.progress = progress
        self.status = status
        self.jobs = jobs or len(os.sched_getaffinity(0))
        self.tree = places.trees() / f"hz{recipe.hz}"

    def run(self, given: source.Source | None, force: bool) -> Path:
        about = cache.read_about(self.tree)
        origin = None if given is None else given.identity
        if about is None or force or origin not in (None, about["origin"]):
            about = self.unpack(given)
        elif about.get("unused") != source.unused():  # the tree may lack what is used now
            about = self.unpack(given or source.again(about["source"]))
        if about["recipe"] != self.recipe.tree:
            about = self.prepare(about)
        self.status("building the Rust core")
        self.add()
        if recipe(self.recipe.hz) != self.recipe:  # from here on only the tree counts
            raise EtalonError("the kernel's sources changed while they were read: build it again")
        self.status(f"compiling Linux {about['version']}")
        self.make("linux")
        self.progress(0.99)
        return self.keep(about)

    def unpack(self, given: source.Source | None) -> About:
        """A new tree."""
        self.progress(0.0)
        cache.remove(self.tree)
        _check_disk(places.cache())
        at = given
        if at is None:
            with cache.lock("source", self.status):
                at = source.obtain(self.status, self.log)
        self.status(f"unpacking {at.path.name}")
        self.progress(0.02)
        self.tree.mkdir(parents=True)
        at.unpack(self.tree, self.log)
        about: About = {
            "hz": self.recipe.hz,
            "version": source.version(self.tree, at.path),
            "source": str(at.path),
            "origin": at.identity,
            "unused": source.unused(),
            "recipe": "",
        }
        cache.write_about(self.tree, about)
        return about

    def prepare(self, about: About) -> About:
        """Patches and configures a tree."""
        self.progress(0.07)
        self.status("patching and configuring")
        cache.write_about(self.tree, {**about, "recipe": ""})  # until it is done
        try:
            patches.apply(self.tree, self.recipe.patches, self.log)
        except Failed as error:
            cache.remove(self.tree)  # the next build takes whatever source there is then
            source.forget(about["source"])
            raise Failed(
                f"Linux {about['version']} does not take Etalon's patches, which are made for {source.MADE_FOR} "
                f"({source.NEWER}): {error}"
            ) from None
        profile.unpack(self.recipe.root, self.tree, self.log)
        self.copy("driver", DRIVER)
        answers.write(self.tree, answers.options(self.recipe.root, self.recipe.config))
        self.progress(0.1)
        about = {**about, "recipe": self.recipe.tree}
        cache.write_about(self.tree, about)
        return about

    def add(self) -> None:
        """Puts into the tree what is ours: the driver, reTCP, the Rust core and the initramfs."""
        kernel = self.recipe.root / "kernel"
        self.copy("driver", DRIVER)
        self.copy("tcp", "net/ipv4")
        core = self.tree / f"{CORE}.new"
        self.log.run(
            ["sh", kernel / "core" / "build.sh", core],
            "building the Rust core",
            folder=self.recipe.root,
            environment={"CARGO_TARGET_DIR": str(places.cargo())},
        )
        patches.put(core, self.tree / CORE)
        self.log.run(
            ["sh", kernel / "libraries.sh", self.tree / LIBRARIES],
            "building libadu and libask",
            folder=self.recipe.root,
            environment={"CARGO_TARGET_DIR": str(places.cargo())},
        )
        self.progress(BEFORE_MAKE)
        initramfs = self.tree / Path(INITRAMFS).parent
        before = patches.content(initramfs / "init")
        self.log.run(
            ["sh", kernel / "init" / "build.sh", initramfs], "building init", folder=self.tree
        )
        if (
            patches.content(initramfs / "init") != before
        ):  # make cannot tell: its time is always the same
            for old in (self.tree / "usr").glob("*initramfs_data.cpio*"):
                old.unlink()

    def copy(self, name: str, to: str) -> None:
        """Copies the files of a folder of kernel/ that have changed."""
        (self.tree / to).mkdir(parents=True, exist_ok=True)
        for file in (self.recipe.root / "kernel" / name).iterdir():
            if file.is_file() and patches.content(self.tree / to / file.name) != file.read_bytes():
                shutil.copyfile(file, self.tree / to / file.name)

    def make(self, *targets: str) -> None:
        """Runs make, counting what is compiled."""
        done = 0

        def count(line: str) -> None:
            nonlocal done
            if line.startswith("  CC "):
                done += 1
                share = min(done / OBJECTS, 1.0)
                self.progress(BEFORE_MAKE + share * (0.98 - BEFORE_MAKE))

        guided = " ".join(profile.flags(self.recipe.root))
        self.log.run(
            ["make", *ARCH, f"-j{self.jobs}", f"KCFLAGS={guided}", *targets],
            "the kernel's build",
            folder=self.tree,
            environment=FIXED,
            each_line=count if targets == ("linux",) else None,
        )

    def keep(self, about: About) -> Path:
        """Puts the finished kernel where it is looked for."""
        images = places.images()
        images.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=".part-", dir=images))
        try:
            self.log.run(["strip", "-o", draft / cache.IMAGE, "linux"], "strip", folder=self.tree)
            for library in cache.LIBRARIES:
                shutil.copyfile(self.tree / LIBRARIES / library, draft / library)
            cache.write_about(draft, about)
            draft.chmod(0o755)
            folder = images / self.recipe.image
            cache.remove(folder)
            os.replace(draft, folder)
        finally:
            cache.remove(draft)
        return folder / cache.IMAGE


def _check_disk(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < NEEDED:
        raise EtalonError(
            f"{folder}: {free / 1e9:.1f} GB are free and a build takes {NEEDED / 1e9:.1f} GB; "
            "make room, or set XDG_CACHE_HOME to a folder with more"
        )
