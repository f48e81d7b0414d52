# SPDX-License-Identifier: GPL-2.0
"""Kernels for the Linux engine of Etalon: `images`, and the `source` that they were built from.

There is nothing to call. `etalon.kernel` finds the image that it needs by its digest.
"""
