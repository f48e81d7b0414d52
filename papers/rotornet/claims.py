# SPDX-License-Identifier: MIT OR Apache-2.0
"""Throughput as a share of the racks' full rate, in %."""

from __future__ import annotations

from etalon.reproduce import Results
from etalon.reproduce.paper import X
from etalon.results import Run


def throughput(run: Run) -> float:
    """Bytes on the wire of data that reached its destination, as a share of what racks could send over all their uplinks."""
    network = run.plan.resolve()["network"]["ocs"]
    rate = sum(uplink["rate_bps"] for uplink in network["uplinks"])
    racks = run.plan.resolve()["hosts"]["racks"]
    arrived = float(run.hops_by_class()["bytes"].sum())
    return 100 * 8e9 * arrived / (float(racks * rate) * run.measured_ns)


def density(run: Run) -> float:
    """The share of racks that a rack sends to, on average."""
    racks = run.plan.resolve()["hosts"]["racks"]
    pairs = {(flow["src_rack"], flow["dst_rack"]) for flow in run.plan.resolve()["flows"]}
    return len(pairs) / float(racks) ** 2


def direct_permutation(results: Results, racks: X) -> float:
    """Of one hop, each rack to one other."""
    return throughput(results.run("direct-permutation", racks))


def direct_uniform(results: Results, racks: X) -> float:
    """Of one hop, each rack to all others."""
    return throughput(results.run("direct-uniform", racks))


def rotorlb_permutation(results: Results, racks: X) -> float:
    """Of RotorLB, each rack to one other."""
    return throughput(results.run("rotorlb-permutation", racks))


def rotorlb_uniform(results: Results, racks: X) -> float:
    """Of RotorLB, each rack to all others."""
    return throughput(results.run("rotorlb-uniform", racks))


def direct_from_exact(results: Results) -> float:
    """The largest difference of one hop from the share of racks that a rack sends to, in points."""
    runs = results.whole("direct-density").values()
    return max(abs(throughput(run) - 100 * density(run)) for (run,) in runs)


def rotorlb_least(results: Results) -> float:
    """The least that RotorLB gets at any density."""
    return min(throughput(run) for (run,) in results.whole("rotorlb-density").values())


def rotorlb_more(results: Results) -> float:
    """The least that RotorLB gets beyond one hop at any density, in points."""
    runs = results.whole("rotorlb-density")
    direct = results.whole("direct-density")
    return min(throughput(run) - throughput(direct[x][0]) for x, (run,) in runs.items())
