# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random small experiments: long and short, tiny packets and huge, parts of weeks, pairs without traffic."""

from __future__ import annotations

from random import Random
from typing import Any

from etalon.plan import Plan

DAYS = ((8, 1), (40, 1), (40, 20), (180, 20))
"""Lengths of days and nights in us."""


def random_plan(seed: int) -> Plan:
    """The experiment of a seed. Every flow is listed, so that a longer run has the same ones."""
    random = Random(seed)
    racks, hosts = random.randint(2, 5), random.randint(1, 3)
    schedule = week(random, racks)
    duration = random.choice((1, 3, 10, 25)) * 1000 + random.randrange(1000)
    values: dict[str, Any] = {
        **head(random, f"oracle-{seed}", seed, duration),
        "network": network(random, racks, hosts, "kind" in schedule),
        "schedule": schedule,
        "flow": flows(random, racks, hosts, duration),
    }
    if random.random() < 0.3:
        values["bulk"] = [{"from": 0, "to": 1, "cc": random.choice(("cubic", "reno", "retcp"))}]
    if seed % 3 == 0:
        values["measure"] = {"reordering": True}
    return Plan.from_dict(values)


def head(random: Random, name: str, seed: int, duration: int) -> dict[str, Any]:
    """What is no table of a plan that lasts so many us."""
    return {
        "name": name,
        "seed": seed,
        "tdf": random.choice((1, 20)),
        "duration": f"{duration}us",
        "warmup": f"{random.choice((0, random.randrange(duration // 2)))}us",
    }


def changing_plan(seed: int) -> Plan:
    """A random plan whose week is another from one, two or three instants on, of other lengths and kinds of circuits, too."""
    random = Random(f"changing {seed}")
    racks, hosts, duration = (
        random.randint(2, 4),
        random.randint(1, 2),
        random.randrange(2000, 9000),
    )
    values: dict[str, Any] = {
        **head(random, f"changing-{seed}", seed, duration),
        "network": network(random, racks, hosts, fixed=True),
        "schedule": fixed_week(random, racks),
        "flow": flows(random, racks, hosts, duration),
        "bulk": [{"from": 0, "to": 1, "cc": "cubic"}],
    }
    values["schedule"]["change"] = [
        {"at": f"{at}us", "configurations": fixed_week(random, racks)["configurations"]}
        for at in random.sample(range(1, duration), random.randint(1, 3))
    ]
    return Plan.from_dict(values)


def crowded_plan(seed: int) -> Plan:
    """Many senders for few hosts with slow links and long queues; measured from any instant on."""
    random = Random(f"crowded {seed}")
    racks, hosts = random.randint(2, 4), random.randint(1, 3)
    warmup = random.randrange(300, 3000)
    return Plan.from_dict(
        {
            "name": f"crowded-{seed}",
            "seed": seed,
            "duration": f"{warmup + random.choice((1, 10, 100, 1000))}us",
            "warmup": f"{warmup}us",
            "network": {
                "racks": racks,
                "hosts": hosts,
                "mtu": random.choice((576, 1500, 9000)),
                "voq": random.choice((8, 64)),
                "host": {
                    "rate": random.choice(("5Gbps", "40Gbps")),
                    "downlink_queue": random.choice((20, 500)),
                },
            },
            "schedule": week(random, racks),
            "flow": [
                {
                    "from": f"r{source}h{random.randrange(hosts)}",
                    "to": f"r{(source + 1) % racks}h0",
                    "size": "9MB",
                    "start": f"{random.randrange(200)}us",
                }
                for source in random.choices(range(racks), k=8)
            ],
        }
    )


def graph_plan(seed: int) -> Plan:
    """A pair that is measured over some runs of short weeks, and lossy: what is drawn over time."""
    random = Random(f"graph {seed}")
    day, night = random.choice(((20, 1), (40, 10), (90, 5)))
    values: dict[str, Any] = {
        "name": f"graph-{seed}",
        "seed": seed,
        "tdf": random.choice((1, 20)),
        "duration": f"{random.randrange(4000, 7000)}us",
        "warmup": f"{random.randrange(1000)}us",
        "network": {
            "racks": 3,
            "hosts": 2,
            "mtu": random.choice((1500, 9000)),
            "voq": random.choice((6, 30)),
        },
        "schedule": {"day": f"{day}us", "night": f"{night}us"},
        "bulk": [{"from": 0, "to": 1, "cc": random.choice(("cubic", "reno"))}],
        "flow": [{"from": "r0h0", "to": "r1h1", "size": "200kB", "start": "1ms"}],
        "measure": {"weeks_per_run": random.choice((1, 3)), "flows": [0, 1, 2]},
    }
    return Plan.from_dict(values)


def dumbbell_plan(seed: int) -> Plan:
    """One to three links in a row, each with its queue, and flows both ways."""
    random = Random(f"dumbbell {seed}")
    hosts = random.randint(1, 3)

    def path() -> list[dict[str, Any]]:
        return [
            {
                "rate": random.choice(("1Gbps", "5Gbps", "40Gbps")),
                "queue": random.choice((4, 50)),
                "delay": f"{random.randrange(1, 40)}us",
            }
            for _ in range(random.randint(1, 3))
        ]

    duration = random.choice((1, 5, 20)) * 1000
    return Plan.from_dict(
        {
            "name": f"dumbbell-{seed}",
            "seed": seed,
            "tdf": random.choice((1, 20)),
            "duration": f"{duration}us",
            "warmup": f"{random.choice((0, random.randrange(duration // 2)))}us",
            "network": {
                "kind": "dumbbell",
                "hosts": hosts,
                "mtu": random.choice((576, 1500, 9000)),
                "path": path(),
                "return_path": path(),
            },
            "flow": [
                {
                    "from": f"r{rack}h{random.randrange(hosts)}",
                    "to": f"r{1 - rack}h{random.randrange(hosts)}",
                    "size": f"{random.choice((1, 9001, 1_000_000))}B",
                    "start": f"{random.randrange(duration)}us",
                    "cc": random.choice(("cubic", "reno")),
                }
                for rack in random.choices((0, 1), k=random.choice((1, 4, 10)))
            ],
        }
    )


def port_plan(seed: int) -> Plan:
    """A small tree, leaf-spine or dumbbell whose ports are looked at: short queues, several ways, links that fail."""
    random = Random(f"ports {seed}")
    if seed % 3 == 2:
        return dumbbell_plan(seed).replace({"measure.ports": True})
    duration = random.choice((3, 10, 30)) * 1000
    warmup = random.choice((0, random.randrange(duration // 2)))

    def layer(*, above: bool) -> dict[str, Any]:
        found: dict[str, Any] = {
            "rate": random.choice(("1Gbps", "10Gbps")),
            "delay": f"{random.randrange(1, 60)}us",
            "queue": random.choice((3, 20, 60)),
        }
        if random.random() < 0.5:
            found["ecn_threshold"] = random.choice((1, 10))
        return found | ({"switches": random.randint(1, 3)} if above else {})

    network: dict[str, Any] = {
        "kind": ("tree", "leaf-spine")[seed % 3],
        "racks": 4,
        "hosts": 2,
        "mtu": random.choice((576, 1500, 9000)),
        "rack": layer(above=False),
        "delay_in_queue": random.random() < 0.3,
    }
    upper = ("pod", "core") if network["kind"] == "tree" else ("spine",)
    network |= {name: layer(above=True) for name in upper}
    if random.random() < 0.5:
        link = ["r0", "p0a0" if network["kind"] == "tree" else "s0"]
        fails = sorted(random.sample(range(duration), 2))
        network["failure"] = [{"link": link, "from": f"{fails[0]}us", "to": f"{fails[1]}us"}]
        network["reroute"] = f"{random.randrange(500)}us"
    hosts = [f"r{rack}h{host}" for rack in range(4) for host in range(2)]
    ends = [random.sample(hosts, 2) for _ in range(random.choice((1, 6, 12)))]
    return Plan.from_dict(
        {
            "name": f"ports-{seed}",
            "seed": seed,
            "tdf": 1,
            "duration": f"{duration}us",
            "warmup": f"{warmup}us",
            "network": network,
            "tcp": {"min_rto": "4ms", "initial_rto": "10ms"},
            "flow": [
                {
                    "from": source,
                    "to": target,
                    "size": f"{random.choice((1, 9001, 1_000_000))}B",
                    "start": f"{random.randrange(duration)}us",
                    "cc": random.choice(("cubic", "dctcp")),
                }
                for source, target in ends
            ],
            "measure": {"ports": True},
        }
    )


def week(random: Random, racks: int) -> dict[str, Any]:
    """A strobe with long or short days, or a fixed week."""
    day, night = random.choice(DAYS)
    if random.random() < 0.5:
        return {"day": f"{day}us", "night": f"{night}us"}
    return fixed_week(random, racks)


def fixed_week(random: Random, racks: int) -> dict[str, Any]:
    """A week of some matchings in which not every rack takes part."""
    day, night = random.choice(DAYS)
    configurations = []
    for _ in range(random.randint(1, 4)):
        others = random.sample(range(racks), racks)
        circuits = [[a, b] for a, b in zip(range(racks), others, strict=True) if a != b]
        kept = circuits[: random.randint(1, len(circuits))] if circuits else [[0, 1]]
        length = day + random.randrange(20)
        configuration = {"circuits": kept, "day": f"{length}us", "night": f"{night}us"}
        if random.random() < 0.3:  # of another kind
            configuration |= random.choice(({"rate": "25Gbps"}, {"delay": "3us"}, {"repeat": 2}))
        configurations.append(configuration)
    return {"kind": "fixed", "configurations": configurations}


def network(random: Random, racks: int, hosts: int, fixed: bool) -> dict[str, Any]:
    mtu = random.choice((576, 1500, 9000))
    packets = random.choice((2, 16, 100))
    voq: dict[str, Any] = {"packets": packets}
    if random.random() < 0.4:
        voq["resize"] = {"packets": packets * 3, "before": f"{random.choice((30, 150))}us"}
    more = {"night": "all"} if random.random() < 0.3 else {}
    if not fixed and random.random() < 0.3:  # which joins all racks
        more = {"circuits_only": True}
    marking = {"threshold": 10}
    return {"racks": racks, "hosts": hosts, "mtu": mtu, "voq": voq, "marking": marking, **more}


def flows(random: Random, racks: int, hosts: int, duration: int) -> list[dict[str, Any]]:
    """None, one or some flows of one byte to a megabyte."""
    found = []
    for _ in range(random.choice((1, 1, 4, 12))):
        source, target = random.sample(range(racks), 2)
        found.append(
            {
                "from": f"r{source}h{random.randrange(hosts)}",
                "to": f"r{target}h{random.randrange(hosts)}",
                "size": f"{random.choice((1, 800, 9001, 100_000, 1_000_000))}B",
                "start": f"{random.randrange(duration)}us",
                "cc": random.choice(("cubic", "reno", "dctcp")),
            }
        )
    return found
