# SPDX-License-Identifier: MIT OR Apache-2.0
"""OTCP (Jouet, Perkins, Pezaros: NOMS 2016): the equations, the bounds of what may be published, the paper's Table I.

Plans use it (`tcp.otcp`), and so does the controller, which is a distribution of its own (`etalon-otcp`, folder `otcp`).
"""
