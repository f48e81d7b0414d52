# SPDX-License-Identifier: MIT OR Apache-2.0
"""Inside the emulated machine: exchanges made by hand, each for one behaviour of Linux beyond the RFCs, with the kernel's TCP.

They are printed as `../exchanges/exchange.py` prints its own, whose machinery this uses. The header ends with what TCP_INFO
said at last: `srtt` in us, and the degree of reordering.
"""

from __future__ import annotations

import socket
import struct
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "exchanges"))

import exchange
import wire
from exchange import Exchange, command, header, setting, shortened
from scripts import MS, Script
from wire import ACK, Segment

MSS = 1448

Steps = list[tuple[int, int, list[tuple[int, int]], int]]


class ByHand(Exchange):
    """A peer that says what it is told to; `steps`: when after the handshake, in us, segments acknowledged, SACK blocks in
    segments, and by how much the echoed timestamp is too old, in ms. `deaf`: so many SYNs are lost."""

    steps: Steps
    said = ""
    deaf = 0
    most = 1000

    def open(self) -> None:
        """The program connects; an exchange lasts to its end, also if nothing is due."""
        super().open()
        self.at(self.s.limit - 1, lambda: None)

    def sent(self, when: int, seg: Segment) -> None:
        """The kernel sent a segment."""
        if seg.flags & wire.SYN and self.deaf:
            self.deaf -= 1
            self.iss = seg.seq
            self.nxt = seg.seq + 1
            self.log(when, self.text(">", seg, self.iss, self.s.peer_iss))
            return
        super().sent(when, seg)

    def establish(self, reply: Segment) -> None:
        if self.established:
            return
        super().establish(reply)
        start = self.now()
        for when, acked, blocks, age in self.steps:
            self.at(start + when, lambda a=acked, b=blocks, g=age: self.say(a, b, g))

    def say(self, acked: int, blocks: list[tuple[int, int]], age: int) -> None:
        """An ACK."""
        base = (self.iss or 0) + 1
        seg = Segment(self.s.peer_iss + 1, base + acked * MSS, ACK, win=self.field())
        if self.s.timestamps:
            seg.ts = (1000 + self.now() // 1000, self.recent - age)
        seg.sack = [(base + a * MSS, base + b * MSS) for a, b in blocks]
        self.inject(seg)

    def travel(self, when: int, seg: Segment) -> None:
        """Nothing comes of it but its timestamp."""
        if seg.ts:
            self.recent = seg.ts[0]

    def last_words(self) -> str:
        """Of TCP_INFO."""
        if self.socket is None:
            return ""
        info = self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
        (srtt, reordering) = struct.unpack("II", info[68:72] + info[88:92])
        return f" srtt={srtt} reordering={reordering}"

    def end(self) -> None:
        self.said = self.last_words()
        super().end()


def script(number: int, name: str, **settings: object) -> Script:
    """Reno, without deferral."""
    return Script(number, name, False, cc="reno", divisor=100, **settings)


def writes(*calls: tuple[int, int]) -> list[tuple[int, str, int]]:
    """When, and how many segments."""
    return [(when * MS, "w", count * MSS) for when, count in calls]


def cases() -> list[tuple[Script, Steps]]:
    """The exchanges."""
    found: list[tuple[Script, Steps]] = []

    def case(name: str, steps: Steps, **settings: object) -> None:
        found.append((script(len(found), name, **settings), steps))

    # An RTT that falls from 100 ms to 10, then a timeout: how far has the deviation come down?
    times = [(0, 100), (200, 100), (400, 10), (500, 10), (600, 10), (700, 10)]
    case(
        "falling_rtt",
        [((at + rtt) * MS + 10, n + 1, [], 0) for n, (at, rtt) in enumerate(times)],
        calls=writes(*((at, 1) for at, _ in times), (800, 1)),
        sack=False,
        min_rto_ms=1,
        owd=10 * MS,
    )
    # A timeout in fast recovery, when a new segment is younger than RTT (60 ms): it counts as in flight; and when one is older
    # by less than a quarter of it: it does not.
    for name, late in (("loss_window", 300), ("may_still_arrive", 289)):
        case(
            name,
            [(61 * MS, 0, [(1, 4)], 0), (62 * MS, 0, [(1, 10)], 0)],
            calls=writes((0, 10), (late, 2)),
            owd=30 * MS,
        )
    # A segment is resent after a timeout, and answered with a timestamp that is older than 2^21 ms, and with one that is not.
    for name, age in (("echo_of_3000_s", 3_000_000), ("echo_of_200_s", 200_000)):
        case(name, [(400 * MS, 1, [], age)], calls=writes((0, 1)), sack=False)
    # What was SACKed is not acknowledged with what comes before it.
    case(
        "grace",
        [(100 * MS, 0, [(1, 10)], 0), (210 * MS, 1, [], 0)],
        calls=writes((0, 10)),
        owd=50 * MS,
    )
    # The first SYN is lost: the window is the initial one; the second too: it is one segment.
    for lost in (1, 2):
        case(f"lost_syns_{lost}", [], calls=writes((0, 12)), limit=5000 * MS)
    # A reduction to 5, growth to 9, a pause that is longer than the timeout: the threshold is three quarters of the window.
    acks = [(131, 15), (152, 21), (173, 28), (194, 36), (215, 45), (236, 50)]
    case(
        "threshold_after_idle",
        [
            (30 * MS, 0, [(1, 2)], 0),
            (31 * MS, 0, [(1, 4)], 0),
            (60 * MS, 10, [], 0),
            *((at * MS, acked, [], 0) for at, acked in acks),
        ],
        calls=writes((0, 10), (100, 40), (1200, 3)),
    )
    # A segment is overtaken by one 350 later.
    case(
        "degree_of_350",
        [(1 * MS, 0, [], 0), (20 * MS, 0, [(350, 352)], 0), (21 * MS, 1, [(350, 352)], 0)],
        calls=writes((0, 400)),
        initcwnd=400,
        limit=100 * MS,
    )
    return found


def main() -> None:
    """All of them."""
    command(
        f"ip link set lo up mtu 9000 && ip addr add {wire.LOCAL}/32 dev lo && ip route add 10.9.0.0/16 dev lo"
    )
    command("ethtool -K lo tso off gso off gro off tx off > /dev/null 2>&1")
    wanted = cases()
    routes = [
        f"route add {exchange.address(s.number)}/32 dev lo mtu {s.mtu} rto_min {s.min_rto_ms}ms initcwnd {s.initcwnd}"
        for s, _ in wanted
    ]
    command("ip -batch -", "\n".join(routes) + "\n")
    wire.LIBC.prctl(29, 1, 0, 0, 0)  # PR_SET_TIMERSLACK
    tap = wire.Tap()
    for s, steps in wanted:
        setting("sack", s.sack)
        setting("timestamps", 2 if s.timestamps else 0)
        setting("ecn", 0)
        setting("tso_win_divisor", s.divisor)
        begin = (time.clock_gettime_ns(time.CLOCK_MONOTONIC) // exchange.BEGIN + 1) * exchange.BEGIN
        left = begin - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        time.sleep(left / 1e9 - 0.001)
        tap.read()
        played = ByHand(s, tap, begin)
        played.steps = steps
        played.deaf = int(s.feature[-1]) if s.feature.startswith("lost_syns") else 0
        played.sleep(0)
        played.play()
        print(header(s, played.iss or 0) + played.said)
        last, before = 0, {}
        for when, _, text in sorted(played.lines):
            print(when - last, shortened(text, before))
            last = when
        sys.stdout.flush()


if __name__ == "__main__":
    main()
