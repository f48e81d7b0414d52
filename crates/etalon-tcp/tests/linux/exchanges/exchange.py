# SPDX-License-Identifier: MIT OR Apache-2.0
"""Inside the emulated machine: plays exchanges with the kernel's TCP and prints them, `python exchange.py FIRST COUNT`.

A line is one thing that happens: how many ns after the one before, what, and its numbers. `<` a segment arrives, `>` one is
sent: flags, sequence number, length, acknowledgement, window, with `t` timestamp and echo, with `k` SACK blocks, with `o` a
SYN's MSS, window scale, SACK permitted, with `e` the ECN bits of the IP header. `w` the program writes so many bytes, `r` it
reads all that there is, `s` it shuts its side down, `c` it connects, `.` the end. `i` congestion window, slow-start threshold
and state, if they have changed. Sequence numbers count from the SYN's. In the numbers of a segment `.` stands for what the
last one in its direction had, `+` for the sequence number that follows it.
"""

from __future__ import annotations

import contextlib
import heapq
import random
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import scripts
import wire
from scripts import MS, Script
from wire import ACK, CWR, ECE, FIN, LOCAL, PORT, SYN, Segment

WALL = 1_700_000_000 * 10**9  # the wall clock's lead on the monotonic one
BEGIN = 2_048_000_000  # scripts begin when this divides the time, ns: 512 ticks
TCP_REPAIR, TCP_REPAIR_QUEUE, TCP_QUEUE_SEQ, TCP_INFO, TCP_CONGESTION = 19, 20, 21, 11, 13


def command(text: str, given: str | None = None) -> None:
    """Runs a command."""
    subprocess.run(text, shell=True, check=True, input=given, text=True)


def setting(name: str, value: int) -> None:
    """Sets one of this host's settings of TCP."""
    Path(f"/proc/sys/net/ipv4/tcp_{name}").write_text(str(int(value)))


def address(number: int) -> str:
    """The peer of a script."""
    return f"10.9.{number // 250}.{number % 250 + 1}"


class Exchange:
    """One script, with the peer that follows it."""

    most = 260
    """Lines after which an exchange is long enough."""

    def __init__(self, script: Script, tap: wire.Tap, begin: int) -> None:
        self.s, self.tap, self.begin = script, tap, begin
        self.r = random.Random(f"{script.number} fates")
        self.due: list[tuple[int, int, Callable[[], None]]] = []
        self.order = 0
        self.lines: list[tuple[int, int, str]] = []
        self.peer = address(script.number)
        self.port = 0
        self.iss: int | None = None
        self.told: tuple[int, ...] = ()
        self.socket: socket.socket | None = None
        self.listener: socket.socket | None = None
        # The peer as a receiver.
        self.nxt = 0
        self.held: list[list[int]] = []
        self.dsack: tuple[int, int] | None = None
        self.unacked = 0
        self.recent = 0
        self.echo = False
        self.busy = 0
        self.closed = False
        self.batch: list[tuple[str, bytes]] = []
        self.established = False
        self.ack_timer = 0
        self.highest = 0

    # --- Time

    def now(self) -> int:
        return (time.clock_gettime_ns(time.CLOCK_MONOTONIC) - self.begin) // 1000

    def instant(self) -> int:
        """In ns, for the record: the next system call is carried out then."""
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC) - self.begin

    def at(self, when: int, what: Callable[[], None]) -> None:
        self.order += 1
        heapq.heappush(self.due, (when, self.order, what))

    def log(self, when: int, text: str) -> None:
        self.order += 1
        self.lines.append((when, self.order, text))

    def play(self) -> None:
        """The whole exchange."""
        self.open()
        while self.due and self.due[0][0] < self.s.limit and len(self.lines) < self.most:
            when = self.due[0][0]
            self.sleep(when)
            while self.due and self.due[0][0] == when:
                heapq.heappop(self.due)[2]()
            self.flush()
            self.settle()
        if len(self.lines) < self.most:
            self.sleep(self.s.limit)
        self.log(self.instant(), ".")
        self.end()

    def sleep(self, until: int) -> None:
        """Until then, or until something that the kernel sends calls for something earlier."""
        while True:
            left = self.begin + until * 1000 - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            if left <= 0:
                return
            if wire.wait(self.tap.socket.fileno(), left):
                self.settle()
                if self.due and self.due[0][0] < until:
                    until = max(self.due[0][0], self.now())

    def settle(self) -> None:
        """The program reads; what the kernel has sent goes on its way."""
        if self.socket is None and self.listener is not None:
            try:
                self.socket, _ = self.listener.accept()
                self.socket.setblocking(False)
                self.prepare(self.socket)
            except BlockingIOError:
                pass
        if self.s.data and self.established:
            self.read()
        for when, to, segment in self.tap.read():
            if to == self.peer:
                self.sent(when - WALL - self.begin, segment)
        self.inform()

    def inform(self) -> None:
        if self.socket is None:
            return
        info = self.socket.getsockopt(socket.IPPROTO_TCP, TCP_INFO, 104)
        state = (*struct.unpack("II", info[80:84] + info[76:80]), info[1])
        if state != self.told:
            self.told = state
            self.log(self.instant(), "i " + " ".join(map(str, state)))

    # --- The program

    def open(self) -> None:
        s = self.s
        end = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        end.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, s.cc.encode())
        end.setblocking(False)
        self.port = 10_000 + s.number
        end.bind((LOCAL, self.port))
        if s.passive:
            end.listen(1)
            self.listener = end
            self.established = False
            syn = self.syn(SYN | (ECE | CWR if s.ecn or s.cc == "dctcp" else 0))
            syn.ecn = wire.ECT0 if s.cc == "dctcp" else 0
            self.at(0, lambda: self.inject(syn))
        else:
            self.prepare(end)
            if s.iss is not None:
                end.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
                end.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR_QUEUE, 2)
                end.setsockopt(socket.IPPROTO_TCP, TCP_QUEUE_SEQ, struct.pack("I", s.iss))
                end.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, -1)
            self.socket = end
            self.at(0, lambda: self.connect(end))
        self.at(s.limit, lambda: None)

    def prepare(self, end: socket.socket) -> None:
        end.setsockopt(socket.SOL_SOCKET, 32, 8 << 20)  # SO_SNDBUFFORCE

    def connect(self, end: socket.socket) -> None:
        self.log(self.instant(), "c")
        with contextlib.suppress(BlockingIOError):
            end.connect((self.peer, PORT))

    def call(self, what: str, count: int) -> None:
        """Something that the program does."""
        self.flush()
        if self.socket is None:
            return
        self.log(self.instant(), f"w {count}" if what == "w" else "s")
        try:
            if what == "w":
                assert self.socket.send(bytes(count)) == count
            else:
                self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            self.lines.pop()

    def read(self) -> None:
        """The program reads all that there is."""
        with contextlib.suppress(OSError):
            while self.socket is not None:
                when = self.instant()
                if not self.socket.recv(1 << 20):
                    break
                self.log(when, "r")

    def end(self) -> None:
        for end in (self.socket, self.listener):
            if end is not None:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                end.close()

    # --- The wire

    def text(self, mark: str, seg: Segment, ours: int, theirs: int) -> str:
        """A line; `ours` and `theirs` are where the sender's and the other's sequence numbers begin."""
        ack = (seg.ack - theirs) % 2**32 if seg.flags & ACK else 0
        words = [mark, seg.flags, (seg.seq - ours) % 2**32, seg.len, ack, seg.win]
        if seg.ts:
            base = self.begin // 10**6
            value, echo = seg.ts
            if mark == ">":
                value = (value - base + 1) % 2**32
            elif echo:
                echo = (echo - base + 1) % 2**32
            words += ["t", value, echo]
        if seg.sack:
            words.append("k")
            words += [(edge - theirs) % 2**32 for block in seg.sack for edge in block]
        if seg.flags & SYN:
            words += ["o", seg.mss, -1 if seg.scale is None else seg.scale, int(seg.sack_ok)]
        if seg.ecn:
            words += ["e", seg.ecn]
        return " ".join(map(str, words))

    def inject(self, seg: Segment) -> None:
        ours, theirs = self.s.peer_iss, self.iss or 0
        text = self.text("<", seg, ours, theirs)
        self.batch.append((text, seg.packet(self.peer, LOCAL, self.port)))

    def flush(self) -> None:
        """What arrives at one instant does so in one system call, within which time stands still."""
        if self.batch:
            frames = [frame for _, frame in self.batch]
            when = self.instant()
            self.tap.write(frames)
            for text, _ in self.batch:
                self.log(when, text)
            self.batch = []

    def sent(self, when: int, seg: Segment) -> None:
        """The kernel sent a segment, at an instant."""
        if self.iss is None and seg.flags & SYN:
            self.iss = seg.seq
            self.nxt = seg.seq + 1
        self.log(when, self.text(">", seg, self.iss or 0, self.s.peer_iss))
        when //= 1000
        if seg.flags & SYN:
            if self.established:
                return
            reply = self.handshake_reply(seg)
            self.at(when + 2 * self.s.owd, lambda: self.establish(reply))
        elif seg.len or seg.flags & FIN:
            self.travel(when, seg)

    def syn(self, flags: int) -> Segment:
        s = self.s
        options = {"mss": s.mtu - 40, "scale": s.scale, "sack_ok": s.sack}
        ts = (1000, 0) if s.timestamps else None
        return Segment(s.peer_iss, 0, flags, win=min(65_535, s.window), ts=ts, **options)

    def handshake_reply(self, seg: Segment) -> Segment:
        """To a SYN, a SYN-ACK; to a SYN-ACK, an ACK."""
        if self.s.passive:
            reply = Segment(self.s.peer_iss + 1, seg.seq + 1, ACK, win=self.field())
        else:
            both = SYN | ACK | (ECE if seg.flags & ECE else 0)
            reply = self.syn(both)
            reply.ack = seg.seq + 1
        if seg.ts and self.s.timestamps:
            self.recent = seg.ts[0]
            reply.ts = (1000, seg.ts[0])
        elif not seg.ts:
            reply.ts = None
        return reply

    def establish(self, reply: Segment) -> None:
        if self.established:
            return
        self.inject(reply)
        self.established = True
        start = self.now()
        for when, what, count in self.s.calls:
            self.at(start + 10 + when, lambda w=what, c=count: self.call(w, c))
        for when, offset, size, fin in self.s.data:
            self.at(start + 10 + when, lambda o=offset, n=size, f=fin: self.data(o, n, f))
        if self.s.closes_window:
            shut = start + self.r.choice((1, 20, 60)) * MS
            self.at(shut, lambda: self.close(True))
            self.at(shut + self.r.choice((10, 300, 900)) * MS, lambda: self.close(False))

    def close(self, closed: bool) -> None:
        """The peer's window shuts, or opens again."""
        self.closed = closed
        self.acknowledge()

    def field(self) -> int:
        return 0 if self.closed else min(65_535, self.s.window >> self.s.scale)

    # --- The path and the peer as a receiver

    def travel(self, when: int, seg: Segment) -> None:
        """A segment of the kernel is on its way."""
        s, r = self.s, self.r
        self.busy = max(self.busy, when)
        if self.busy - when > s.queue * s.transmission or r.random() < s.loss:
            return
        self.busy += s.transmission
        arrives = self.busy + s.owd
        if r.random() < s.reordering:
            arrives += r.randrange(1, 2 * s.owd + 1000)
        ce = seg.ecn in (1, 2) and r.random() < s.marks
        self.at(arrives, lambda: self.arrive(seg, ce))
        if r.random() < s.twice:
            self.at(arrives + r.randrange(1, 3 * s.owd), lambda: self.arrive(seg, ce))

    def arrive(self, seg: Segment, ce: bool) -> None:
        base = self.iss or 0
        start, end = (seg.seq - base) % 2**32, (seg.seq - base + seg.len) % 2**32
        end += bool(seg.flags & FIN)
        nxt = self.nxt - base
        if seg.ts and start <= nxt and (seg.ts[0] - self.recent) % 2**32 < 2**31:
            self.recent = seg.ts[0]
        if seg.flags & CWR:
            self.echo = False
        at_once = False
        if self.s.cc == "dctcp":
            at_once |= ce != self.echo
            self.echo = ce
        elif ce:
            self.echo, at_once = True, True
        if end <= nxt or any(a <= start and end <= b for a, b in self.held):
            self.dsack = (start, end)
            at_once = True
        elif start > nxt:
            self.hold(start, end)
            at_once = True
        else:
            self.nxt = base + end
            at_once |= bool(self.held)
            while self.held and min(self.held)[0] <= self.nxt - base:
                first = min(self.held)
                self.held.remove(first)
                self.nxt = max(self.nxt, base + first[1])
        self.unacked += 1
        if at_once or self.unacked >= self.s.ack_every or seg.flags & FIN:
            self.acknowledge()
        elif not self.ack_timer:
            self.ack_timer = self.order
            timer = self.ack_timer
            self.at(self.now() + 40 * MS, lambda: self.ack_timer == timer and self.acknowledge())

    def hold(self, start: int, end: int) -> None:
        """The latest first."""
        new = [start, end]
        for block in [b for b in self.held if b[0] <= end and start <= b[1]]:
            new = [min(new[0], block[0]), max(new[1], block[1])]
            self.held.remove(block)
        self.held.insert(0, new)

    def segment(self) -> Segment:
        """As the peer would send it now, without payload."""
        s = self.s
        base = self.iss or 0
        seg = Segment(s.peer_iss + 1 + self.highest, self.nxt, ACK, win=self.field())
        if s.timestamps:
            seg.ts = (1000 + self.now() // 1000, self.recent)
        ranges = [tuple(block) for block in self.held]
        if self.dsack and (s.feature == "dsack" or s.number % 2):
            ranges.insert(0, self.dsack)
        self.dsack = None
        if s.sack:
            most = 3 if s.timestamps else 4
            seg.sack = [(base + a, base + b) for a, b in ranges[:most]]
        circuit = s.circuit and self.now() // s.circuit % 2
        if self.echo or circuit:
            seg.flags |= ECE
        return seg

    def acknowledge(self) -> None:
        self.unacked, self.ack_timer = 0, 0
        seg = self.segment()
        if self.r.random() < self.s.ack_loss:
            return
        when = self.now() + self.s.owd
        if self.s.bunch:
            when = (when // self.s.bunch + 1) * self.s.bunch
        self.at(when, lambda: self.inject(seg))
        if self.r.random() < self.s.odd:
            self.at(when + self.r.randrange(3000), self.odd)

    def odd(self) -> None:
        """Something that no good peer sends."""
        seg = self.segment()
        kind = self.r.randrange(5)
        if kind == 0:
            seg.ack += self.r.choice((1, 1448, 100_000))
        elif kind == 1:
            seg.ack -= self.r.choice((1, 1448, 100_000))
        elif kind == 2:
            seg.seq -= self.r.choice((1, 1000))
        elif kind == 3:
            seg.win = self.r.choice((0, 1, 100))
        else:
            seg.sack = [(self.nxt + 1, self.nxt + self.r.choice((2, 1448, 14480)))]
        self.inject(seg)

    def data(self, offset: int, size: int, fin: bool) -> None:
        """The peer sends."""
        seg = self.segment()
        seg.seq, seg.len = self.s.peer_iss + 1 + offset, size
        seg.flags |= FIN if fin else 0
        if self.s.ecn or self.s.cc == "dctcp":
            seg.ecn = wire.CE if self.r.random() < self.s.marks else wire.ECT0
        self.highest = max(self.highest, offset + size + fin)
        self.inject(seg)


def shortened(text: str, before: dict[str, list[str]]) -> str:
    """A segment's line with `.` for a number that is as in the one `before`, `+` for a sequence number that follows it."""
    mark, *words = text.split(" ")
    if mark not in "<>":
        return text
    last = before.get(mark, [])
    short = ["." if i < len(last) and word == last[i] else word for i, word in enumerate(words)]
    if last and int(words[1]) == int(last[1]) + int(last[2]):
        short[1] = "+"
    before[mark] = words[:5]
    return " ".join([mark, *short])


def header(s: Script, iss: int) -> str:
    """What a script is."""
    words = {
        "cc": s.cc,
        "passive": int(s.passive),
        "sack": int(s.sack),
        "ts": int(s.timestamps),
        "ecn": int(s.ecn),
        "mtu": s.mtu,
        "iw": s.initcwnd,
        "rto": s.min_rto_ms,
        "divisor": s.divisor,
        "iss": iss,
        "peer": s.peer_iss,
    }
    kind = "receives" if s.receives else "sends"
    return f"= {s.number} {kind} {s.feature} " + " ".join(f"{k}={v}" for k, v in words.items())


def main(first: int, count: int) -> None:
    command(
        f"ip link set lo up mtu 9000 && ip addr add {LOCAL}/32 dev lo && ip route add 10.9.0.0/16 dev lo"
    )
    command("ethtool -K lo tso off gso off gro off tx off > /dev/null 2>&1")
    wanted = [scripts.script(number) for number in range(first, first + count)]
    routes = [
        f"route add {address(s.number)}/32 dev lo mtu {s.mtu} rto_min {s.min_rto_ms}ms initcwnd {s.initcwnd}"
        for s in wanted
    ]
    command("ip -batch -", "\n".join(routes) + "\n")
    wire.LIBC.prctl(29, 1, 0, 0, 0)  # PR_SET_TIMERSLACK
    tap = wire.Tap()
    for s in wanted:
        setting("sack", s.sack)
        setting("timestamps", 2 if s.timestamps else 0)
        setting("ecn", 1 if s.ecn else 0)
        setting("tso_win_divisor", s.divisor)
        begin = (time.clock_gettime_ns(time.CLOCK_MONOTONIC) // BEGIN + 1) * BEGIN
        left = begin - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        time.sleep(left / 1e9 - 0.001)
        tap.read()
        exchange = Exchange(s, tap, begin)
        exchange.sleep(0)
        exchange.play()
        print(header(s, exchange.iss or 0))
        last, before = 0, {}
        for when, _, text in sorted(exchange.lines):
            print(when - last, shortened(text, before))
            last = when
        sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
