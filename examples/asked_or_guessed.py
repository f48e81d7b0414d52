# SPDX-License-Identifier: MIT OR Apache-2.0
"""The same job under circuits that follow a week, that are computed from demand, and that it asks for."""

import etalon as et

net = et.network(
    racks=8,
    hosts=1,
    packet=("10Gbps", "1us"),
    circuit=("100Gbps", "1us"),
    host={"rate": "100Gbps", "jitter": "0us"},
    voq=500,
)
computed = {"day": "50us", "night": "10us", "window": "500us", "compute": "20us"}
WEEKS = {
    "packets alone": et.packet_only(net),
    "strobe": et.strobe(net, day="90us", night="10us"),
    "Solstice, from VOQs": et.computed(net, "solstice", estimator="voq", **computed),
    "Solstice, announced": et.computed(net, "solstice", estimator="adu", **computed),
    "asked": et.asked(net, reconfiguration="10us", hold="0us"),
    "asked ahead": et.asked(net, reconfiguration="10us", hold="0us", ahead=True),
}
DEEDS = (et.compute("300us", jitter="30us"), et.all_reduce("4MB", algorithm="swing"))

for name, week in WEEKS.items():
    circuits = "each" if name.startswith("asked") else "none"
    job = et.job(*DEEDS, iterations=5, circuits=circuits)
    plan = et.experiment(net, week, job, tdf=1, warmup="0ms", duration="2s", end_when_done=True)
    runs = et.run_many([plan.replace({"seed": seed}) for seed in (1, 2, 3)])
    took = sorted(run.iteration_time(50) for run in runs)
    busbw = sorted(run.busbw / 1e9 for run in runs)
    print(
        f"{name:20} {took[1]:6.2f} ms an iteration ({took[0]:.2f} to {took[2]:.2f}), busbw {busbw[1]:5.1f} Gb/s"
    )
