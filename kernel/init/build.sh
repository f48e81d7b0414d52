#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# build.sh OUT: builds init, and writes OUT/initramfs.list for the kernel's
# CONFIG_INITRAMFS_SOURCE. The same sources give the same initramfs.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)

cd "$here"
${CC:-gcc} -std=gnu11 -static -Os -s -Wall -Wextra -Werror -D_GNU_SOURCE \
	-ffunction-sections -fdata-sections -Wl,--gc-sections,--build-id=none \
	-o "$out/init" init.c plan.c hosts.c root.c program.c on.c ask.c
touch -d @0 "$out/init"
cat > "$out/initramfs.list" <<LIST
dir /dev 0755 0 0
nod /dev/console 0600 0 0 c 5 1
file /init $out/init 0755 0 0
LIST
