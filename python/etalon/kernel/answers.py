# SPDX-License-Identifier: MIT OR Apache-2.0
"""The kernel's configuration without its configurator: kconfig's answers to `kernel/config` are kept in `kernel/answers`, and
what its build reads of them is written from there. So a build needs neither flex nor bison.

`tools/kernel_answers.py` asks kconfig again, after a change of `kernel/config`, of a patch to a Kconfig file or of the series.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from etalon import files
from etalon.errors import EtalonError
from etalon.kernel import time_constants

ANSWERS = Path("kernel", "answers")
"""In Etalon's source tree: a line for each option that is on."""
OF_THE_COMPILER = ("CC_VERSION_TEXT", "GCC_VERSION", "AS_VERSION", "LD_VERSION")
"""Options that the tools of the machine answer."""
TIME_CONSTANTS = ".etalon/timeconst.h"
"""Within a tree: what patch 0019 takes for include/generated/timeconst.h."""
Options = dict[str, str]
"""Values by name, without CONFIG_, as kconfig writes them: y, a number, or text in quotes."""


def parse(text: str) -> Options:
    """The options that lines like CONFIG_NET=y say."""
    return dict(re.findall(r"^CONFIG_(\w+)=(.*)$", text, re.M))


def kept(options: Options, config: str) -> str:
    """The file `kernel/answers`: what follows from `kernel/config`, but for what each build is told anew."""
    asked = parse(config)
    own = (*OF_THE_COMPILER, "HZ", "INITRAMFS_SOURCE")
    left = {name: value for name, value in options.items() if name not in own}
    lost = [name for name, value in asked.items() if options.get(name) != value]
    if lost:
        raise EtalonError(f"this kernel cannot be configured with {', '.join(lost)}")
    return _lines(left)


def options(root: Path, config: str) -> Options:
    """All options of a kernel with this configuration.

    Raises:
        EtalonError: if `kernel/answers` is older than `kernel/config`.
    """
    answered = parse((root / ANSWERS).read_text(encoding="utf-8"))
    asked = parse(config)
    late = {name: asked[name] for name in ("HZ", "INITRAMFS_SOURCE")}
    lost = [
        name for name, value in asked.items() if name not in late and answered.get(name) != value
    ]
    if lost:
        raise EtalonError(
            f"{ANSWERS} has other answers than kernel/config asks for: {', '.join(lost)}; "
            "`python tools/kernel_answers.py` asks kconfig again"
        )
    return answered | late | of_the_compiler()


def of_the_compiler() -> Options:
    """What the compiler, the assembler and the linker of this machine say of themselves."""
    compiler = _first_line("gcc", "--version")
    return {
        "CC_VERSION_TEXT": f'"{compiler}"',
        "GCC_VERSION": str(_number(_first_line("gcc", "-dumpfullversion"), 10_000)),
        "AS_VERSION": str(_number(_first_line("as", "--version"), 10_000)),
        "LD_VERSION": str(_number(_first_line("ld", "--version"), 10_000)),
    }


def _first_line(*command: str) -> str:
    said = subprocess.run(command, capture_output=True, text=True, check=False, env={"LC_ALL": "C"})
    return said.stdout.partition("\n")[0]


def _number(line: str, major: int) -> int:
    """The version at the end of a line as one number: 12.2.0 is 120200."""
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?\S*$", line)
    if found is None:
        raise EtalonError(f"no version can be read from {line!r}")
    return int(found[1]) * major + int(found[2]) * 100 + int(found[3] or 0)


def write(tree: Path, options: Options) -> None:
    """Gives a tree these options, as if kconfig had. What is compiled again is what one that has changed concerns."""
    for_make = {name: value.strip('"') for name, value in options.items()}
    known = tree / "include" / "config"
    before = known / "auto.conf"
    old = parse(before.read_text(encoding="utf-8")) if before.is_file() else {}
    for name in old.keys() | for_make.keys():
        if old and old.get(name) != for_make.get(name):
            (known / name).parent.mkdir(parents=True, exist_ok=True)
            (known / name).touch()
    for folder in (known, tree / "include" / "generated", tree / ".etalon"):
        folder.mkdir(parents=True, exist_ok=True)
    files.put(tree / TIME_CONSTANTS, time_constants.header(int(options["HZ"])))
    # kconfig is asked again if one of the others is older than the first.
    files.put(tree / ".config", _lines(options))
    files.put(known / "auto.conf", _lines(for_make))
    files.put(known / "auto.conf.cmd", "")
    files.put(tree / "include" / "generated" / "autoconf.h", _header(options))
    files.put(tree / "include" / "generated" / "rustc_cfg", "")


def _lines(options: Options) -> str:
    return "".join(f"CONFIG_{name}={value}\n" for name, value in sorted(options.items()))


def _header(options: Options) -> str:
    """The options for C; what is on is 1."""
    return "".join(
        f"#define CONFIG_{name} {'1' if value == 'y' else value}\n"
        for name, value in sorted(options.items())
    )
