# SPDX-License-Identifier: MIT OR Apache-2.0
"""`etalon otcp demo`: the whole system from real parts on one machine, in private namespaces. Needs the extra `otcp`.

`outside` starts `inside` as the first process of its own PID, mount and network namespaces: when it ends, however it ends,
the kernel ends everything that it started and takes down what it mounted and made.
"""
