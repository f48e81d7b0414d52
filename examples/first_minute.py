# SPDX-License-Identifier: MIT OR Apache-2.0
"""The first minute: describe a network, its week and its flows, run them, and look at the numbers."""

import etalon as et

net = et.network(racks=3, hosts=16, packet=("10Gbps", "5us"), circuit=("80Gbps", "30us"), voq=16)
week = et.strobe(net, day="180us", night="20us", mimic=25)
run = et.run(net, week, et.bulk(0, 1, cc="cubic"), duration="240ms", tdf=20)

print(f"circuit utilisation {run.circuit_utilization:.1%}")
print(f"99th percentile of the latency {run.latency(99):.0f} us")
print(run.flows.select("flow", "cc", "circuit_bytes", "packet_bytes", "retransmits"))
