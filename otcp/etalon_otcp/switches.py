# SPDX-License-Identifier: MIT OR Apache-2.0
"""OpenFlow 1.3 by os-ken, on native threads. Needs the extra `otcp`."""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, TypeVar, cast

os.environ.setdefault("OSKEN_HUB_TYPE", "native")

from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import (
    CONFIG_DISPATCHER,
    DEAD_DISPATCHER,
    MAIN_DISPATCHER,
    set_ev_cls,
)
from os_ken.ofproto import ofproto_v1_3

from etalon_otcp import messages
from etalon_otcp.controller import Controller
from etalon_otcp.entries import COOKIE, COOKIE_MASK, MOST_GROUPS, Entries, is_ours
from etalon_otcp.inbox import ASKED_S
from etalon_otcp.listening import Listening
from etalon_otcp.network import PortId
from etalon_otcp.probing import MOST_PORT, Action, Echo
from etalon_otcp.rate import Rate
from etalon_otcp.seldom import STRANGERS
from etalon_otcp.topology import MOST_PORTS, PortDescription

LOG = logging.getLogger("etalon_otcp")
logging.getLogger("OFPHandler").addFilter(STRANGERS)  # os-ken's, which warns of each bad hello
_RATES = {
    "OFPPF_10MB_HD": 10**7,
    "OFPPF_10MB_FD": 10**7,
    "OFPPF_100MB_HD": 10**8,
    "OFPPF_100MB_FD": 10**8,
    "OFPPF_1GB_HD": 10**9,
    "OFPPF_1GB_FD": 10**9,
    "OFPPF_10GB_FD": 10**10,
    "OFPPF_40GB_FD": 4 * 10**10,
    "OFPPF_100GB_FD": 10**11,
    "OFPPF_1TB_FD": 10**12,
}


ANSWERS_S = 2.0
"""A connected switch that has said nothing for so long, though asked, makes room for another connection that names it."""
MOST_REPLIED = 32 << 20
"""Bytes of a reply in parts, such as 300,000 flow entries."""
F = TypeVar("F", bound=Callable[..., None])


def _on(event: Any, states: Any) -> Callable[[F], F]:
    """os-ken's decorator, with a type."""
    return cast(Callable[[F], F], set_ev_cls(event, states))


class _Switch:
    """A connection. Flow entries go through a thread of their own, so that a stuck switch holds nobody up."""

    def __init__(self, name: str, datapath: Any) -> None:
        self.name = name
        self.datapath = datapath
        self.ports: list[PortDescription] | None = None
        self.entries = Entries(datapath)
        self.packets: dict[PortId, dict[object, int]] = defaultdict(dict)
        self.told = False
        self.replied = 0
        """Bytes of a reply in parts that has not ended; of all, before its ports are known."""
        self._outbox: queue.SimpleQueue[Iterable[Any] | None] = queue.SimpleQueue()
        threading.Thread(target=self._write, daemon=True, name=f"flows-{name}").start()

    def later(self, messages: Iterable[Any] | None) -> None:
        """Sends messages without waiting: they are made when it is their turn, so that a switch that says it has entries
        without end costs itself alone the time to delete them. None ends the thread."""
        self._outbox.put(messages)

    def _write(self) -> None:
        while (messages := self._outbox.get()) is not None:
            for message in messages:
                self._send(message)

    def _send(self, message: Any) -> None:
        try:
            self.datapath.send_msg(message)
        except Exception:  # one that cannot be written, such as a group of too many ports
            STRANGERS.warn("a message to %s is lost", self.name, of="faults", trace=True)


class _Probes:
    """Takes to the controller what comes back of a switch's probes."""

    def __init__(self, controller: Controller, switch: str) -> None:
        self._controller = controller
        self._switch = switch
        self._rate = Rate(controller.config.openflow.packets_per_second, 1.0)

    def frame(self, number: int, frame: bytes, at_ns: int) -> bool:
        """A frame that came by a port; False if it answers no probe, and there are too many of these."""
        place = PortId(self._switch, number)
        if not self._controller.prober.awaits(place, frame) and self._rate.wait_s(self._switch):
            self.dropped("packet-in")
            return False
        self._controller.packet_in(place, frame, at_ns)
        return True

    def echo(self, data: bytes, at_ns: int) -> None:
        """The answer to an echo of ours."""
        self._controller.echo_reply(self._switch, data, at_ns)

    def dropped(self, kind: str) -> None:
        """A message of the switch that was one too many."""
        self._controller.floods.drop(self._switch, kind)

    def late(self) -> None:
        """The switch's messages wait."""
        self._controller.floods.late(self._switch)


class Switches(app_manager.OSKenApp):  # type: ignore[misc]
    """Takes switches' messages to the controller, and the controller's to switches."""

    OFP_VERSIONS: ClassVar[list[int]] = [ofproto_v1_3.OFP_VERSION]
    controller: ClassVar[Controller]
    """Whom it works for; set before os-ken makes it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._names = {dpid: name for name, dpid in self.controller.config.dpids().items()}
        self._switches: dict[str, _Switch] = {}
        self._lock = threading.Lock()
        self.controller.southbound = self

    def _send_event(self, event: Any, state: Any) -> None:
        """Handles events in the thread that read them: a queue between would cost delays their exactness."""
        event.at_ns = time.monotonic_ns()
        for handler in self.get_handlers(event, state):
            try:
                handler(event)
            except Exception:
                STRANGERS.warn("an OpenFlow message could not be handled", of="faults", trace=True)

    # Southbound

    def send(self, action: Action) -> None:
        """Sends a probe or a frame."""
        switch = self._switches.get(action.switch)
        if switch is None:
            return
        if isinstance(action, Echo):
            switch.datapath.probe(messages.echo_request(action.data))
        else:
            switch.datapath.probe(messages.packet_out(action.ports, action.frame))

    def write(
        self, switch: str, written: Mapping[str, tuple[int, ...]], deleted: Iterable[str]
    ) -> None:
        """Writes and deletes entries."""
        found = self._switches.get(switch)
        if found:
            found.later(found.entries.write(written, deleted))

    def count_flows(self, switch: str) -> None:
        """Asks for the statistics of TCP entries."""
        found = self._switches.get(switch)
        if found:
            parser = found.datapath.ofproto_parser
            match = parser.OFPMatch(eth_type=0x0800, ip_proto=6)
            found.later([parser.OFPFlowStatsRequest(found.datapath, match=match)])

    # What switches say

    @_on(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def features(self, event: Any) -> None:
        """A switch has said who it is: it hands in LLDP and ARP from now on, and tells of ports, queues and entries."""
        datapath = event.msg.datapath
        dpid = event.msg.datapath_id
        if datapath.taker is not None:  # it has said so before
            if dpid != datapath.id:
                STRANGERS.warn(
                    "switch %016x is disconnected: it claims to be %016x too", datapath.id, dpid
                )
                datapath.close()
            return
        name = self._names.get(dpid)
        if name is None:
            STRANGERS.warn(
                "switch %016x is not in the topology file: the controller ignores it", dpid
            )
            return
        names = getattr(datapath, "names", None)
        if names is not None and not names & {name, f"{dpid:016x}"}:
            STRANGERS.warn(
                "a certificate of %s claims to be switch %s: expected %s or %016x among its names",
                ", ".join(sorted(names)) or "nobody", name, name, dpid,
            )  # fmt: skip
            self.controller.events.switches_refused += 1
            datapath.close()
            return
        switch = self._enter(name, datapath)
        if switch is None:
            return
        datapath.id = (
            dpid  # os-ken sets it after us: a connection that ends meanwhile would be nobody's
        )
        parser, proto = datapath.ofproto_parser, datapath.ofproto
        datapath.send_msg(parser.OFPSetConfig(datapath, proto.OFPC_FRAG_NORMAL, 0xFFFF))
        for entry in switch.entries.punting(self.controller.config.network.forwarding):
            datapath.send_msg(entry)
        ours = {"cookie": COOKIE, "cookie_mask": COOKIE_MASK}
        datapath.send_msg(parser.OFPGroupDescStatsRequest(datapath))
        datapath.send_msg(parser.OFPFlowStatsRequest(datapath, **ours))  # answered before ports are

    def _enter(self, name: str, datapath: Any) -> _Switch | None:
        """Gives a connection a switch's place; None, and it is closed, if another one has it that still answers.

        Two switches may have one datapath id by mistake, or a stranger may name one that is there.
        """
        dead: _Switch | None = None
        while True:
            with self._lock:
                older = self._switches.get(name)
                if older is dead:
                    datapath.taker = _Probes(self.controller, name)
                    datapath.inbox.free_replies_s = ASKED_S
                    entered = self._switches[name] = _Switch(name, datapath)
                    break
            if older and older.datapath.answers(ANSWERS_S):
                self.controller.rival(name, older.datapath.peer, datapath.peer)
                datapath.close()
                return None
            dead = older
        if dead:
            LOG.warning(
                "switch %s has connected from %s: its connection from %s answers no more, and is closed",
                name, datapath.peer, dead.datapath.peer,
            )  # fmt: skip
            dead.datapath.taker = None
            dead.later(None)
            dead.datapath.close()
        return entered

    @_on(ofp_event.EventOFPPortDescStatsReply, [CONFIG_DISPATCHER, MAIN_DISPATCHER])
    def ports(self, event: Any) -> None:
        """A switch's ports, in one or more parts."""
        switch = self._of(event)
        if switch is None:
            return
        described = [_description(port) for port in event.msg.body if port.port_no < MOST_PORT]
        switch.ports = [*(switch.ports or []), *described]
        if len(switch.ports) > MOST_PORTS:
            STRANGERS.warn(
                "switch %s is disconnected: it has more than %d ports", switch.name, MOST_PORTS
            )
            switch.datapath.close()
            return
        if not event.msg.flags & ofproto_v1_3.OFPMPF_REPLY_MORE and not switch.told:
            switch.told = True
            asks_again = self.controller.config.tcp.alpha == "flows"
            switch.datapath.inbox.told(len(switch.ports), asks_again)
            self.controller.switch_up(switch.name, switch.ports, switch.entries.table)
            parser, proto = switch.datapath.ofproto_parser, switch.datapath.ofproto
            switch.later([parser.OFPQueueGetConfigRequest(switch.datapath, proto.OFPP_ANY)])

    @_on(ofp_event.EventOFPPortStatus, MAIN_DISPATCHER)
    def port_status(self, event: Any) -> None:
        """A port was added, changed or deleted."""
        switch, port = self._of(event), event.msg.desc
        if switch and port.port_no < MOST_PORT:
            deleted = event.msg.reason == ofproto_v1_3.OFPPR_DELETE
            self.controller.port(switch.name, _description(port), deleted)

    @_on(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, event: Any) -> None:
        """A frame that a switch hands in, in a message that `messages.packet_in` does not take."""
        switch, found = self._of(event), frame_of(event.msg)
        if switch and found:
            self.controller.packet_in(PortId(switch.name, found[0]), found[1], event.at_ns)

    @_on(ofp_event.EventOFPQueueGetConfigReply, MAIN_DISPATCHER)
    def queues(self, event: Any) -> None:
        """Queues: a port's largest rate is that of its queue 0, in tenths of a percent of the port's."""
        switch = self._of(event)
        if switch is None:
            return
        rates = {port.number: port.rate_bps for port in switch.ports or ()}
        for found in event.msg.queues:
            share = _share(found)
            rate = rates.get(found.port)
            if found.queue_id == 0 and share and rate:
                place = PortId(switch.name, found.port)
                self.controller.queue_rate(place, rate * share // 1000)

    @_on(ofp_event.EventOFPFlowStatsReply, [CONFIG_DISPATCHER, MAIN_DISPATCHER])
    def flow_stats(self, event: Any) -> None:
        """Entries, in one or more parts: ours tell what a controller before this one wrote; those of TCP are counted.

        The reply before the ports' is about ours only.
        """
        switch = self._replies(event)
        if switch is None:
            return
        for entry in event.msg.body:
            if entry.cookie & COOKIE_MASK == COOKIE:
                if not switch.told:
                    switch.entries.entry_found(entry)
            elif entry.match.get("ip_proto") == 6 and (egress := switch.entries.ports_of(entry)):
                place = PortId(switch.name, egress[0])
                switch.packets[place][str(entry.match)] = entry.packet_count
        if not event.msg.flags & ofproto_v1_3.OFPMPF_REPLY_MORE and switch.told:
            packets, switch.packets = switch.packets, defaultdict(dict)
            self.controller.flows(switch.name, packets)

    @_on(ofp_event.EventOFPGroupDescStatsReply, [CONFIG_DISPATCHER, MAIN_DISPATCHER])
    def groups(self, event: Any) -> None:
        """Groups that a controller before this one made."""
        switch = self._replies(event)
        if switch is None or switch.told:  # nobody has asked again
            return
        for group in event.msg.body:
            if not is_ours(group.group_id):  # another application's may do anything
                continue
            ports = [
                getattr(action, "port", 0) for bucket in group.buckets for action in bucket.actions
            ]
            if not switch.entries.group_found(group.group_id, tuple(ports) if all(ports) else ()):
                STRANGERS.warn(
                    "switch %s is disconnected: it has more than %d groups of ours",
                    switch.name, MOST_GROUPS,
                )  # fmt: skip
                switch.datapath.close()
                return

    @_on(ofp_event.EventOFPErrorMsg, [CONFIG_DISPATCHER, MAIN_DISPATCHER])
    def error(self, event: Any) -> None:
        """A switch refuses something."""
        switch = self._of(event)
        name, of = (switch.name, switch.name) if switch else ("a switch", "")
        STRANGERS.warn(
            "%s refuses: error type %s code %s", name, event.msg.type, event.msg.code, of=of
        )

    @_on(ofp_event.EventOFPStateChange, DEAD_DISPATCHER)
    def gone(self, event: Any) -> None:
        """A connection has ended."""
        with self._lock:
            switch = self._switches.get(self._names.get(event.datapath.id, ""))
            if switch is None or switch.datapath is not event.datapath:
                return
            del self._switches[switch.name]
        switch.later(None)
        self.controller.switch_down(switch.name)

    def _replies(self, event: Any) -> _Switch | None:
        """The connection that a part of a reply is of; None if there were too many: without end they would fill the memory."""
        switch = self._of(event)
        if switch is None:
            return None
        switch.replied += len(event.msg.buf)
        if switch.replied > MOST_REPLIED:
            STRANGERS.warn("switch %s is disconnected: its replies do not end", switch.name)
            switch.datapath.close()
            return None
        if switch.told and not event.msg.flags & ofproto_v1_3.OFPMPF_REPLY_MORE:
            switch.replied = 0
        return switch

    def _of(self, event: Any) -> _Switch | None:
        """The connection that an event is of; None once there is a newer one."""
        datapath = event.msg.datapath
        switch = self._switches.get(self._names.get(datapath.id, ""))
        return switch if switch and switch.datapath is datapath else None


def frame_of(message: Any) -> tuple[int, bytes] | None:
    """The port that a packet-in's frame came by, and the frame; None for a message without them."""
    match, data = getattr(message, "match", None), getattr(message, "data", None)
    number = match.get("in_port") if match is not None else None
    return (number, bytes(data)) if isinstance(number, int) and data is not None else None


def _description(port: Any) -> PortDescription:
    down = ofproto_v1_3.OFPPS_LINK_DOWN
    up = not port.state & down and not port.config & ofproto_v1_3.OFPPC_PORT_DOWN
    rate = port.curr_speed * 1000 or max(
        (bps for name, bps in _RATES.items() if port.curr & getattr(ofproto_v1_3, name)), default=0
    )
    given = port.name.decode(errors="replace") if isinstance(port.name, bytes) else str(port.name)
    name = "".join(
        one if one.isprintable() else "?" for one in given
    )  # it goes to logs and terminals
    return PortDescription(port.port_no, name, up, rate or None)


def _share(described: Any) -> int | None:
    """A queue's largest rate, in tenths of a percent; None if the switch does not say."""
    for entry in described.properties:
        if entry.property == ofproto_v1_3.OFPQT_MAX_RATE and entry.rate <= 1000:
            return int(entry.rate)
    return None


def start(controller: Controller, listening: Listening) -> None:
    """Lets os-ken handle the switches that connect, until the process ends."""
    from os_ken import cfg
    from os_ken.controller import ofp_handler

    cfg.CONF(args=[], project="os_ken", default_config_files=[])
    cfg.CONF.set_override("echo_request_interval", 3.0)
    cfg.CONF.set_override("maximum_unreplied_echo_requests", 2)
    ofp_handler.OpenFlowController = lambda: listening  # where it would make a server of its own
    Switches.controller = controller
    thread = threading.Thread(
        target=_serve, daemon=True
    )  # os-ken's threads inherit this: none outlives the main one
    thread.start()
    thread.join()


def _serve() -> None:
    manager = app_manager.AppManager.get_instance()
    manager.load_apps(["os_ken.controller.ofp_handler", __name__])
    manager.instantiate_apps(**manager.create_contexts())
