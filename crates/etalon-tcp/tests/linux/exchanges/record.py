# SPDX-License-Identifier: MIT OR Apache-2.0
"""Has the Linux engine's kernel answer the exchanges of `scripts.py`: `python record.py [FIRST COUNT]`.

For `../../exchanges.rs`. Needs the kernel (`etalon kernel build`), /usr/bin/python3, ip and ethtool. Takes a minute for all,
which boots one machine. With two numbers it prints these exchanges instead of keeping them all.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import etalon as et

HERE = Path(__file__).resolve().parent
ALL = 400

PLAN = """
duration = "%ds"
warmup = "1us"
tdf = 1
[network]
kind = "dumbbell"
mtu = 1500
path = [{rate = "1Gbps", queue = 10, delay = "1ms"}]
return_path = [{delay = "1ms"}]
host = {rate = "10Gbps", delay = "0us", jitter = "0us"}
hosts = 1
[[program]]
host = "r0h0"
command = [%s]
"""


def answers(seconds: int, program: Path, *arguments: int) -> str:
    """What a program prints that runs on a host for at most `seconds` of its clock."""
    words = ["/usr/bin/python3", str(program), *map(str, arguments)]
    plan = PLAN % (seconds, ", ".join(map(json.dumps, words)))
    run = et.run(et.Plan.from_toml(plan), engine="linux")
    if failed := run.failed_programs:
        raise SystemExit("\n".join(failed))
    return next(text for name, text in run.outputs.items() if name.endswith(".out")).decode()


def record(first: int, count: int) -> str:
    """The exchanges, as text."""
    return answers(count * 8 + 10, HERE / "exchange.py", first, count)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(record(int(sys.argv[1]), int(sys.argv[2])), end="")
    else:
        (HERE.parent / "exchanges.txt").write_text(record(0, ALL))
