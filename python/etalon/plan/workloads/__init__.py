# SPDX-License-Identifier: MIT OR Apache-2.0
"""The workloads of plans: who sends what to whom, with which congestion control.

A workload is a class in a file of its own here and a field of `Plan`.
"""
