# SPDX-License-Identifier: MIT OR Apache-2.0
"""What `pip install etalon-rdcn[linux]` gives to people without a compiler, and that the distributions can be published."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

import etalon as et
from conftest import ROOT, SMALL, need_kernel
from etalon import cache as user_cache
from etalon import kernel
from etalon.errors import EtalonError
from etalon.kernel import cache, packaged, places
from etalon.kernel.recipe import recipe
from etalon.results import Run

pytestmark = [pytest.mark.slow, pytest.mark.alone]

VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make wheel` builds, with one kernel: the one that the other tests have built already."""
    need_kernel()
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, ROOT / "tools" / "wheels.py", "--hz", "250", "--unguided"]
    command += ["--out", folder]
    target = os.environ.get("CARGO_TARGET_DIR", str(user_cache.folder("target")))
    environment = {**os.environ, "CARGO_TARGET_DIR": target}
    made = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert "building" not in made.stderr, "the sources in the sdist are not those of the image"
    return folder


@dataclass(frozen=True)
class Installed:
    """An empty virtual environment into which both wheels were installed, and nothing else on the PATH."""

    folder: Path

    def run(
        self, *command: str, code: int = 0, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program of the environment, in a folder of its own, with an empty cache."""
        environment = {
            "PATH": str(self.folder / "venv" / "bin"),
            "HOME": str(self.folder),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            **variables,
        }
        program = self.folder / "venv" / "bin" / command[0]
        answer = subprocess.run(
            [program, *command[1:]],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert answer.returncode == code, answer.stdout + answer.stderr
        assert "Traceback" not in answer.stderr
        return answer


@pytest.fixture(scope="module")
def installed(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    pip = [folder / "venv" / "bin" / "python", "-m", "pip", "install", "--quiet"]
    wheels = ["--find-links", dist, "etalon-rdcn[linux]", "-c", ROOT / "constraints.txt"]
    subprocess.run([*pip, "--disable-pip-version-check", "--prefer-binary", *wheels], check=True)
    return Installed(folder)


def test_distributions_are_of_one_version_and_can_be_published(dist: Path) -> None:
    names = sorted(path.name for path in dist.iterdir())
    assert len(names) == 6 and all(VERSION in name for name in names)
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extra["linux"][0].startswith(f"etalon-rdcn-kernel=={VERSION};")
    otcp = tomllib.loads((ROOT / "otcp" / "pyproject.toml").read_text())["project"]
    assert extra["otcp"] == [f"etalon-otcp=={otcp['version']}"] == [f"etalon-otcp=={VERSION}"]
    assert f"etalon-rdcn=={VERSION}" in otcp["dependencies"]
    assert re.search(rf"^version: {re.escape(VERSION)}$", (ROOT / "CITATION.cff").read_text(), re.M)
    twine = [sys.executable, "-m", "twine", "check", "--strict", *dist.iterdir()]
    checked = subprocess.run(twine, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


def test_wheels_are_for_every_python_and_manylinux(dist: Path) -> None:
    tags = [path.name.partition(f"{VERSION}-")[2] for path in sorted(dist.glob("*.whl"))]
    assert tags[0] == f"py3-none-manylinux_2_17_{platform.machine()}.whl"
    assert re.fullmatch(r"cp311-abi3-manylinux_2_\d+_x86_64\.whl", tags[1])
    assert re.fullmatch(r"py3-none-manylinux_2_\d+_x86_64\.whl", tags[2])


def test_the_demonstration_of_otcp_comes_with_its_programs(dist: Path, tmp_path: Path) -> None:
    """As pip unpacks them: what the archive says may be executed, may be. They need no library of the system's."""
    (wheel,) = dist.glob("etalon_otcp-*.whl")
    with zipfile.ZipFile(wheel) as packed:
        for name in ("etalon-otcp-agent", "etalon-otcp-links"):
            inside = packed.getinfo(f"etalon_otcp/bin/{name}")
            assert inside.external_attr >> 16 & 0o111
            program = Path(packed.extract(inside, tmp_path))
            program.chmod(0o755)
            linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
            assert "=>" not in linked.stdout
    told = subprocess.run(
        [tmp_path / "etalon_otcp/bin/etalon-otcp-agent", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == f"etalon-otcp-agent {VERSION}\n"


def test_the_kernel_comes_with_its_source_and_licence(dist: Path) -> None:
    (archive,) = dist.glob("etalon_rdcn_kernel-*.tar.gz")
    with tarfile.open(archive) as packed:
        top = archive.name.removesuffix(".tar.gz")
        files = {name.removeprefix(f"{top}/") for name in packed.getnames()}
        upstream = packed.extractfile(f"{top}/UPSTREAM.toml")
        assert upstream is not None
        exact = tomllib.loads(upstream.read().decode())
    patches = {f"source/kernel/patches/{path.name}" for path in (ROOT / "kernel/patches").iterdir()}
    assert files >= patches | {"COPYING", "source/kernel/config", "source/kernel/core/build.sh"}
    assert "source/python/etalon/kernel/build.py" in files
    assert re.fullmatch(r"6\.1\.\d+", exact["linux"]) and len(exact["sha256"]) == 64
    (wheel,) = dist.glob("etalon_rdcn_kernel-*.whl")
    with zipfile.ZipFile(wheel) as packed_wheel:
        names = packed_wheel.namelist()
        (metadata,) = (name for name in names if name.endswith("METADATA"))
        assert "GPL-2.0-only" in packed_wheel.read(metadata).decode()
    image = f"etalon_kernel/images/{recipe().image}"
    assert {
        *(f"{image}/{name}" for name in ("linux", "libadu.so", "libask.so")),
        "etalon_kernel/UPSTREAM.toml",
    } <= set(names)


def test_doctor_says_that_the_kernel_is_prebuilt(installed: Installed) -> None:
    checks = json.loads(installed.run("etalon", "doctor", "--json").stdout)["checks"]
    by_name = {check["name"]: check for check in checks}
    assert f"prebuilt, from etalon-rdcn-kernel {VERSION}" in by_name["kernel"]["found"]
    assert by_name["build tools"]["state"] == "optional"
    assert "hosts booted and ran" in by_name["run"]["found"]


def test_linux_runs_at_once_and_gives_what_the_source_tree_gives(installed: Installed) -> None:
    (installed.folder / "small.toml").write_text(SMALL)
    command = ("etalon", "run", "small.toml", "--engine", "linux", "--no-figures", "--json")
    answer = installed.run(*command)
    assert "built" not in answer.stderr
    assert not (installed.folder / "cache" / "etalon" / "kernel" / "trees").exists()
    meta = Run.load(installed.folder / json.loads(answer.stdout)["folder"]).meta
    here = et.run(et.Plan.from_toml(SMALL), engine="linux").meta
    assert (meta["digest"], meta["kernel_image"]) == (here["digest"], here["kernel_image"])


def test_the_demo_and_the_examples_need_nothing_else(installed: Installed) -> None:
    copied = installed.run("etalon", "examples", "--copy", "plans").stdout.splitlines()
    assert "plans/strobe.toml" in copied and "plans/trace.txt" in copied
    demo = installed.run("etalon", "reproduce", "nsdi20", "--figure", "9", "--out", "demo")
    assert re.search(r"(\d+) claims: \d+ reproduced", demo.stdout + demo.stderr)
    assert (installed.folder / "demo" / "report.html").exists()


def test_a_kernel_that_does_not_fit_is_built_from_the_sources_that_came_with_it(
    installed: Installed,
) -> None:
    (installed.folder / "hz.toml").write_text(f"tcp = {{ hz = 300 }}\n{SMALL}")
    answer = installed.run("etalon", "run", "hz.toml", "--engine", "linux", code=1)
    assert "needs a kernel with HZ 300" in answer.stderr
    assert "the kernel cannot be built: gcc, make" in answer.stderr


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation with a kernel package whose sources are this tree's, and one image that is none of them."""
    monkeypatch.delenv("ETALON_SOURCE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(places, "REPOSITORY", tmp_path / "none")
    monkeypatch.setattr(packaged, "folder", lambda: tmp_path / "package")
    monkeypatch.setattr(packaged, "version", lambda: "0.0.9")
    monkeypatch.setattr(packaged, "WANTED", tmp_path / "wanted.json")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "source").symlink_to(ROOT)
    return tmp_path / "package"


def put_image(package: Path, digest: str) -> Path:
    image = package / "images" / digest / cache.IMAGE
    image.parent.mkdir(parents=True)
    image.touch()
    cache.write_about(image.parent, {"hz": 250, "version": "6.1.7"})
    return image


def test_an_image_is_chosen_by_the_digest_of_its_sources(package: Path) -> None:
    packaged.WANTED.write_text('{"250": "abc"}')
    put_image(package, "def")
    assert cache.find() is None
    image = put_image(package, "abc")
    assert cache.find() == image
    assert [one.current for one in cache.installed()] == [True, False]


def test_a_kernel_of_another_version_is_refused(package: Path) -> None:
    packaged.WANTED.write_text('{"250": "abc"}')
    with pytest.raises(
        EtalonError, match=r"0\.0\.9 is not the kernel of this version of Etalon: pip"
    ):
        kernel.image(250)
    packaged.WANTED.unlink()
    with pytest.raises(EtalonError, match="does not know which kernel it needs"):
        kernel.find(250)


def test_other_machines_get_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = et.Plan.from_toml(SMALL)
    et.run(plan)  # polars, which looks at the processor, is loaded now
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    sentence = r"needs x86-64 Linux, and this is Linux aarch64; the simulator \(--engine sim\) runs"
    with pytest.raises(EtalonError, match=sentence):
        et.run(plan, engine="linux")
