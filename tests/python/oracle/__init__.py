# SPDX-License-Identifier: MIT OR Apache-2.0
"""The oracle: result columns computed again from the packet trace, slowly and plainly, without the engines' code for metrics.

`docs/metrics.md` defines each column; this package follows that page and nothing else.
"""
