# SPDX-License-Identifier: MIT OR Apache-2.0
"""Prints the numbers of this folder's pages that no claim holds: what each reading and each parameter decides.

python papers/cnsm16/asides.py             # everything in the simulator: some minutes of processor time
python papers/cnsm16/asides.py hz wrong    # some of it
python papers/cnsm16/asides.py engines     # Linux beside the simulator, by the runs of `etalon reproduce cnsm16 --engine linux`
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import etalon as et
from etalon.campaign.runs import run_missing
from etalon.engine import named
from etalon.plan.network import Tree
from etalon.plan.otcp.equations import compute
from etalon.reproduce import Results
from etalon.reproduce.paper import Paper
from etalon.reproduce.points import store_in
from etalon.reproduce.run import default_folder

PAPER = Paper.load(str(Path(__file__).parent))
CLAIMS = PAPER.measures
Changes = Mapping[str, Any]
BY_MS = {"rack": (30, 250), "pod": (40, 220), "core": (80, 250)}
"""The instants of which section IV.C tells how many of DCTCP's flows are done."""
SPREADS = ("300us", "1ms", "5ms", "10ms", "15ms", "20ms", "30ms")
VARIANTS = ("tcp", "dctcp", "otcp", "odctcp")


def times(series: str, changes: Changes | None = None, x: int = 25) -> Any:
    """Completion times in ms of a point's incasts, a row a round."""
    return CLAIMS.times(et.run(PAPER.point(series, x).plans[0].replace(dict(changes or {}))))


def size(segments: int) -> dict[str, Any]:
    return {"incast.size": f"{1448 * segments}B"}


def done_by(found: Any, ms: float) -> float:
    """Share of flows done by then, in %."""
    return 100 * float((found <= ms).mean())


def interval(found: Any, of: Callable[[Any], Any], key: str) -> str:
    """A statistic with its confidence interval."""
    estimate = CLAIMS.estimate(of(CLAIMS.drawn(found, key)))
    return f"{estimate:.3g} ({estimate.low:.3g}..{estimate.high:.3g})"


def table(title: str, rows: Iterable[tuple[str, Any]]) -> None:
    """Mean, 95th percentile, and when the last flow is done: of all rounds, and of the median round."""
    print(f"\n{title}: mean, p95, last, last of the median round, in ms")
    for name, found in rows:
        mean, p95 = (interval(found, of, name) for of in (CLAIMS.mean, CLAIMS.p95))
        last = found.max(axis=1)
        print(f"  {name}: {mean}  {p95}  {last.max():.1f}  {np.median(last):.1f}")


def alone() -> None:
    """Each parameter alone, and two of them."""
    for layer, values in {
        "rack": ("1ms", "4ms", 1),
        "core": ("6ms", "26ms", 5),
    }.items():
        rto, first, window = values
        variants: dict[str, Changes] = {
            "none (TCP)": {},
            "RTOmin": {"tcp.min_rto": rto},
            "RTOinit": {"tcp.initial_rto": first},
            "IW": {"tcp.initial_cwnd": window},
            "RTOmin, RTOinit": {"tcp.min_rto": rto, "tcp.initial_rto": first},
            "all but CWNDmax": {
                "tcp.min_rto": rto,
                "tcp.initial_rto": first,
                "tcp.initial_cwnd": window,
            },
            "all (OTCP)": {"tcp.otcp": True},
        }
        where = {"incast.from": "own" if layer == "rack" else layer}
        rows = ((name, times("rack-tcp", {**where, **keys})) for name, keys in variants.items())
        table(f"each parameter alone, {layer}, 25 segments", rows)


def spread() -> None:
    """Figure 6's DCTCP lines over the spread of the starts, with both kinds of links."""
    for in_queue in (True, False):
        name = "within the queue, as Mininet's" if in_queue else "behind the queue"
        print(
            f"\nfigure 6, DCTCP, links that delay {name}: % done by 30 and 250, 40 and 220, 80 and 250 ms"
        )
        for segments in (10, 25):
            for starts in SPREADS:
                changes = {
                    "incast.spread": starts,
                    "network.delay_in_queue": in_queue,
                    **size(segments),
                }
                shares = []
                for layer, instants in BY_MS.items():
                    found = times(f"{layer}-dctcp", changes)
                    shares += [f"{done_by(found, ms):.0f}" for ms in instants]
                print(f"  {segments} segments, {starts}: " + " ".join(shares))
        print("  published: 82 97 86 98 72 89")


def gains() -> None:
    """Figure 5's gains over the spread of the starts."""
    for starts in SPREADS:
        pairs = [
            (
                times("rack-tcp", {"incast.spread": starts}, x),
                times("rack-otcp", {"incast.spread": starts}, x),
            )
            for x in (5, 10, 25, 60)
        ]
        mean, p95 = (
            max(float(of(tcp) / of(otcp)) for tcp, otcp in pairs)
            for of in (CLAIMS.mean, CLAIMS.p95)
        )
        print(
            f"\nfigure 5, starts within {starts}: TCP over OTCP at the mean {mean:.1f}, p95 {p95:.1f}"
        )


def hz() -> None:
    """Ticks a second of the hosts' timers."""
    for series in ("rack-tcp", "rack-otcp", "core-otcp"):
        rows = ((f"HZ {ticks}", times(series, {"tcp.hz": ticks})) for ticks in (100, 250, 1000))
        table(f"{series}, 25 segments", rows)


def alpha() -> None:
    """Flows that OTCP expects: the incast has 90, the paper's table 100."""
    for layer in BY_MS:
        rows = ((f"alpha {n}", times(f"{layer}-otcp", {"tcp.otcp_alpha": n})) for n in (90, 100))
        table(f"OTCP, {layer}, 25 segments", rows)


def links() -> None:
    """Links as Mininet's against links that delay behind their queues."""
    for series in ("rack-tcp", "rack-otcp", "pod-otcp", "core-otcp", "core-dctcp"):
        names = {True: "within the queue (Mininet)", False: "behind the queue"}
        rows = (
            (name, times(series, {"network.delay_in_queue": value}))
            for value, name in names.items()
        )
        table(f"{series}, 25 segments, delay", rows)


def wrong() -> None:
    """Parameters computed from RTTs that are half and twice what they are."""
    network = PAPER.point("rack-otcp", 25).plans[0].network
    assert isinstance(network, Tree)
    for layer in BY_MS:
        rows = []
        for factor in (0.5, 1.0, 2.0):
            inputs = network.otcp_inputs(layer, 100)
            measured = replace(inputs, rtt_ns=int(inputs.rtt_ns * factor))
            computed = compute(measured, network.mtu - 40)
            path = {
                "layer": layer,
                "min_rto": f"{computed.rto_min_ns}ns",
                "initial_rto": f"{computed.rto_init_ns}ns",
                "initial_cwnd": computed.initial_cwnd,
                "max_cwnd": computed.max_cwnd,
            }
            found = times(f"{layer}-otcp", {"tcp.otcp": False, "tcp.path": [path]})
            rows.append((f"RTT x {factor:g}", found))
        table(f"OTCP from wrong RTTs, {layer}, 25 segments", rows)


def today() -> None:
    """TCP with tail loss probes and RACK, and with neither (NewReno): 3.19's, which had probes and no RACK, lies between."""
    for series in ("rack-tcp", "rack-otcp", "core-dctcp", "core-otcp"):
        names = {True: "SACK, RACK, probes (6.1)", False: "none of these (NewReno)"}
        rows = ((name, times(series, {"tcp.sack": value})) for value, name in names.items())
        table(f"{series}, 25 segments", rows)


def flows() -> None:
    """Figure 7's claim over what it does not print: size of flows and spread of starts."""
    print(
        "\nfigure 7, share of flows with 10 to 30 Mb/s in %: OTCP, ODCTCP; least and most of TCP in Mb/s"
    )
    for segments in (10, 25, 40, 60, 100):
        for starts in ("300us", "1ms", "5ms", "20ms"):
            changes = {**size(segments), "incast.spread": starts}
            bits = 8 * 1448 * segments / 1000
            rates = {v: bits / times(f"rack-{v}", changes) for v in ("otcp", "odctcp", "tcp")}
            fair = [100 * ((r >= 10) & (r <= 30)).mean() for r in list(rates.values())[:2]]
            tcp = rates["tcp"]
            print(
                f"  {segments} segments, {starts}: {fair[0]:.0f} {fair[1]:.0f}; {tcp.min():.2f} {tcp.max():.0f}"
            )


def last() -> None:
    """Figure 6's last flows: over sizes, ticks, links; a round has 90 flows, the claim is of 2,700."""
    for layer in BY_MS:
        variants: dict[str, Changes] = {
            "25 segments": {},
            "20 segments": size(20),
            "HZ 250": {"tcp.hz": 250},
            "delay behind the queue": {"network.delay_in_queue": False},
            "starts within 1 ms": {"incast.spread": "1ms"},
            "starts at once": {"incast.spread": "0s"},
        }
        rows = ((name, times(f"{layer}-otcp", keys)) for name, keys in variants.items())
        table(f"OTCP, {layer}", rows)


def order() -> None:
    """Figure 8, size by size."""
    print("\nfigure 8, mean in ms: TCP, DCTCP, OTCP, ODCTCP")
    for x in (1, 10, 25, 40, 100):
        found = {variant: times(f"busy-{variant}", x=x) for variant in VARIANTS}
        cells = (interval(f, CLAIMS.mean, v) for v, f in found.items())
        print(f"  {x} segments: " + "  ".join(cells))


def harm() -> None:
    """What OTCP costs where there is no incast: flows that are alone, hosts whose delays vary, long flows."""
    both: dict[str, Changes] = {"TCP": {}, "OTCP": {"tcp.otcp": True}}
    print("\none flow at a time, median completion in ms: TCP, OTCP")
    for layer in BY_MS:
        for segments in (1, 10, 25, 100):
            where = {"incast.from": "own" if layer == "rack" else layer, **size(segments)}
            alone = {**where, "incast.senders": 1, "incast.flows": 1, "incast.spread": "0s"}
            plan = PAPER.point("rack-tcp", 25).plans[0].replace(alone)
            runs = [et.run(plan.replace(dict(keys))) for keys in both.values()]
            print(
                f"  {layer}, {segments} segments: "
                + " ".join(f"{(r.fct_percentile(50) or 0) / 1000:.2f}" for r in runs)
            )
    for jitter in ("1us", "2ms", "5ms", "20ms"):
        print(
            f"\nincast in the rack, hosts whose delays vary by {jitter}: mean in ms, timeouts, those undone as in vain"
        )
        for name, keys in both.items():
            plan = (
                PAPER.point("rack-tcp", 25)
                .plans[0]
                .replace({"network.host.jitter": jitter, **keys})
            )
            run = et.run(plan)
            mean = interval(CLAIMS.times(run), CLAIMS.mean, name)
            print(f"  {name}: {mean}  {run.counted('rtos')}  {run.counted('undos')}")
    print("\na long flow into the rack, one into the pod, one across the core: Mb/s each")
    for in_queue in (True, False):
        for name, keys in both.items():
            plan = (
                PAPER.point("busy-tcp", 25)
                .plans[0]
                .replace(
                    {
                        "duration": "5s",
                        "warmup": "1s",
                        "incast": [],
                        "network.delay_in_queue": in_queue,
                        **keys,
                    }
                )
            )
            rates = et.run(plan).flows["bytes_delivered"] * 8 / 4e6
            kind = "within" if in_queue else "behind"
            print(f"  {name}, delay {kind} the queue: " + " ".join(f"{rate:.0f}" for rate in rates))


LONG = (150, 900)
"""ms: flows that wait for TCP's least timeout (200 ms) take longer than the one, those that lose a SYN (1 s) than the other."""


def kept(engine: str) -> dict[tuple[str, Any], Any]:
    """By point of figure `engines`: the runs in the folder of the reproduction on Linux; those that are not there are made."""
    on_linux = Paper.load(str(PAPER.folder), "linux")
    points = Paper.load(str(PAPER.folder), engine).points(on_linux.choose(["engines"]))
    store = store_in(default_folder(on_linux), named(engine))
    run_missing([plan for point in points for plan in point.plans], store)
    return {(p.series, p.x): [store.load(plan) for plan in p.plans] for p in points}


def engines() -> None:
    """Means on Linux and in the simulator, point by point, and how much of their difference is of long waits."""
    beside = Results(Paper.load(str(PAPER.folder)), kept("sim"), {})
    linux = Results(Paper.load(str(PAPER.folder), "linux"), kept("linux"), {}, beside)
    print(
        "\nLinux and simulator: mean in ms and ratio; % of it that flows with a timeout have, on Linux;"
    )
    print("of 10,000 flows those that took 150 to 900 ms, and longer; mean of the others and ratio")
    for (series, x), (mean, other, share) in CLAIMS.means(linux).items():
        both = [CLAIMS.rounds(one, series, x) for one in (linux, beside)]
        a, b = (float(found[found < LONG[0]].mean()) for found in both)
        waits = [
            f"{1e4 * float(((found >= low) & (found < high)).mean()):.0f}"
            for low, high in pairwise((*LONG, np.inf))
            for found in both
        ]
        print(
            f"  {series}, {x} segments: {mean:.3f} {other:.3f} {mean / other:.3f}; {share:.1f} %; "
            f"{' '.join(waits)}; {a:.3f} {b:.3f} {a / b:.3f}"
        )


def speed() -> None:
    """Packets times the ports that they leave, by a second of a processor, in runs of figure 8."""
    print(
        "\nfigure 8, 25 segments, one seed: packet-hops in millions, seconds of a processor, millions a second"
    )
    for series in ("busy-tcp", "busy-otcp"):
        plan = PAPER.point(series, 25).plans[0]
        hops = int(et.run(plan.replace({"measure.ports": True})).ports["packets"].sum()) / 1e6
        began = process_time()
        et.run(plan)
        took = process_time() - began
        print(f"  {series}: {hops:.1f}  {took:.2f}  {hops / took:.1f}")


IN_SIMULATOR = {
    aside.__name__: aside
    for aside in (
        *(alone, spread, gains, hz, alpha, links),
        *(wrong, today, last, flows, order, harm, speed),
    )
}
ASIDES = {**IN_SIMULATOR, engines.__name__: engines}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "aside", nargs="*", help=f"{', '.join(ASIDES)}; by default all in the simulator"
    )
    asked = parser.parse_args().aside
    unknown = set(asked) - ASIDES.keys()
    if unknown:
        parser.error(f"there is no aside {sorted(unknown)[0]}; there are {', '.join(ASIDES)}")
    for chosen in asked or IN_SIMULATOR:
        ASIDES[chosen]()
