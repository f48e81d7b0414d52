# SPDX-License-Identifier: MIT OR Apache-2.0
"""Flow completion times: 32 short flows that start while bulk flows keep the queues full."""

import etalon as et

net = et.network(racks=2, hosts=16, voq=32)
week = et.fixed(net, [[(0, 1), (1, 0)]], day="180us", night="20us")
short = [
    et.flow(f"r0h{i % 16}", f"r1h{i % 16}", size="100kB", start=f"{20 + 2 * i}ms")
    for i in range(32)
]
run = et.run(net, week, et.bulk(0, 1, flows=8), *short, duration="120ms")

times = run.fct().select("flow", "bytes", "fct_us")  # null: not finished when the run ended
done = times["fct_us"].drop_nulls()
print(times)
print(
    f"median {run.fct_percentile(50):.0f} us of the {len(done)} that finished; {len(times) - len(done)} are left out"
)
