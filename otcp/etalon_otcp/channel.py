# SPDX-License-Identifier: MIT OR Apache-2.0
"""A switch's connection: os-ken's, except that probes pass by its queues, classes and threads.

One thread reads all connections (`Reader`) and takes what probes bring back; each connection has one thread for its other
messages, which os-ken parses. os-ken has three for each, two of which sleep on for a while when a connection has ended, so
that strangers who come and go could fill the process with threads.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import ssl
import threading
import time
from typing import Any, NoReturn, Protocol

os.environ.setdefault("OSKEN_HUB_TYPE", "native")

import os_ken.base.app_manager  # noqa: F401, it imports the next, and cannot be imported by it
from os_ken.controller import ofp_event
from os_ken.controller.controller import Datapath
from os_ken.controller.handler import DEAD_DISPATCHER
from os_ken.exception import OSKenException
from os_ken.ofproto import ofproto_parser

from etalon_otcp import lengths, messages
from etalon_otcp.floods import Budget
from etalon_otcp.inbox import Inbox
from etalon_otcp.messages import ECHO_REPLY, HEADER, PACKET_IN, VERSION
from etalon_otcp.probing import ECHO_MARK
from etalon_otcp.seldom import STRANGERS

PATIENCE_S = 5.0
"""A switch that takes longer for a message is given up."""
READ = 65_536
"""Bytes that are read at once: more than a record of TLS has, so that none stays behind in OpenSSL, where no poll sees it."""
MOST_WAITING = 1 << 20
"""Bytes that a connection's thread has not handled yet; more are left in its socket."""

UNWANTED_SHARE, UNWANTED_BURST_S = 0.1, 0.005
"""Of a processor, for reading what a switch sends that is dropped or put off."""
MOST_REST_S = 2.0
"""Without reading a switch, which counts as silent after a few echoes."""


class Taker(Protocol):
    """Takes what comes back of probes, without os-ken."""

    def frame(self, number: int, frame: bytes, at_ns: int) -> bool:
        """A frame that came by a port; False if there were too many to look at it."""

    def echo(self, data: bytes, at_ns: int) -> None:
        """The answer to an echo of ours."""

    def dropped(self, kind: str) -> None:
        """Another message that was one too many."""

    def late(self) -> None:
        """Messages wait, as they take too much of a processor."""


class Wire:
    """A socket that threads share: it never waits within a call, and no two calls of TLS overlap.

    OpenSSL takes one call at a time of a connection (openssl-threads(7)); Python before 3.13 does not see to that.
    """

    def __init__(self, at: socket.socket) -> None:
        self._socket = at
        self._calls, self._writing = threading.Lock(), threading.Lock()
        self._in, self._out = select.poll(), select.poll()
        self._in.register(at, select.POLLIN)
        self._out.register(at, select.POLLOUT)
        self._is_full = False
        at.setblocking(False)

    def setsockopt(self, *option: Any) -> None:
        """As of sockets."""
        self._socket.setsockopt(*option)

    def settimeout(self, seconds: float) -> None:
        """Does nothing: `sendall` takes `PATIENCE_S` at most."""

    def fileno(self) -> int:
        """As of sockets."""
        return self._socket.fileno()

    def read(self) -> bytes | None:
        """What has come, at most `READ` bytes: nothing if the peer has ended; None if nothing has come."""
        try:
            with self._calls:
                return self._socket.recv(READ)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return None
        except (OSError, ValueError):  # ValueError: TLS after `close`
            return b""

    def sendall(self, data: bytes) -> None:
        """Sends all of a message.

        Raises:
            TimeoutError: if the switch has not taken all of it after `PATIENCE_S`; the connection has ended then.
        """
        with self._writing:
            self._send(data)

    def offer(self, data: bytes) -> bool:
        """Sends a message if there is room for it at once: a probe that waits measures the wait."""
        if self._is_full or not self._writing.acquire(timeout=0.1):
            return False
        try:
            if not self._out.poll(0):
                return False
            self._send(data)
            return True
        except OSError:  # it has ended
            return False
        finally:
            self._writing.release()

    def _send(self, data: bytes) -> None:
        view, until = memoryview(data), time.monotonic() + PATIENCE_S
        try:
            while view:
                wanted = self._out
                try:
                    with self._calls:
                        view = view[self._socket.send(view) :]
                    continue
                except (BlockingIOError, ssl.SSLWantWriteError):
                    pass
                except ssl.SSLWantReadError:
                    wanted = self._in
                self._is_full = True
                left = until - time.monotonic()
                if left <= 0 or not wanted.poll(left * 1e3):
                    self._give_up()
        finally:
            self._is_full = False

    def _give_up(self) -> NoReturn:
        """A message that has left in part cannot be taken back: what follows would be read as the rest of it."""
        with contextlib.suppress(OSError):
            self.shutdown(socket.SHUT_RDWR)
        raise TimeoutError

    def shutdown(self, how: int) -> None:
        """As of sockets; what TLS knows stays, for the thread that reads."""
        socket.socket.shutdown(self._socket, how)

    def close(self) -> None:
        """As of sockets, between two calls of other threads."""
        with self._calls:
            self._socket.close()


class Channel(Datapath):  # type: ignore[misc]
    """os-ken's connection, with a short way for probes; `names` are those of its certificate, None without."""

    names: frozenset[str] | None = None

    def __init__(self, at: socket.socket, address: Any, reader: Reader) -> None:
        super().__init__(Wire(at), address)
        self.taker: Taker | None = None
        """Whose probes these are, once the switch is known."""
        self._reader = reader
        self._rest = bytearray()
        self.inbox = Inbox(self._drop, self._be_late)
        self._put_off = 0
        self._read_s, self._read = 0.0, 0
        """What it took to take so many bytes, of the last that there may be in the inbox."""
        self._unwanted = Budget(UNWANTED_SHARE, UNWANTED_BURST_S)
        self._has_ended = False
        self._heard_ns = 0

    def probe(self, message: bytes) -> bool:
        """Sends a probe now or not at all; whether it was sent."""
        return bool(self.socket.offer(message))

    def answers(self, within_s: float) -> bool:
        """Whether the peer says something within so long, asked by an echo; waits for that."""
        asked = time.monotonic_ns()
        self.probe(messages.echo_request(b""))
        while self.state != DEAD_DISPATCHER and not self._has_ended:
            if self._heard_ns > asked:
                return True
            if time.monotonic_ns() - asked > within_s * 1e9:
                break
            time.sleep(0.01)
        return False

    @property
    def peer(self) -> str:
        """Address and port of the other end."""
        host, port = self.address[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    # In the reader's thread

    def take(self, data: bytes, at_ns: int) -> bool:
        """Takes what was read; False if nothing more is to be read for now, or, once the peer has ended, for good."""
        self._rest += data
        try:
            if data:
                self._heard_ns = at_ns
                del self._rest[: self._take_all(bytes(self._rest), at_ns)]
        except ValueError as error:
            STRANGERS.warn("the connection of %s is closed: %s", self.address[0], error)
            data = b""
        if not data:
            self._has_ended = True
            self.inbox.end()
        return bool(data) and self.inbox.waiting < MOST_WAITING

    def rest_s(self) -> float:
        """How long it is not to be read: one that sends more than it may, so that reading it takes a share of a processor."""
        return min(MOST_REST_S, self._unwanted.wait_s())

    @property
    def is_idle(self) -> bool:
        """Whether its thread has handled everything, and more may come."""
        return not self.inbox.waiting and not self._has_ended

    def _take_all(self, data: bytes, at_ns: int) -> int:
        """Takes all whole messages; how many bytes these were."""
        began, at = time.thread_time(), 0
        self._too_many = 0
        while len(data) - at >= HEADER.size:
            version, kind, length, _ = HEADER.unpack_from(data, at)
            if length < HEADER.size:
                raise ValueError(f"a message of {length} bytes, fewer than its header has")
            if len(data) - at < length:
                break
            message = data[at : at + length]
            if version != VERSION or not self._is_taken(kind, message, at_ns):
                self._too_many += 0 if self.inbox.put(message) else length
            at += length
        self._count(time.thread_time() - began, at)
        return at

    def _count(self, seconds: float, much: int) -> None:
        """Charges what was too many: of what was read now, and of what was read before and put off since, at its own rate."""
        put_off = self.inbox.put_off
        since, self._put_off = put_off - self._put_off, put_off
        self._read_s, self._read = self._read_s + seconds, self._read + much
        spent = seconds * self._too_many / much if much else 0.0
        if self._read:
            spent += self._read_s * since / self._read
        if spent:
            self._unwanted.spend(spent)
        if self._read > MOST_WAITING:
            self._read_s, self._read = self._read_s / 2, self._read // 2

    def _is_taken(self, kind: int, message: bytes, at_ns: int) -> bool:
        """Takes what a probe of ours brings back; whether it was one."""
        taker = self.taker
        if taker is None:
            return False
        try:
            if kind == PACKET_IN and (found := messages.packet_in(message)):
                if not taker.frame(*found, at_ns):
                    self._too_many += len(message)
                return True
            if kind == ECHO_REPLY and message.startswith(ECHO_MARK, HEADER.size):
                taker.echo(message[HEADER.size :], at_ns)
                return True
        except Exception:
            STRANGERS.warn("an OpenFlow message could not be handled", of="faults", trace=True)
            return True
        return False

    # In the connection's own

    def serve(self) -> None:
        """Says hello, and handles messages until the connection ends."""
        self._reader.add(self)
        try:
            self.send_msg(self.ofproto_parser.OFPHello(self))
            self._handle()
        finally:
            self.is_active = False
            self.close()
            self._reader.remove(self)
            with contextlib.suppress(OSError):
                self.socket.close()

    def send(self, data: bytes, close_socket: bool = False) -> bool:
        """Sends a message, from any thread; whether it was sent. A switch that needs more than `PATIENCE_S` is given up."""
        try:
            if self.state == DEAD_DISPATCHER:
                return False
            self.socket.sendall(data)
        except OSError:
            self.close()
            return False
        if close_socket:
            self.close()
        return True

    def close(self) -> None:
        """Ends it, from any thread."""
        super().close()
        self.inbox.end()

    def _handle(self) -> None:
        every, most = self.echo_request_interval, self.max_unreplied_echo_requests
        due = time.monotonic()
        while self.state != DEAD_DISPATCHER:
            if most and time.monotonic() >= due:
                due = time.monotonic() + every
                if len(self.unreplied_echo_requests) > most:
                    if time.monotonic_ns() - self._heard_ns > most * every * 1e9:
                        return
                    self.unreplied_echo_requests.clear()  # it speaks: its answers wait behind the rest
                request = self.ofproto_parser.OFPEchoRequest(self)
                self.unreplied_echo_requests.append(self.set_xid(request))
                self.send_msg(request)
            if not self.inbox.handle(self._by_os_ken, min(1.0, every)):
                return
            if self.is_idle:
                self._reader.resume(self)

    def _drop(self, kind: str) -> None:
        if self.taker:
            self.taker.dropped(kind)

    def _be_late(self) -> None:
        if self.taker:
            self.taker.late()

    def _by_os_ken(self, message: bytes) -> None:
        """Parses a message, and hands it to applications, then to os-ken's own handlers."""
        try:
            cleaned = lengths.cleaned(message)
            if cleaned is None:
                return
            version, kind, length, transaction = HEADER.unpack_from(cleaned)
            parsed = ofproto_parser.msg(self, version, kind, length, transaction, cleaned)
        except (ValueError, OSKenException):
            parsed = None
        if not parsed:
            what = self.address[0], message[1]
            STRANGERS.warn("%s sends a message of type %d that is malformed", *what)
        if not parsed or self.ofp_brick is None:
            return
        event = ofp_event.ofp_msg_to_ev(parsed)
        self.ofp_brick.send_event_to_observers(event, self.state)
        for handler in self.ofp_brick.get_handlers(event, self.state):
            try:
                handler(event)
            except Exception as error:  # such as an answer that comes before its question
                fault = type(error).__name__  # its text may be the message
                STRANGERS.warn(
                    "%s sends a message of type %d that os-ken cannot handle: %s",
                    self.address[0], message[1], fault,
                )  # fmt: skip


class Reader:
    """The thread that reads all connections."""

    def __init__(self) -> None:
        self._poll = select.epoll()
        self._channels: dict[int, Channel] = {}
        self._paused: set[Channel] = set()
        self._resting: dict[Channel, float] = {}
        """Those that send too much, and until when they are not read."""
        self._lock = threading.Lock()
        threading.Thread(target=self._run, daemon=True, name="switches").start()

    def add(self, channel: Channel) -> None:
        """Reads a connection from now on."""
        with self._lock:
            number = channel.socket.fileno()
            self._channels[number] = channel
            self._poll.register(number, select.EPOLLIN)

    def remove(self, channel: Channel) -> None:
        """Reads it no more; it is to be closed after this."""
        with self._lock:
            self._paused.discard(channel)
            self._resting.pop(channel, None)
            for number in [n for n, one in self._channels.items() if one is channel]:
                del self._channels[number]
                with contextlib.suppress(OSError, ValueError):
                    self._poll.unregister(number)

    def resume(self, channel: Channel) -> None:
        """Goes on with one that had too much waiting."""
        if channel not in self._paused or channel in self._resting:
            return
        with self._lock:
            self._paused.discard(channel)
            number = channel.socket.fileno()
            if self._channels.get(number) is channel:
                with contextlib.suppress(OSError, ValueError):
                    self._poll.register(number, select.EPOLLIN)

    def _pause(self, channel: Channel, number: int) -> None:
        with self._lock:
            if self._channels.get(number) is not channel:  # it is gone, and its number another's
                return
            self._paused.add(channel)
            with contextlib.suppress(OSError, ValueError):
                self._poll.unregister(number)
        if channel.is_idle:  # it has become so meanwhile
            self.resume(channel)

    def _rest(self, channel: Channel, number: int, seconds: float) -> None:
        with self._lock:
            if self._channels.get(number) is channel:
                self._resting[channel] = time.monotonic() + seconds
        self._pause(channel, number)

    def _wake(self) -> float | None:
        """Reads those again that have rested; how long (s) until the next has."""
        with self._lock:
            now = time.monotonic()
            rested = [channel for channel, until in self._resting.items() if until <= now]
            for channel in rested:
                del self._resting[channel]
            next_s = min((until - now for until in self._resting.values()), default=None)
        for channel in rested:
            if channel.inbox.waiting < MOST_WAITING:
                self.resume(channel)
        return next_s

    def _run(self) -> None:
        while True:
            next_s = self._wake()
            read: list[tuple[Channel, int, bytes, int]] = []
            for (
                number,
                _,
            ) in self._poll.poll(next_s):  # all before any is handled: its time is when it came
                channel = self._channels.get(number)
                data = self._read(channel) if channel else None
                if channel and data is not None:
                    read.append((channel, number, data, time.monotonic_ns()))
            for channel, number, data, at_ns in read:
                goes_on = self._take(channel, data, at_ns)
                if goes_on and (rest_s := channel.rest_s()):
                    self._rest(channel, number, rest_s)
                elif not goes_on:
                    self._pause(channel, number)

    # One connection that fails ends; the thread goes on with the others

    def _read(self, channel: Channel) -> bytes | None:
        try:
            return channel.socket.read()  # type: ignore[no-any-return]
        except Exception:
            STRANGERS.warn("%s cannot be read", channel.address[0], of="faults", trace=True)
            return b""

    def _take(self, channel: Channel, data: bytes, at_ns: int) -> bool:
        try:
            return channel.take(data, at_ns)
        except Exception:
            STRANGERS.warn("%s cannot be handled", channel.address[0], of="faults", trace=True)
            channel.close()
            return False
