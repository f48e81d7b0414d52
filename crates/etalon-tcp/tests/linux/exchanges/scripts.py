# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is random of an exchange: its endpoint's settings, what its program does, and what becomes of packets."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

MS = 1000  # microseconds

FEATURES = (
    "plain",
    "loss",
    "queue",
    "reordering",
    "acks_lost",
    "delayed_acks",
    "dsack",
    "ecn",
    "no_sack",
    "no_timestamps",
    "small_window",
    "zero_window",
    "fin",
    "wrap",
    "pauses",
    "small_writes",
    "min_rto",
    "bursts_of_acks",
    "odd",
    "short",
)
CONTROLS = ("cubic", "reno", "dctcp", "retcp")


@dataclass
class Script:
    """One exchange. Times in us, lengths in bytes; probabilities of 1."""

    number: int
    feature: str
    receives: bool
    cc: str = "cubic"
    passive: bool = False
    sack: bool = True
    timestamps: bool = True
    ecn: bool = False
    mtu: int = 1500
    initcwnd: int = 10
    min_rto_ms: int = 200
    iss: int | None = None
    divisor: int = 3
    limit: int = 3000 * MS

    # The peer and the path to it.
    peer_iss: int = 0
    owd: int = 10 * MS
    transmission: int = 0
    queue: int = 1000
    loss: float = 0.0
    ack_loss: float = 0.0
    reordering: float = 0.0
    twice: float = 0.0
    marks: float = 0.0
    circuit: int = 0
    ack_every: int = 1
    bunch: int = 0
    window: int = 1 << 20
    scale: int = 7
    closes_window: bool = False
    odd: float = 0.0

    # The program: (time, what, how much).
    calls: list[tuple[int, str, int]] = field(default_factory=list)
    # What the peer sends: (time, offset, length, FIN).
    data: list[tuple[int, int, int, bool]] = field(default_factory=list)


def script(number: int) -> Script:
    """The exchange of that number."""
    r = random.Random(number)
    feature = FEATURES[number % len(FEATURES)]
    receives = number // len(FEATURES) % 4 == 3
    s = Script(number, feature, receives)
    settings(s, r)
    path(s, r)
    if receives:
        receiving(s, r)
    else:
        sending(s, r)
    return s


def settings(s: Script, r: random.Random) -> None:
    """The endpoint's."""
    s.cc = CONTROLS[s.number // len(FEATURES) % 5 % 4] if not s.receives else r.choice(CONTROLS)
    s.passive = r.random() < 0.3
    s.sack = s.feature != "no_sack" and r.random() < 0.9
    s.timestamps = s.feature != "no_timestamps" and r.random() < 0.9
    s.ecn = s.feature == "ecn" or r.random() < 0.1
    s.mtu = r.choice((1500, 1500, 9000))
    s.initcwnd = r.choice((10, 10, 10, 3, 30))
    s.divisor = r.choice((3, 3, 3, 100))
    if s.feature == "min_rto":
        s.min_rto_ms = r.choice((1, 5, 10, 20, 50))
    if s.feature == "wrap":
        s.iss = 2**32 - r.randrange(1, 60_000)
        s.peer_iss = 2**32 - r.randrange(1, 60_000)
    else:
        s.peer_iss = r.randrange(2**32)


def path(s: Script, r: random.Random) -> None:
    """The network's."""
    s.owd = r.choice((50, 200, MS, 5 * MS, 20 * MS)) + r.randrange(50)
    s.transmission = r.choice((0, 1, 12, 120, 600))
    f = s.feature
    if f in (
        "loss",
        "no_sack",
        "no_timestamps",
        "dsack",
        "min_rto",
        "wrap",
        "fin",
        "bursts_of_acks",
    ):
        s.loss = r.choice((0.02, 0.05, 0.1, 0.2))
    if f == "queue" or r.random() < 0.1:
        s.queue = r.choice((1, 2, 3, 5, 8, 12))
        s.transmission = max(s.transmission, 12)
    if f in ("reordering", "dsack") or r.random() < 0.05:
        s.reordering = r.choice((0.02, 0.1, 0.3))
    if f == "dsack" or r.random() < 0.05:
        s.twice = r.choice((0.02, 0.1))
    if f == "acks_lost" or r.random() < 0.1:
        s.ack_loss = r.choice((0.05, 0.2, 0.5))
        s.loss = max(s.loss, r.choice((0.0, 0.05)))
    if f == "delayed_acks" or r.random() < 0.3:
        s.ack_every = r.choice((2, 2, 2, 3, 8))
    if s.ecn or s.cc == "dctcp":
        s.marks = r.choice((0.0, 0.02, 0.1, 0.4))
    if s.cc == "retcp":
        s.circuit = r.choice((0, 3 * MS, 20 * MS, 50 * MS))
    if f == "bursts_of_acks" or r.random() < 0.05:
        s.bunch = r.choice((100, MS, 5 * MS))
    if f == "small_window":
        s.window = r.choice((2, 3, 5, 9)) * (s.mtu - 52) + r.randrange(-300, 300)
        s.scale = r.choice((0, 1)) if s.window < 65_000 else 2
    if f == "zero_window":
        s.closes_window = True
        s.window = r.choice((5, 20)) * (s.mtu - 52)
        s.scale = 3
    if f == "odd":
        s.odd = 0.1


def sending(s: Script, r: random.Random) -> None:
    """The program writes."""
    mss = s.mtu - 52
    at = r.choice((0, 100, 10 * MS, 30 * MS))
    if s.feature == "small_writes":
        for _ in range(r.randrange(3, 25)):
            s.calls.append((at, "w", r.choice((1, 100, 700, 1448, 2000))))
            at += r.choice((0, 0, 50, MS, 3 * MS, 50 * MS))
    elif s.feature == "pauses":
        for _ in range(r.randrange(2, 5)):
            s.calls.append((at, "w", r.randrange(1, 25) * mss + r.choice((0, 100))))
            at += r.choice((5, 100, 300, 600)) * MS
    elif s.feature == "short":
        s.calls.append((at, "w", r.randrange(1, 24) * mss + r.choice((0, 0, 1, 700))))
    else:
        s.calls.append((at, "w", r.randrange(20, 110) * mss + r.choice((0, 1, 700))))
        if r.random() < 0.3:
            s.calls.append((at + r.choice((1, 10, 100)) * MS, "w", r.randrange(1, 30) * mss))
    if s.feature in ("fin", "short") or r.random() < 0.4:
        last = s.calls[-1][0]
        s.calls.append((last + r.choice((0, 0, 0, MS, 50 * MS)), "s", 0))
    if r.random() < 0.15:
        s.data = [(r.randrange(1, 200) * MS, 0, r.choice((10, 1448)), False)]


def receiving(s: Script, r: random.Random) -> None:
    """The peer sends: mostly in order, sometimes with holes, filled later, and with what came before."""
    mss = s.mtu - (52 if s.timestamps else 40)
    if s.feature == "small_writes":
        mss = r.choice((100, 500, 800))
    holes: list[tuple[int, int]] = []
    sent: list[tuple[int, int]] = []
    at, offset = r.choice((0, MS, 20 * MS)), 0
    gap = r.choice((1, 12, 100, MS, 8 * MS))
    bad = 0.0 if s.feature in ("plain", "delayed_acks", "short") else r.choice((0.02, 0.1, 0.3))
    for _ in range(r.randrange(20, 120)):
        roll = r.random()
        if roll < bad / 2:
            holes.append((offset, mss))
            offset += mss
        elif roll < bad and holes:
            s.data.append((at, *holes.pop(r.randrange(len(holes))), False))
        elif roll < bad * 1.3 and sent:
            s.data.append((at, *r.choice(sent), False))
        elif roll < bad * 1.4 and sent:
            first, size = r.choice(sent)
            first = max(0, first - r.randrange(0, 2 * mss))
            s.data.append((at, first, min(r.randrange(1, size + 1) + mss // 2, mss), False))
        else:
            size = mss if r.random() < 0.95 else r.randrange(1, mss)
            s.data.append((at, offset, size, False))
            sent.append((offset, size))
            offset += size
        at += gap if r.random() < 0.8 else r.choice((0, gap, 10 * gap, 60 * MS))
    for hole in holes:
        at += gap
        s.data.append((at, *hole, False))
    if r.random() < 0.5:
        s.data.append((at + gap, offset, 0, True))
    if r.random() < 0.3:
        for _ in range(r.randrange(1, 6)):
            s.calls.append((r.randrange(1, at + MS), "w", r.choice((10, 500, 3000))))
    s.calls.sort()
