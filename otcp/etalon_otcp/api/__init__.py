# SPDX-License-Identifier: MIT OR Apache-2.0
"""The controller's HTTP API (docs/otcp-protocol.md for hosts; OpenAPI 3.1 for all). Needs the extra `otcp`."""
