# SPDX-License-Identifier: MIT OR Apache-2.0
"""What users write in Python: schedulers, workloads and congestion controls, with their source, which travels with a plan."""
