// SPDX-License-Identifier: MIT OR Apache-2.0
//! What ToR switches do with packets: ways, queues, transmissions.

use etalon_queues::{Classes, Lists, PacketId, Room};
use etalon_route::{At, Next};
use etalon_scenario::{Class, Late};
use etalon_switch::{DropReason, Event, Pair, Plane, Probe, QueueId, Sink, tell};
use etalon_units::Time;

use super::Circuits;
use super::changes::{Change, plane_of};
use super::inside::{Kind, NO_SLICE, NOBODY, Pool, Sending};

/// A queue: of a port, or of what waits at a node for a circuit to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Port(u32),
    /// By the number of the queue, at this node, for this next one.
    Voq(u32, u16, u16),
}

/// The circuits that a packet leaves by, by place: of its node's uplink, and of the same uplink at the far end. None if it leaves by no uplink.
type Over = Option<(usize, usize)>;

/// A packet of so many bytes left a queue, which then holds `len`. The plane is its uplink's where several serve the queue.
#[inline]
pub(super) fn dequeued(
    (pair, queue): (Pair, QueueId),
    plane: Plane,
    (len, bytes): (u32, u32),
) -> Event {
    Event::Dequeue {
        pair,
        queue,
        len,
        bytes,
        plane,
    }
}

impl<H: Copy> Circuits<H> {
    /// Where a packet goes that is at a node.
    #[inline]
    pub(super) fn way(&mut self, node: u16, id: PacketId) -> Next {
        let present = self.slice;
        let inside = self.pool.get_mut(id);
        if node == inside.ends().1.rack() {
            return Next::Deliver;
        }
        if let Some(uplink) = inside.rest.take() {
            return Next::Now(uplink);
        }
        if inside.slice == NO_SLICE {
            inside.slice = present;
        }
        let (src, dst) = inside.ends();
        let at = At {
            entered: inside.slice,
            slice: present,
            source: src.rack(),
            here: node,
            destination: dst.rack(),
            hops: inside.hops,
            class: inside.class,
            label: inside.label,
        };
        let (next, rest) = self.ways.way(&at);
        inside.rest = rest;
        next
    }

    /// A packet is at a node.
    #[inline]
    pub(super) fn reach<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        node: u16,
        id: PacketId,
        sink: &mut S,
        probe: &mut P,
    ) {
        let nowhere = QueueId {
            at: node,
            number: u16::MAX,
        };
        let reason = if self.pool.get(id).hops > self.config.most_hops {
            DropReason::Loop
        } else {
            match self.way(node, id) {
                Next::Deliver if self.config.access.is_none() => {
                    return self.leave(now, id, sink, probe);
                }
                Next::Deliver => {
                    let port = self.hosts.index(self.pool.get(id).ends().1);
                    return self.queue(now, port, id, sink, probe);
                }
                Next::Now(uplink) => {
                    let port = self.up(node, uplink);
                    return self.queue(now, port, id, sink, probe);
                }
                Next::Await(next) => return self.wait(now, (node, next), id, sink, probe),
                Next::Nowhere => DropReason::LinkDown,
            }
        };
        self.lose(now, id, nowhere, 0, reason, sink, probe);
    }

    /// A packet comes from its host.
    #[inline]
    pub(super) fn come<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        rack: u16,
        id: PacketId,
        sink: &mut S,
        probe: &mut P,
    ) {
        if self.tells_of_hosts {
            let inside = self.pool.get(id);
            let (class, bytes) = (inside.class.0, inside.packet.bytes);
            let pair = inside.pair();
            probe.on(now, Event::Came { pair, class, bytes });
        }
        self.reach(now, rack, id, sink, probe);
    }

    /// A packet joins the queue of a port, or whatever becomes of it there.
    #[inline]
    pub(super) fn queue<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        number: u32,
        id: PacketId,
        sink: &mut S,
        probe: &mut P,
    ) {
        let port = &self.ports[number as usize];
        if port.down > 0 {
            let (queue, reason) = (port.queue, DropReason::LinkDown);
            return self.lose(now, id, queue, 0, reason, sink, probe);
        }
        let kind = self.kinds[number as usize];
        let is_busy = self.is_busy(now, number);
        if !is_busy && self.pass(now, (number, kind), id, sink, probe) {
            return;
        }
        if self.join(now, Place::Port(number), kind.rules(), id, sink, probe) {
            match is_busy {
                true => self.look_when_free(number),
                false => self.serve(now, number, sink, probe),
            }
        }
    }

    /// Whether a port is still transmitting. What it has transmitted counts no more in its queue.
    #[inline]
    pub(super) fn is_busy(&mut self, now: Time, number: u32) -> bool {
        let port = &mut self.ports[number as usize];
        let Some(sending) = &port.sending else {
            return false;
        };
        let end = port.link.free_at();
        let is_done = end < now || end == now && number < self.done_below;
        if sending.later || !is_done {
            return true;
        }
        port.waiting.sent();
        port.sending = None;
        false
    }

    /// A packet goes through the queue of an idle port without a stay, if it can. Returns whether it did.
    #[inline]
    fn pass<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        (number, kind): (u32, Kind),
        id: PacketId,
        sink: &mut S,
        probe: &mut P,
    ) -> bool {
        let port = &self.ports[number as usize];
        let inside = self.pool.get(id);
        let (class, bytes) = (inside.class, inside.packet.bytes);
        let alone = self.rules[kind.rules()].alone(class, bytes);
        let (true, Some((list, marks))) = (port.waiting.is_empty(), alone) else {
            return false;
        };
        let mut over = None;
        if let Kind::Up { node, uplink } = kind {
            let place = self.circuit(node, uplink);
            let peer = self.circuits[place].peer;
            if peer == NOBODY || self.is_waited_for(node, peer) {
                return false;
            }
            let circuits = (place, self.circuit(peer, uplink));
            over = Some(circuits); // before the test: each passage takes three instructions less than if it comes after
            if !self.may_send(now, number, circuits, bytes) {
                return false;
            }
        }
        let lists = &self.rules[kind.rules()];
        let port = &mut self.ports[number as usize];
        port.waiting.pass(lists, list, bytes);
        let (queue, left) = (port.queue, port.waiting.bytes());
        let inside = self.pool.get_mut(id);
        let is_marked = marks && inside.ect && !inside.trimmed;
        inside.ce |= is_marked;
        inside.last = queue;
        let (pair, handle) = (inside.pair(), inside.packet.handle);
        tell::joined(now, (pair, queue), (1, bytes), is_marked, probe);
        probe.on(now, dequeued((pair, queue), Plane::PACKET, (0, bytes)));
        let port = &mut self.ports[number as usize];
        let wire = &self.wires[usize::from(port.wire)];
        sink.dequeued(now, handle, port.transmission(wire, left));
        if S::STAMPS {
            port.sent += u64::from(bytes);
        }
        let end = port.link.transmit(&wire.pace, now, bytes);
        self.start(now, end, number, id, over);
        true
    }

    /// Whether packets wait at a node for a circuit to a next one.
    #[inline]
    fn is_waited_for(&self, node: u16, next: u16) -> bool {
        if self.voqs.are_none() {
            return false;
        }
        let voq = self.voqs.find(node, next);
        voq.is_some_and(|voq| !self.voqs.get(voq).is_empty())
    }

    /// A packet waits at a node for a circuit to the next.
    fn wait<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        (node, next): (u16, u16),
        id: PacketId,
        sink: &mut S,
        probe: &mut P,
    ) {
        let number = self.voqs.open(node, next);
        if self.join(now, Place::Voq(number, node, next), 0, id, sink, probe) {
            for uplink in 0..self.config.uplinks.len() as u8 {
                if self.circuits[self.circuit(node, uplink)].peer == next {
                    let port = self.up(node, uplink);
                    self.serve(now, port, sink, probe);
                }
            }
        }
    }

    /// What waits at a place, and the name of its queue.
    #[inline]
    pub(super) fn waiting(&mut self, place: Place) -> (&mut Classes, QueueId) {
        self.with_packets(place).0
    }

    /// The same, with the packets and the rules of all queues.
    #[inline]
    pub(super) fn with_packets(
        &mut self,
        place: Place,
    ) -> ((&mut Classes, QueueId), &mut Pool<H>, &[Lists]) {
        let waiting = match place {
            Place::Port(number) => {
                let port = &mut self.ports[number as usize];
                (&mut port.waiting, port.queue)
            }
            Place::Voq(number, node, next) => {
                let queue = QueueId {
                    at: node,
                    number: self.config.voq(&self.hosts, next),
                };
                (self.voqs.get_mut(number), queue)
            }
        };
        (waiting, &mut self.pool, &self.rules)
    }

    /// A packet joins a queue if there is room. Returns whether something joined it.
    #[inline]
    fn join<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        place: Place,
        rules: usize,
        id: PacketId,
        sink: &mut S,
        probe: &mut P,
    ) -> bool {
        let ((waiting, _), pool, lists) = self.with_packets(place);
        let inside = pool.get(id);
        let (class, bytes) = (inside.class, inside.packet.bytes);
        match waiting.room(&lists[rules], class, bytes) {
            Room::Fits(list) => {
                self.push(now, place, rules, (class, list), id, probe);
                true
            }
            Room::Trim => self.trim(now, place, rules, id, sink, probe),
            Room::Return => {
                self.send_back(now, place, id, DropReason::Full, sink, probe);
                false
            }
            Room::Drop => {
                self.no_room(now, place, id, sink, probe);
                false
            }
        }
    }

    /// A packet joins a list.
    #[inline]
    fn push<P: Probe>(
        &mut self,
        now: Time,
        place: Place,
        rules: usize,
        (class, list): (Class, usize),
        id: PacketId,
        probe: &mut P,
    ) {
        let ((waiting, queue), pool, lists) = self.with_packets(place);
        let bytes = pool.get(id).packet.bytes;
        let marks = waiting.push(&lists[rules], (class, list), pool, (id, bytes));
        let inside = pool.get_mut(id);
        let is_marked = marks && inside.ect && !inside.trimmed;
        inside.ce |= is_marked;
        let (named, len) = ((inside.pair(), queue), waiting.len());
        tell::joined(now, named, (len, bytes), is_marked, probe);
    }

    /// The packet that an uplink sends next to `peer`, and the queue that it is in: of two of one class that of the uplink's own.
    #[inline]
    fn next_over(
        &mut self,
        number: u32,
        node: u16,
        peer: u16,
    ) -> Option<(Place, (usize, PacketId))> {
        let lists = &self.rules[0]; // an uplink's
        let own = self.ports[number as usize].waiting.next(lists);
        if self.voqs.are_none() {
            return own.map(|next| (Place::Port(number), next));
        }
        let voq = self.voqs.find(node, peer);
        let awaiting = voq.and_then(|voq| self.voqs.get_mut(voq).next(lists));
        match (own, awaiting, voq) {
            (own, Some(next), Some(voq)) if own.is_none_or(|own| next.0 < own.0) => {
                Some((Place::Voq(voq, node, peer), next))
            }
            (Some(next), ..) => Some((Place::Port(number), next)),
            _ => None,
        }
    }

    /// What a port sends next, if it can: from its own queue, or from that of what waits for its circuit, by class.
    #[inline]
    pub(super) fn serve<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        number: u32,
        sink: &mut S,
        probe: &mut P,
    ) {
        let port = &self.ports[number as usize];
        if port.down > 0 || port.waiting.is_empty() && self.voqs.are_none() {
            return;
        }
        if self.is_busy(now, number) {
            return self.look_when_free(number);
        }
        let kind = self.kinds[number as usize];
        let Kind::Up { node, uplink } = kind else {
            let lists = &self.rules[kind.rules()];
            if let Some(next) = self.ports[number as usize].waiting.next(lists) {
                self.transmit(now, number, (Place::Port(number), None), next, sink, probe);
            }
            return;
        };
        let circuit = self.circuit(node, uplink);
        let peer = self.circuits[circuit].peer;
        if peer == NOBODY {
            return;
        }
        let Some((place, next)) = self.next_over(number, node, peer) else {
            return;
        };
        let circuits = (circuit, self.circuit(peer, uplink));
        let bytes = self.pool.get(next.1).packet.bytes;
        if self.may_send(now, number, circuits, bytes) {
            self.transmit(now, number, (place, Some(circuits)), next, sink, probe);
        }
    }

    /// A port that is busy is looked at when it is free.
    fn look_when_free(&mut self, number: u32) {
        if !self.calendar.is_at_work(number) {
            let end = self.ports[number as usize].link.free_at();
            self.calendar.push(end, number);
        }
    }

    /// Whether an uplink may send a packet of so many bytes now, over these circuits.
    #[inline]
    fn may_send(&mut self, now: Time, number: u32, over: (usize, usize), bytes: u32) -> bool {
        !self.looks_ahead || self.may_send_over(now, number, over, bytes)
    }

    /// The same where late packets complete or circuits have guard bands.
    #[inline(never)]
    fn may_send_over(
        &mut self,
        now: Time,
        number: u32,
        (circuit, far): (usize, usize),
        bytes: u32,
    ) -> bool {
        let last = self.circuits[circuit].last;
        if self.config.late == Late::Completes && self.is_awaited(now, number, far) {
            return false;
        }
        if last == Time::MAX {
            return true;
        }
        let port = &self.ports[number as usize];
        let (mut link, wire) = (port.link, &self.wires[usize::from(port.wire)]);
        link.transmit(&wire.pace, now, bytes) <= last
    }

    /// Whether the far end of a port's circuit is busy with what came late, until when the port waits. It asks once to be served then.
    fn is_awaited(&mut self, now: Time, number: u32, far: usize) -> bool {
        let (busy, port) = (self.receives_until[far], &mut self.ports[number as usize]);
        if busy > now && port.asked != busy {
            port.asked = busy;
            self.changes.push(busy, Change::Serve(number));
        }
        busy > now
    }

    /// A port starts to transmit a packet of a queue, over a circuit if it is an uplink.
    #[inline]
    fn transmit<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        number: u32,
        (place, over): (Place, Over),
        (list, id): (usize, PacketId),
        sink: &mut S,
        probe: &mut P,
    ) {
        let rules = self.kinds[number as usize].rules();
        let ((waiting, queue), pool, lists) = self.with_packets(place);
        let inside = pool.get_mut(id);
        let (pair, bytes, handle) = (inside.pair(), inside.packet.bytes, inside.packet.handle);
        inside.last = queue;
        waiting.take(&lists[rules], list, pool, bytes);
        let is_own = matches!(place, Place::Port(_));
        if is_own {
            waiting.send(list, bytes);
        }
        let (len, left) = (waiting.len(), waiting.bytes());
        let plane = match (place, self.kinds[number as usize]) {
            (Place::Voq(..), Kind::Up { uplink, .. }) => plane_of(uplink),
            _ => Plane::PACKET,
        };
        probe.on(now, dequeued((pair, queue), plane, (len, bytes)));
        let port = &mut self.ports[number as usize];
        let wire = &self.wires[usize::from(port.wire)];
        sink.dequeued(now, handle, port.transmission(wire, left));
        let mut end = port.link.transmit(&wire.pace, now, bytes);
        if let (Place::Voq(number, ..), true) = (place, self.config.asked.is_some()) {
            // Circuits that are asked for may be parallel; they are one link then, which keeps packets in order.
            end = self.voqs.in_order(number, end);
        }
        if S::STAMPS {
            port.sent += u64::from(bytes);
        }
        self.start(now, end, number, id, over);
        let port = &self.ports[number as usize];
        if self.tells && !is_own {
            let scheduled = Event::Scheduled {
                pair,
                queue: port.queue,
                bytes,
                until: end,
            };
            probe.on(now, scheduled);
        }
        let more = !port.waiting.is_empty();
        let waits = || match (self.kinds[number as usize], over) {
            (Kind::Up { node, .. }, Some((circuit, _))) => {
                self.is_waited_for(node, self.circuits[circuit].peer)
            }
            _ => false,
        };
        if more || waits() {
            self.look_when_free(number);
        }
    }

    /// The transmission of a packet starts, which ends at `end`.
    #[inline]
    fn start(&mut self, now: Time, end: Time, number: u32, id: PacketId, over: Over) {
        let inside = self.pool.get_mut(id);
        inside.over = number;
        let mut lost = None;
        if let Some((circuit, far)) = over {
            let circuit = &self.circuits[circuit];
            inside.to = circuit.peer;
            let is_cut = match self.config.late {
                Late::Lost => end > circuit.until,
                Late::Completes => {
                    self.receives_until[far] = end;
                    false
                }
            };
            lost = (is_cut || now < circuit.from).then_some(DropReason::Dark);
        }
        let later = lost.is_some() || self.can_fail;
        let port = &mut self.ports[number as usize];
        port.sending = Some(Sending { id, lost, later });
        if later {
            self.calendar.push(end, number);
        } else {
            let delay = self.wires[usize::from(port.wire)].delay;
            self.coming.push_ranked(end + delay, port.rank, id);
        }
    }

    /// A port is done with a packet.
    #[inline]
    pub(super) fn transmitted<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        number: u32,
        sink: &mut S,
        probe: &mut P,
    ) {
        let port = &mut self.ports[number as usize];
        let Some(sending) = port.sending.take() else {
            return;
        };
        port.waiting.sent();
        if !sending.later {
            return self.serve(now, number, sink, probe);
        }
        let arrives = now + self.wires[usize::from(port.wire)].delay;
        let rank = port.rank;
        let (queue, len) = (port.queue, port.waiting.len());
        let kind = self.kinds[number as usize];
        let mut lost = sending.lost;
        if let (Kind::Up { uplink, .. }, false) = (kind, self.failed.is_empty()) {
            let peer = self.pool.get(sending.id).to;
            if lost.is_none() && self.deaf[self.circuit(peer, uplink)] > 0 {
                lost = Some(DropReason::LinkDown);
            }
        }
        match lost {
            None => self.coming.push_ranked(arrives, rank, sending.id),
            Some(DropReason::Dark) if self.comes_back(sending.id) => {
                let place = Place::Port(number);
                self.send_back(now, place, sending.id, DropReason::Dark, sink, probe);
            }
            Some(reason) => self.lose(now, sending.id, queue, len, reason, sink, probe),
        }
        self.serve(now, number, sink, probe);
    }

    /// A packet is where its port leads.
    #[inline]
    pub(super) fn arrive<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        id: PacketId,
        sink: &mut S,
        probe: &mut P,
    ) {
        match self.kinds[self.pool.get(id).over as usize] {
            Kind::ToHost => self.leave(now, id, sink, probe),
            Kind::Up { .. } => {
                let inside = self.pool.get_mut(id);
                inside.hops = inside.hops.saturating_add(1);
                let to = inside.to;
                self.reach(now, to, id, sink, probe);
            }
            Kind::ToCore => {
                let (_, dst) = self.pool.get(id).ends();
                let port = self.down_to(dst.rack());
                self.queue(now, port, id, sink, probe);
            }
            Kind::FromCore(rack) => {
                let inside = self.pool.get_mut(id);
                inside.hops = inside.hops.saturating_add(1);
                self.reach(now, rack, id, sink, probe);
            }
            Kind::FromHost(rack) => self.come(now, rack, id, sink, probe),
        }
    }
}
