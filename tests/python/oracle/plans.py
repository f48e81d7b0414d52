"""Random small experiments: long and short, tiny packets and huge, parts of weeks, pairs without traffic."""

from __future__ import annotations

from random import Random
from typing import Any

from etalon.plan import Plan


def random_plan(seed: int) -> Plan:
    """The experiment of a seed. Every flow is listed, so that a longer run has the same ones."""
    random = Random(seed)
    racks, hosts = random.randint(2, 5), random.randint(1, 3)
    schedule = week(random, racks)
    duration = random.choice((1, 3, 10, 25)) * 1000 + random.randrange(1000)
    values: dict[str, Any] = {
        "name": f"oracle-{seed}",
        "seed": seed,
        "tdf": random.choice((1, 20)),
        "duration": f"{duration}us",
        "warmup": f"{random.choice((0, random.randrange(duration // 2)))}us",
        "network": network(random, racks, hosts, "kind" in schedule),
        "schedule": schedule,
        "flow": flows(random, racks, hosts, duration),
    }
    if random.random() < 0.3:
        values["bulk"] = [{"from": 0, "to": 1, "cc": random.choice(("cubic", "reno", "retcp"))}]
    if seed % 3 == 0:
        values["measure"] = {"reordering": True}
    return Plan.from_dict(values)


def week(random: Random, racks: int) -> dict[str, Any]:
    """A strobe with long or short days, or a week of some matchings in which not every rack takes part."""
    day, night = random.choice(((8, 1), (40, 1), (40, 20), (180, 20)))
    if random.random() < 0.5:
        return {"day": f"{day}us", "night": f"{night}us"}
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
