# SPDX-License-Identifier: MIT OR Apache-2.0
"""A source tree of Etalon's kernel, and a "kernel" of one C file to build with it: real tools, no waiting."""

from __future__ import annotations

import os
import shutil
import tarfile
from contextlib import suppress
from pathlib import Path

MAKEFILE = """\
# SPDX-License-Identifier: GPL-2.0
VERSION = 6
PATCHLEVEL = 1
SUBLEVEL = 7
OUR = drivers/net/etalon
linux: init/main.c .config $(OUR)/netdev.c net/ipv4/tcp_retcp.c $(OUR)/etalon_core.o_shipped usr/etalon/initramfs.list
\t@echo '  CC      init/main.o'
\tgcc -DHZ=$$(sed -n s/CONFIG_HZ=//p .config) -include net/ipv4/tcp_retcp.c -o linux init/main.c
"""
MAIN = """\
#include <stdio.h>
#define WORDS "plain"
int main(void) { printf("%d " WORDS "\\n", HZ); return 0; }
"""
PATCH = """\
Says something.

--- a/init/main.c
+++ b/init/main.c
@@ -1,3 +1,3 @@
 #include <stdio.h>
-#define WORDS "plain"
+#define WORDS "patched"
 int main(void) { printf("%d " WORDS "\\n", HZ); return 0; }
"""
CORE = '#!/bin/sh\ncat "$(dirname "$0")"/../../crates/part/src/lib.rs > "$1"\n'
LIBRARIES = """\
#!/bin/sh
mkdir -p "$1"
for library in adu ask; do
    cat "$(dirname "$0")"/../crates/lib$library/src/lib.rs > "$1"/lib$library.so
done
"""
INIT = '#!/bin/sh\nmkdir -p "$1"\ncp "$(dirname "$0")"/init.c "$1"/init\necho "file /init" > "$1"/initramfs.list\n'

FILES = {
    "Cargo.toml": '[workspace.dependencies]\npart = { path = "crates/part" }\n',
    "crates/part/Cargo.toml": '[package]\nname = "part"\n',
    "crates/part/src/lib.rs": "// core\n",
    "Cargo.lock": "",
    "crates/libadu/Cargo.toml": '[package]\nname = "libadu"\n',
    "crates/libadu/src/lib.rs": "// reports\n",
    "crates/libask/Cargo.toml": '[package]\nname = "libask"\n',
    "crates/libask/src/lib.rs": "// asks\n",
    "kernel/libraries.sh": LIBRARIES,
    "kernel/config": "CONFIG_NET=y\n",
    "kernel/answers": "CONFIG_NET=y\n",
    "kernel/unused": "*.rst\n",
    "kernel/patches/0001-words.patch": PATCH,
    "kernel/driver/Kconfig": "config ETALON\n",
    "kernel/driver/netdev.c": "int device;\n",
    "kernel/tcp/tcp_retcp.c": "",
    "kernel/core/Cargo.toml": '[package]\nname = "core"\n[dependencies]\npart = { path = "../../crates/part" }\n',
    "kernel/core/build.sh": CORE,
    "kernel/init/build.sh": INIT,
    "kernel/init/init.c": "int init;\n",
}
KERNEL = {
    "Makefile": MAKEFILE,
    "Kconfig": "",
    "init/main.c": MAIN,
    "Documentation/index.rst": "not unpacked",
    "net/ipv4/tcp.c": "",
}


def write(folder: Path, files: dict[str, str]) -> Path:
    """Makes files in a folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def edit(file: Path, old: str, new: str) -> None:
    """Replaces a text that must be in the file."""
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def pack(what: Path, archive: Path) -> Path:
    """A tar archive of a folder or file, which is its top."""
    with tarfile.open(archive, f"w:{archive.suffix[1:]}") as tar:
        tar.add(what, arcname=what.name)
    return archive


def without(tmp_path: Path, *names: str) -> str:
    """A PATH that has what the real one has, except for some programs."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for place in reversed(os.environ["PATH"].split(os.pathsep)):
        for program in Path(place).glob("*") if Path(place).is_dir() else ():
            link = folder / program.name
            if program.name not in names and shutil.which(program.name):
                link.unlink(missing_ok=True)
                link.symlink_to(program)
    return str(folder)


def sleepers(folder: Path) -> list[Path]:
    """Processes of `sleep` in a folder: other tests have some, too, and so may other users of the machine."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it is no more, or somebody else's
            sleeps = (process / "cmdline").read_bytes().startswith(b"sleep\0")
            if sleeps and (process / "cwd").readlink().is_relative_to(folder):
                found.append(process)
    return found
