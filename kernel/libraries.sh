#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# libraries.sh FOLDER: builds libadu.so and libask.so into FOLDER, for programs on emulated hosts. The same sources and tools give
# the same bytes. CARGO_TARGET_DIR says where cargo works.
set -eu

out=$1
root=$(cd "$(dirname "$0")/.." && pwd)
# In one folder cargo would take another checkout's build for this one's, if that is later.
checkout=$(printf '%s' "$root" | cksum | cut -d ' ' -f 1)
target=${CARGO_TARGET_DIR:-$root/target}/libraries-$checkout
cargo_home=${CARGO_HOME:-$HOME/.cargo}

# Nothing of the user's configuration gets in, and no path of this machine gets out.
unset RUSTFLAGS CARGO_BUILD_TARGET CARGO_BUILD_RUSTFLAGS
unit=$(printf '\037')
flags="--remap-path-prefix=$root=/etalon${unit}--remap-path-prefix=$cargo_home=/cargo"
CARGO_ENCODED_RUSTFLAGS=$flags CARGO_TARGET_DIR=$target \
	cargo build --quiet --release --locked --manifest-path "$root/Cargo.toml" -p libadu -p libask
mkdir -p "$out"
for library in libadu.so libask.so; do
	strip --strip-unneeded -o "$out/$library" "$target/release/$library"
done
