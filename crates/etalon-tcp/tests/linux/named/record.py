"""Has the Linux engine's kernel answer the exchanges of `named.py`, for `../../exchanges.rs`: `python record.py`."""

from __future__ import annotations

from pathlib import Path

import etalon as et

HERE = Path(__file__).resolve().parent

PLAN = """
duration = "60s"
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
command = ["/usr/bin/python3", "%s"]
"""


def record() -> str:
    """The exchanges, as text."""
    run = et.run(et.Plan.from_toml(PLAN % (HERE / "named.py")), engine="linux")
    if failed := run.failed_programs:
        raise SystemExit("\n".join(failed))
    return next(text for name, text in run.outputs.items() if name.endswith(".out")).decode()


if __name__ == "__main__":
    (HERE.parent / "named.txt").write_text(record())
