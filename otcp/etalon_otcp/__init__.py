# SPDX-License-Identifier: MIT OR Apache-2.0
"""OTCP: a controller that tells hosts how to use TCP (Jouet, Perkins, Pezaros: NOMS 2016).

What computes (`network`, `routes`, `groups`, `prefixes`, `publication`, `explain`) has no I/O, and has the equations from
`etalon.plan.otcp`. `switches` speaks OpenFlow, `api` HTTP.
"""
