#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# build.sh OUT: builds the Rust core of the driver into OUT, an object file that the kernel's build takes as it is
# (etalon_core.o_shipped). The same sources in the same folder, with the same tools, give the same
# bytes. CARGO_TARGET_DIR says where cargo works.
set -eu

out=$1
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target/kernel-core}
cargo_home=${CARGO_HOME:-$HOME/.cargo}

# Nothing of the user's configuration gets in, and no path of this machine gets out.
unset RUSTFLAGS CARGO_BUILD_TARGET CARGO_BUILD_RUSTFLAGS
unit=$(printf '\037')
flags="-Crelocation-model=static${unit}-Cforce-unwind-tables=no"
flags="$flags${unit}--remap-path-prefix=$root=/etalon${unit}--remap-path-prefix=$cargo_home=/cargo"
# With a target that is named, flags are for the core alone and not for the macros that its crates are built with.
host=$(rustc -vV | sed -n 's/^host: //p')
CARGO_ENCODED_RUSTFLAGS=$flags CARGO_TARGET_DIR=$target \
	cargo build --quiet --release --locked --target "$host" --manifest-path "$here/Cargo.toml"

# What C calls, and what that needs.
calls=$(sed -n 's/.*extern "C" fn \(etalon_core_[a-z_]*\)(.*/\1/p' "$here/src/lib.rs")
roots=
for call in $calls; do
	roots="$roots -u $call"
done
# shellcheck disable=SC2086 # one argument a call
ld -r --gc-sections -T "$here/core.lds" -e etalon_core_new $roots \
	-o "$out.tmp" "$target/$host/release/libetalon_core.a"
objcopy --wildcard --keep-global-symbol='etalon_core_*' --discard-all "$out.tmp" "$out"
rm "$out.tmp"

# The kernel provides these; anything else would be an accident that shows up only at the kernel's link.
unknown=$(nm -u "$out" | awk '{ print $2 }' |
	grep -vxE 'etalon_[a-z_]+|memcpy|memmove|memset|memcmp|bcmp' || true)
if [ -n "$unknown" ]; then
	echo "The Rust core needs what the kernel does not have: $unknown" >&2
	rm "$out"
	exit 1
fi
