"""OTCP: a controller that tells hosts how to use TCP (Jouet, Perkins, Pezaros: CNSM 2016).

What computes (`network`, `equations`, `bounds`, `routes`, `groups`, `prefixes`, `publication`, `explain`) has no I/O and needs
nothing beyond what the simulator needs. What speaks OpenFlow and HTTP (`switches`, `api`) needs the extra `otcp`.
"""
