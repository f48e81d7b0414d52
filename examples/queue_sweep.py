# SPDX-License-Identifier: MIT OR Apache-2.0
"""A sweep: how much of the circuit CUBIC and reTCP use, over the size of the VOQs, as a table and a figure."""

import etalon as et

net = et.network(ece={"before": "150us"})
plan = et.experiment(net, et.strobe(net, mimic=25), et.bulk(0, 1), duration="120ms")
sweep = et.sweep(plan, {"network.voq": [8, 16, 32], "bulk.cc": ["cubic", "retcp"]}, seeds=2)

print(
    sweep.table.group_by("network.voq", "bulk.cc", maintain_order=True)
    .mean()
    .select("network.voq", "bulk.cc", "circuit_utilization", "latency_p99")
)
figure = sweep.plot.utilization(x="network.voq", hue="bulk.cc", xlabel="VOQ (packets)")
figure.savefig("queue_sweep.png", dpi=200)
