# SPDX-License-Identifier: MIT OR Apache-2.0
"""How the kernel of the Linux engine is built and kept: with a kernel of one file, and the real tools."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

import tiny_kernel
from conftest import ROOT, Answer, need
from etalon import kernel
from etalon.errors import EtalonError
from etalon.kernel import answers, cache, places, profile, source, time_constants, tools
from etalon.kernel.build import asked
from etalon.kernel.recipe import recipe
from tiny_kernel import edit, sleepers

Command = Callable[..., Answer]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source tree of Etalon, an empty cache, and no kernel source on the machine."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("ETALON_SOURCE", str(tmp_path / "etalon"))
    monkeypatch.setattr(source, "INSTALLED", tmp_path / "none" / source.INSTALLED.name)
    return tiny_kernel.write(tmp_path / "etalon", tiny_kernel.FILES)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    folder = tiny_kernel.write(tmp_path / "linux-6.1.7", tiny_kernel.KERNEL)
    return tiny_kernel.pack(folder, tmp_path / "linux-6.1.7.tar.xz")


def says(image: Path) -> str:
    return subprocess.run([image], capture_output=True, text=True, check=True).stdout.strip()


def steps_of(archive: Path | None, hz: int = 250) -> tuple[Path, list[str]]:
    steps: list[str] = []
    return kernel.image(hz, None, steps.append, given=archive), steps


def test_a_kernel_is_built_once(checkout: Path, archive: Path) -> None:
    assert kernel.find() is None
    shares: list[float] = []
    image = kernel.image(250, shares.append, given=archive)
    assert says(image) == "250 patched"
    assert kernel.find() == image
    assert shares == sorted(shares)
    assert 0 <= shares[0] <= shares[-1] <= 1
    assert steps_of(None) == (image, [])
    assert not places.log(250).exists()
    assert not (places.trees() / "hz250" / "Documentation" / "index.rst").exists()


def test_libraries_lie_beside_a_kernel(checkout: Path, archive: Path) -> None:
    image = kernel.image(given=archive)
    assert image.with_name("libask.so").read_text() == "// asks\n"


def test_kernels_of_several_hz_lie_side_by_side(checkout: Path, archive: Path) -> None:
    first, second = (kernel.image(hz, given=archive) for hz in (250, 1000))
    assert [says(first), says(second)] == ["250 patched", "1000 patched"]
    assert [one.hz for one in cache.kept()] == [250, 1000]
    with pytest.raises(EtalonError, match="HZ 2000: a kernel's timer frequency is between 24 and"):
        kernel.find(2000)


@pytest.mark.parametrize(
    ("name", "tree_stays"),
    [
        ("kernel/patches/0001-words.patch", False),
        ("kernel/config", False),
        ("kernel/driver/Kconfig", False),
        ("kernel/profile.tar.xz", False),
        ("kernel/driver/netdev.c", True),
        ("kernel/tcp/tcp_retcp.c", True),
        ("kernel/init/init.c", True),
        ("kernel/core/build.sh", True),
        ("crates/part/src/lib.rs", True),
        ("crates/libadu/src/lib.rs", True),
        ("crates/libask/src/lib.rs", True),
        ("kernel/libraries.sh", True),
        ("Cargo.lock", True),
    ],
)
def test_everything_a_kernel_is_made_from_counts(
    checkout: Path, name: str, tree_stays: bool
) -> None:
    before = recipe()
    with (checkout / name).open("a") as file:
        file.write("\n")
    after = recipe()
    assert after.image != before.image
    assert (after.tree == before.tree) == tree_stays


def test_the_docs_say_what_every_patch_does() -> None:
    text = (ROOT / "docs" / "kernel.md").read_text()
    numbers = [patch.name[:4] for patch in sorted((ROOT / "kernel" / "patches").iterdir())]
    assert re.findall(r"^\| `(\d{4})` \|", text, re.M) == numbers


def test_what_builds_and_tests_leave_does_not_count(checkout: Path) -> None:
    before = recipe()
    tiny_kernel.write(checkout, {"kernel/core/target/x": "", "crates/part/tests/y.rs": ""})
    tiny_kernel.write(checkout, {"kernel/driver/.netdev.c.swp": ""})
    assert recipe() == before


def test_only_what_changed_is_built_again(checkout: Path, archive: Path) -> None:
    old = kernel.image(given=archive)
    tree = places.trees() / "hz250"
    time_of_config = (tree / ".config").stat().st_mtime_ns
    (checkout / "kernel/tcp/tcp_retcp.c").write_text("int reno;\n")
    assert kernel.find() is None
    image, steps = steps_of(None)
    assert image != old
    assert steps == ["building the Rust core", "compiling Linux 6.1.7"]
    assert (tree / ".config").stat().st_mtime_ns == time_of_config


def test_a_profile_guides_the_compiler_that_can_read_it(
    checkout: Path, archive: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shutil.rmtree(places.trees(), ignore_errors=True)
    (tmp_path / "main.gcda").write_text("counts")
    tiny_kernel.pack(tmp_path / "main.gcda", checkout / profile.ARCHIVE)
    monkeypatch.setattr(profile, "_compiler", lambda: "11")
    assert profile.flags(checkout) == []
    monkeypatch.setattr(profile, "_compiler", lambda: profile.COMPILER)
    first = profile.flags(checkout)
    assert first[0] == "-fprofile-use"
    assert says(kernel.image(given=archive)) == "250 patched"
    tree = places.trees() / "hz250"
    assert [one.name for one in tree.rglob("*.gcda")] == ["main.gcda"]
    other = (tmp_path / "main.gcda").rename(tmp_path / "other.gcda")
    tiny_kernel.pack(other, checkout / profile.ARCHIVE)
    assert profile.flags(checkout)[-1] != first[-1], "all is compiled again"
    kernel.image()
    assert [one.name for one in tree.rglob("*.gcda")] == ["other.gcda"]


def test_other_patches_replace_those_of_a_tree(checkout: Path, archive: Path) -> None:
    kernel.image(given=archive)
    makefile = places.trees() / "hz250" / "Makefile"
    before = makefile.stat().st_mtime_ns
    patch = checkout / "kernel/patches/0001-words.patch"
    edit(patch, '"patched"', '"more"')
    more = "--- /dev/null\n+++ b/init/more.h\n@@ -0,0 +1 @@\n+int more;\n"
    (checkout / "kernel/patches/0002-more.patch").write_text(more)
    image, steps = steps_of(None)
    assert says(image) == "250 more"
    assert not any("unpacking" in step for step in steps)
    assert makefile.stat().st_mtime_ns == before
    added = places.trees() / "hz250" / "init" / "more.h"
    assert added.read_text() == "int more;\n"
    (checkout / "kernel/patches/0002-more.patch").unlink()
    assert says(kernel.image()) == "250 more"
    assert not added.exists()


def test_what_was_left_out_and_is_used_now_is_unpacked(checkout: Path, archive: Path) -> None:
    kernel.image(given=archive)
    edit(checkout / "kernel/unused", "*.rst", "*.dts")
    for name in ("config", "answers"):
        edit(checkout / "kernel" / name, "CONFIG_NET=y", "CONFIG_NET=y\nCONFIG_BPF_SYSCALL=y")
    assert steps_of(None)[1][0] == f"unpacking {archive.name}"
    assert (places.trees() / "hz250" / "Documentation" / "index.rst").exists()


def test_another_source_is_built_anew(checkout: Path, archive: Path, tmp_path: Path) -> None:
    kernel.image(given=archive)
    assert steps_of(archive)[1] == ["building the Rust core", "compiling Linux 6.1.7"]
    folder = tiny_kernel.write(tmp_path / "other", tiny_kernel.KERNEL)
    edit(folder / "Makefile", "SUBLEVEL = 7", "SUBLEVEL = 8")
    (folder / "left.o").write_text("of a build")
    steps = steps_of(folder)[1]
    assert steps[0] == "unpacking other"
    assert steps[-1] == "compiling Linux 6.1.8"
    assert not (places.trees() / "hz250" / "left.o").exists()
    assert [one.version for one in cache.kept()] == ["6.1.8"]


def test_a_broken_archive(checkout: Path, archive: Path) -> None:
    whole = archive.read_bytes()
    archive.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(
        EtalonError, match=r"linux-6\.1\.7\.tar\.xz: is not a complete kernel archive"
    ):
        kernel.image(given=archive)
    assert kernel.find() is None
    archive.write_bytes(whole)
    assert says(kernel.image(given=archive)) == "250 patched"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("Makefile", "PATCHLEVEL = 1", "PATCHLEVEL = 6"), r"is Linux 6\.6\.7; .* for 6\.1\.x"),
        (("Makefile", "VERSION = 6", "VERSION = x"), "its Makefile states no version"),
        (("init/main.c", "plain", "other"), r"Linux 6\.1\.7 does not take .* 0001-words\.patch"),
        (("init/main.c", "return 0;", "return x;"), r"error: .*x.* undeclared(?s:.)*full log"),
    ],
)
def test_a_source_that_does_not_do(
    checkout: Path, tmp_path: Path, change: tuple[str, str, str], sentence: str
) -> None:
    folder = tiny_kernel.write(tmp_path / "linux", tiny_kernel.KERNEL)
    name, old, new = change
    edit(folder / name, old, new)
    if "return x" in new:
        edit(checkout / "kernel/patches/0001-words.patch", "return 0;", "return x;")
    with pytest.raises(EtalonError, match=sentence) as caught:
        kernel.image(given=folder)
    assert kernel.find() is None
    assert places.log(250).exists() == ("log" in str(caught.value))


def test_sources_that_are_none(checkout: Path, tmp_path: Path) -> None:
    with pytest.raises(EtalonError, match="--source gone: there is no such file or folder"):
        source.given(Path("gone"))
    with pytest.raises(EtalonError, match="not the folder of a kernel's source: it has no Kconfig"):
        source.given(tmp_path)


def test_an_installed_source_comes_before_a_fetched_one(
    checkout: Path, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert source.found() is None
    places.downloads().mkdir(parents=True)
    fetched = archive.rename(places.downloads() / source.INSTALLED.name)
    found = source.found()
    assert found is not None
    assert found.path == fetched
    source.INSTALLED.parent.mkdir()
    source.INSTALLED.write_bytes(fetched.read_bytes())
    found = source.found()
    assert found is not None
    assert found.path == source.INSTALLED
    assert says(kernel.image()) == "250 patched"


def test_without_a_package_manager_it_says_where_the_source_is(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", tiny_kernel.without(tmp_path, "apt-get"))
    with pytest.raises(EtalonError, match=r"download linux-6\.1\.x\.tar\.xz from .* --source"):
        kernel.image()


def test_a_package_that_cannot_be_fetched(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tiny_kernel.without(tmp_path, "apt-get", "dpkg-deb")
    for name in ("apt-get", "dpkg-deb"):
        program = Path(path) / name
        program.write_text("#!/bin/sh\necho 'E: Unable to locate package'\nexit 100\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", path)
    with pytest.raises(EtalonError, match=r"Unable to locate(?s:.)*`sudo apt-get update` may help"):
        kernel.image()
    assert not (places.downloads() / "part").exists()


def test_a_missing_tool(
    checkout: Path, archive: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tiny_kernel.without(tmp_path, "git", "perl", "cargo", "apt-get", "dnf", "pacman")
    (Path(path) / "apt-get").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", path)
    assert tools.missing() == ["git", "perl", "cargo"]
    with pytest.raises(EtalonError) as caught:
        kernel.image(given=archive)
    assert str(caught.value) == (
        "the kernel cannot be built: git, perl, cargo are missing\n"
        "  sudo apt-get install git perl; "
        "install Rust with rustup (https://rustup.rs): curl -sSf https://sh.rustup.rs | sh"
    )


def test_a_rust_that_is_too_old(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    edit(
        checkout / "Cargo.toml",
        "[workspace.dep",
        '[workspace.package]\nrust-version = "1.87"\n[workspace.dep',
    )
    path = Path(tiny_kernel.without(tmp_path, "cargo", "rustup"))
    monkeypatch.setenv("PATH", str(path))
    for said, missing in (
        ("cargo 1.63.0 (fd9c4297c 2022-07-01)", ["cargo 1.87"]),
        ("", ["cargo 1.87"]),  # of rustup without a toolchain
        ("cargo 1.87.0", []),
        ("cargo 2.0.0", []),
    ):
        (path / "cargo").write_text(f"#!/bin/sh\necho '{said}'\n")
        (path / "cargo").chmod(0o755)
        assert tools.missing() == missing
    assert "too old, or does not run: install it with rustup" in tools.remedy(["cargo 1.87"])
    (path / "rustup").symlink_to("/bin/true")
    assert tools.remedy(["cargo 1.87"]).endswith(": rustup update stable")


def test_answers_that_are_older_than_the_configuration(checkout: Path, archive: Path) -> None:
    with (checkout / "kernel/config").open("a") as file:
        file.write("CONFIG_NOSUCH=y\n")
    with pytest.raises(
        EtalonError, match=r"NOSUCH; `python tools/kernel_answers\.py` asks kconfig"
    ):
        kernel.image(given=archive)


def test_an_option_that_a_kernel_does_not_have() -> None:
    with pytest.raises(EtalonError, match="this kernel cannot be configured with NOSUCH"):
        answers.kept({"NET": "y"}, "CONFIG_NET=y\nCONFIG_NOSUCH=y\n")


def test_what_changes_in_the_configuration_is_compiled_again(tmp_path: Path) -> None:
    one = {"HZ": "250", "NET": "y", "HOST": '"a"'}
    answers.write(tmp_path, one)
    known = tmp_path / "include" / "config"
    assert not any(known.glob("[A-Z]*"))
    answers.write(tmp_path, one | {"HZ": "100", "IPV6": "y"})
    assert {path.name for path in known.glob("[A-Z]*")} == {"HZ", "IPV6"}
    assert 'HOST="a"' in (tmp_path / ".config").read_text()
    assert "HOST=a\n" in (known / "auto.conf").read_text()
    header = (tmp_path / "include/generated/autoconf.h").read_text()
    assert "#define CONFIG_NET 1\n" in header and '#define CONFIG_HOST "a"\n' in header
    times = [
        (tmp_path / name).stat().st_mtime_ns
        for name in (".config", "include/config/auto.conf", "include/generated/autoconf.h")
    ]
    assert times == sorted(times), "or kconfig would be asked"


@pytest.mark.slow
def test_the_answers_are_kconfigs() -> None:
    """With flex and bison, on this machine's compiler: what kconfig says of kernel/config is what the tree has."""
    need(
        shutil.which("flex") and shutil.which("bison"),
        "flex or bison",
        "apt-get install flex bison",
    )
    made = recipe()
    assert (ROOT / answers.ANSWERS).read_text() == answers.kept(asked(made), made.config)


def test_time_constants_are_those_of_the_kernels_own_script() -> None:
    """Which bc runs; for the frequencies that are used, and some that are not."""
    need(shutil.which("bc"), "bc", "apt-get install bc")
    tree = places.trees() / "hz250"
    script = tree / "kernel" / "time" / "timeconst.bc"
    need(script.is_file(), "the tree of a kernel", "etalon kernel build")
    for hz in (24, 100, 250, 300, 999, 1000):
        said = subprocess.run(
            ["bc", "-q", script], input=f"{hz}\n", capture_output=True, text=True, check=True
        )
        assert constants(time_constants.header(hz)) == constants(said.stdout), hz


def constants(header: str) -> dict[str, int]:
    found = re.findall(r"#define (\w+_(?:MUL32|ADJ32|SHR32|NUM|DEN))\s+(?:U64_C\()?(\w+)", header)
    return {name: int(value, 0) for name, value in found}


def test_a_full_disk_is_seen_before_the_work(
    checkout: Path, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("etalon.kernel.build.NEEDED", 10**18)
    with pytest.raises(EtalonError, match=r"GB are free and a build takes 1000000000\.0 GB; make"):
        kernel.image(given=archive)


def test_sources_that_change_meanwhile_give_no_kernel(checkout: Path, archive: Path) -> None:
    edit(
        checkout / "kernel/init/build.sh",
        "mkdir",
        'echo "//" >> "$(dirname "$0")"/../driver/netdev.c\nmkdir',
    )
    with pytest.raises(EtalonError, match="changed while they were read"):
        kernel.image(given=archive)
    assert cache.kept() == []


def child(*arguments: object) -> subprocess.Popen[str]:
    """A command in a process of its own, for which there is no kernel source on the machine either."""
    script = (
        "import sys; from pathlib import Path; from etalon.kernel import source; from etalon.cli import main\n"
        "source.INSTALLED = Path(sys.argv[1]); sys.exit(main(sys.argv[2:]))"
    )
    return subprocess.Popen(
        [sys.executable, "-c", script, source.INSTALLED, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(ROOT / "python")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def slow(checkout: Path, tmp_path: Path) -> Path:
    """A source whose build sleeps if there is no file `go` in its tree."""
    folder = tiny_kernel.write(tmp_path / "linux", tiny_kernel.KERNEL)
    edit(folder / "Makefile", "\tgcc", "\t@touch begun; test -e go || sleep 1234.5\n\tgcc")
    return folder


def stopped(build: subprocess.Popen[str], number: signal.Signals) -> str:
    """Signals a command while its build sleeps; gives what it said, once nothing of the build runs any more."""
    with build:
        wait_for((places.trees() / "hz250" / "begun").exists)
        wait_for(lambda: sleepers(places.trees()) != [])
        build.send_signal(number)
        _, errors = build.communicate(timeout=30)
    wait_for(lambda: sleepers(places.trees()) == [])
    assert kernel.find() is None
    assert cache.kept() == []
    assert not list(places.images().glob("*"))
    return errors


def go_on() -> None:
    """The next build goes on where one was stopped."""
    (places.trees() / "hz250" / "go").touch()
    assert says(kernel.image()) == "250 patched"


def test_an_interrupted_build_leaves_nothing_that_looks_whole(slow: Path) -> None:
    build = child("kernel", "build", "--source", slow)
    errors = stopped(build, signal.SIGINT)
    assert build.returncode == 130
    assert errors.endswith("\ninterrupted; the next build of the kernel resumes here\n")
    go_on()


def test_a_killed_build_leaves_no_process(slow: Path) -> None:
    stopped(child("kernel", "build", "--source", slow), signal.SIGKILL)
    go_on()


def test_ctrl_c_during_the_build_that_a_run_starts(slow: Path, small_file: Path) -> None:
    places.downloads().mkdir(parents=True)
    tiny_kernel.pack(slow, places.downloads() / "linux-source-6.1.tar.xz")
    run = child("run", small_file, "--engine", "linux", "--out", small_file.parent / "out")
    errors = stopped(run, signal.SIGINT)
    assert run.returncode == 130
    assert errors.splitlines() == [
        "--engine linux needs a kernel with HZ 250, which is built now and kept: "
        "this takes up to 8 minutes on two processors, once",
        "unpacking linux-source-6.1.tar.xz",
        "patching and configuring",
        "building the Rust core",
        "compiling Linux 6.1.7",
        "interrupted; the next run with --engine linux resumes here",
    ]
    assert not (small_file.parent / "out").exists()
    go_on()


def test_what_unpacks_dies_with_the_command(checkout: Path, tmp_path: Path) -> None:
    """It says nothing, so that it would not notice otherwise."""
    script = (
        "import sys; from pathlib import Path; from etalon.kernel.process import Log\n"
        "with Log(Path(sys.argv[1])) as log:\n"
        "    log.run(['sh', '-c', 'touch begun; sleep 1234.5 | sleep 1234.5'], 'it', folder=Path.cwd())"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, tmp_path / "log"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT / "python")},
    ) as process:
        wait_for((tmp_path / "begun").exists)
        wait_for(lambda: len(sleepers(tmp_path)) == 2)
        process.kill()
    wait_for(lambda: sleepers(tmp_path) == [])


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_second_build_waits_for_the_first(checkout: Path, archive: Path) -> None:
    with ExitStack() as waiting:
        with cache.lock("hz250", print):
            build = waiting.enter_context(child("kernel", "build", "--source", archive))
            assert build.stderr is not None
            first = build.stderr.readline()
        assert first == f"waiting for another build of the kernel (process {os.getpid()})\n"
        assert build.wait(60) == 0, build.stderr.read()
    assert kernel.find() is not None


def test_the_command_line(checkout: Path, archive: Path, etalon: Command) -> None:
    missing = etalon("kernel", "path")
    assert missing.code == 1
    assert missing.err == (
        "error: the kernel is not built yet, or was built from other sources: etalon kernel build\n"
    )
    built = etalon("kernel", "build", "--source", archive)
    assert built.code == 0
    assert Path(built.out.strip()) == kernel.find()
    assert "unpacking linux-6.1.7.tar.xz\npatching and configuring\n" in built.err
    assert etalon("kernel", "build").err == "the kernel is up to date\n"
    assert etalon("kernel", "build", "--quiet", "--force", "--source", archive).err == ""
    assert etalon("kernel", "path").out == built.out
    (only,) = etalon("kernel", "list", "--json").json["kernels"]
    assert (only["hz"], only["linux"], only["current"]) == (250, "6.1.7", True)
    edit(checkout / "kernel/config", "NET", "INET")
    assert "of other sources" in etalon("kernel", "list").out
    assert etalon("kernel", "clean", "--old").code == 0
    assert etalon("kernel", "list", "--json").json["kernels"] == []
    assert etalon("kernel", "clean").code == 0
    assert {path.suffix for path in places.cache().iterdir()} == {".lock"}


def test_an_installation_without_sources(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, etalon: Command
) -> None:
    monkeypatch.setenv("ETALON_SOURCE", str(tmp_path))
    answer = etalon("kernel", "path")
    assert answer.code == 1
    assert "is not Etalon's source tree: it has no kernel/patches" in answer.err
    monkeypatch.delenv("ETALON_SOURCE")
    monkeypatch.setattr(places, "REPOSITORY", tmp_path)
    assert "set ETALON_SOURCE to its folder" in etalon("kernel", "path").err


def test_doctor_says_what_is_missing(
    checkout: Path, etalon: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tiny_kernel.without(tmp_path, "perl", "iperf3", "apt-get", "dnf", "pacman")
    (Path(path) / "apt-get").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", path)
    answer = etalon("doctor", "--json")
    assert answer.code == 1
    assert not answer.json["ok"]
    checks = {check["name"]: check for check in answer.json["checks"]}
    assert checks["build tools"]["state"] == "missing"
    assert checks["build tools"]["remedy"] == "sudo apt-get install perl"
    assert checks["kernel"]["remedy"] == "etalon kernel build"
    assert checks["iperf3"]["state"] == "optional"
    assert checks["Python"]["state"] == "ok"
    assert "each run keeps to one" in checks["processors"]["found"]
    assert "sudo apt-get install perl" in etalon("doctor").out
    monkeypatch.setenv("ETALON_PIN", "no")
    assert "runs are not pinned, as ETALON_PIN asks" in etalon("doctor").out


def test_doctor_says_which_parts_of_otcp_work(
    checkout: Path, etalon: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from etalon_otcp import process
    from etalon_otcp.demo import outside

    tun = "/dev/net/tun cannot be opened"
    monkeypatch.setattr(process, "NEEDED", ())
    monkeypatch.setattr(outside, "missing", lambda emulated=False: [] if emulated else [tun])
    check = {c["name"]: c for c in etalon("doctor", "--json").json["checks"]}["OTCP"]
    assert [*check.values()] == ["OTCP", "optional", "controller, demo --virtual", tun]


def test_doctor_sees_a_cache_that_cannot_be_written(
    checkout: Path, etalon: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "cache").touch()
    disk = next(
        check for check in etalon("doctor", "--json").json["checks"] if check["name"] == "disk"
    )
    assert disk["state"] == "missing"
    assert "is a file, not a folder" in disk["found"]
    assert "set XDG_CACHE_HOME" in disk["remedy"]
    (tmp_path / "cache").unlink()
    monkeypatch.setattr(os, "access", lambda *_: False)  # permissions do not bind root
    disk = next(
        check for check in etalon("doctor", "--json").json["checks"] if check["name"] == "disk"
    )
    assert disk["state"] == "missing"
    assert f"no permission to write in {tmp_path}" in disk["found"]
