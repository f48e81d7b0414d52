#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# As root, in a mount namespace of its own: gives an ordinary user /dev/net/tun and, if they lie in root's home, Python and this tree.
#   unshare --mount --propagation private sh ordinary_user.sh FOLDER "READABLE..." COMMAND...
set -e
folder=$1 readable=$2
shift 2
mknod -m 666 "$folder/tun" c 10 200
mount --bind "$folder/tun" /dev/net/tun
number=0
for path in $readable; do # before /root is hidden
    number=$((number + 1))
    mkdir "$folder/$number"
    mount --bind "$path" "$folder/$number"
done
mount -t tmpfs -o mode=755 tmpfs /root
number=0
for path in $readable; do
    number=$((number + 1))
    mkdir -p "$path"
    mount --move "$folder/$number" "$path"
done
cd /
exec setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs "$@"
