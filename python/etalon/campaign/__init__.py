# SPDX-License-Identifier: MIT OR Apache-2.0
"""Many runs: what is missing is run, each run is kept as soon as it is complete, Ctrl-C keeps the rest for later."""
