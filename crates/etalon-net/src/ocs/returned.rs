// SPDX-License-Identifier: MIT OR Apache-2.0
//! What becomes of packets that do not go on: cut to their headers, sent back, lost, or at their hosts.

use etalon_queues::{PacketId, Room};
use etalon_route::Rest;
use etalon_scenario::{Full, Trim};
use etalon_switch::{Departure, DropReason, Event, Plane, Probe, QueueId, Sink, tell};
use etalon_units::Time;
use rand_core::Rng;

use super::Circuits;
use super::inside::{Kind, NO_SLICE};
use super::tor::Place;

impl<H: Copy> Circuits<H> {
    pub(super) fn no_room<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        place: Place,
        id: PacketId,
        sink: &mut S,
        probe: &mut P,
    ) {
        let (waiting, queue) = self.waiting(place);
        let len = waiting.len();
        self.lose(now, id, queue, len, DropReason::Full, sink, probe);
    }

    /// A packet finds its list full: it, or by the toss of a coin the last one there, is cut to its header (NDP, SIGCOMM 2017, section 3.1).
    /// Returns whether something joined the queue.
    #[cold]
    pub(super) fn trim<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        place: Place,
        rules: usize,
        id: PacketId,
        sink: &mut S,
        probe: &mut P,
    ) -> bool {
        let class = self.pool.get(id).class;
        let Full::Trim(trim) = self.rules[rules].limit(class).full else {
            self.no_room(now, place, id, sink, probe);
            return false;
        };
        let swapped = trim.coin && self.coin.next_u32() & 1 == 1;
        if swapped {
            self.take_last_place(now, place, rules, id, probe);
        }
        // What is to be cut has this place in the pool, whichever it is.
        let Trim { header_bytes, .. } = trim;
        let inside = self.pool.get_mut(id);
        inside.trimmed = true;
        inside.packet.bytes = u32::from(header_bytes);
        let (pair, class, bytes) = (inside.pair(), inside.class, inside.packet.bytes);
        let ((waiting, queue), pool, lists) = self.with_packets(place);
        match waiting.room(&lists[rules], class, bytes) {
            Room::Fits(list) => {
                waiting.push(&lists[rules], (class, list), pool, (id, bytes));
                let trimmed = Event::Trimmed {
                    pair,
                    queue,
                    len: waiting.len(),
                    bytes,
                };
                probe.on(now, trimmed);
                return true;
            }
            Room::Return => self.send_back(now, place, id, DropReason::Full, sink, probe),
            Room::Trim | Room::Drop => self.no_room(now, place, id, sink, probe),
        }
        swapped
    }

    /// A packet takes the place of the last in its list, which then has its own place in the pool, unless that is the shorter of the two.
    fn take_last_place<P: Probe>(
        &mut self,
        now: Time,
        place: Place,
        rules: usize,
        id: PacketId,
        probe: &mut P,
    ) {
        let new = *self.pool.get(id);
        let list = self.rules[rules].packets(new.class);
        let Some(last) = self.waiting(place).0.last(list) else {
            return; // all that counts is in transmission
        };
        let old = *self.pool.get(last);
        if old.packet.bytes < new.packet.bytes {
            return;
        }
        *self.pool.get_mut(last) = new;
        *self.pool.get_mut(id) = old;
        let (waiting, queue) = self.waiting(place);
        waiting.resize(list, old.packet.bytes, new.packet.bytes);
        let enqueue = Event::Enqueue {
            pair: new.pair(),
            queue,
            len: waiting.len(),
            bytes: new.packet.bytes,
        };
        probe.on(now, enqueue);
    }

    /// A packet goes back to its sender.
    #[cold]
    pub(super) fn send_back<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        place: Place,
        id: PacketId,
        why: DropReason,
        sink: &mut S,
        probe: &mut P,
    ) {
        let (waiting, queue) = self.waiting(place);
        let (len, node) = (waiting.len(), queue.at);
        let inside = self.pool.get_mut(id);
        if inside.returns.is_some() {
            return self.lose(now, id, queue, len, why, sink, probe);
        }
        inside.returns = Some(why);
        inside.hops = 0;
        inside.slice = NO_SLICE;
        inside.rest = Rest::NONE;
        let (pair, bytes) = (inside.pair(), inside.packet.bytes);
        let returned = Event::Returned { pair, queue, bytes };
        probe.on(now, returned);
        if self.rotorlb == Some(self.pool.get(id).class) && node == pair.src {
            // The host keeps what it sends until its rack has sent it on: it need but be told.
            return self.leave(now, id, sink, probe);
        }
        match place {
            Place::Port(number) if matches!(self.kinds[number as usize], Kind::FromHost(_)) => {
                self.leave(now, id, sink, probe);
            }
            Place::Port(number) => match self.kinds[number as usize] {
                // What the packet network has no room for goes down another of its ports.
                Kind::FromCore(_) => {
                    let port = self.down_to(pair.src);
                    self.queue(now, port, id, sink, probe);
                }
                _ => self.reach(now, node, id, sink, probe),
            },
            Place::Voq(..) => self.reach(now, node, id, sink, probe),
        }
    }

    /// Whether a packet goes back to its sender if it cannot go on.
    pub(super) fn comes_back(&self, id: PacketId) -> bool {
        let class = self.pool.get(id).class;
        self.rotorlb == Some(class) || self.rules[0].limit(class).full == Full::Return
    }

    /// A circuit is there no more: what RotorLB still has waiting for it goes back, unless another leads there.
    pub(super) fn clear<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        node: u16,
        peer: u16,
        sink: &mut S,
        probe: &mut P,
    ) {
        let (Some(class), Some(number)) = (self.rotorlb, self.voqs.find(node, peer)) else {
            return;
        };
        let first = self.circuit(node, 0);
        let others = &self.circuits[first..first + self.config.uplinks.len()];
        if others.iter().any(|circuit| circuit.peer == peer) {
            return;
        }
        let list = self.rules[0].packets(class);
        let place = Place::Voq(number, node, peer);
        while let Some(id) = self.voqs.get_mut(number).first(list) {
            let bytes = self.pool.get(id).packet.bytes;
            let waiting = self.voqs.get_mut(number);
            waiting.take(&self.rules[0], list, &self.pool, bytes);
            self.send_back(now, place, id, DropReason::Dark, sink, probe);
        }
    }

    /// A packet is at its host, or back at its sender.
    pub(super) fn leave<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        id: PacketId,
        sink: &mut S,
        probe: &mut P,
    ) {
        self.was_heard = true;
        let inside = self.pool.remove(id);
        let (packet, pair) = (inside.packet, inside.pair());
        if let Some(why) = inside.returns {
            return sink.give_back(now, packet.handle, pair, why);
        }
        if inside.has_payload && !inside.trimmed {
            let travelled = Event::Travelled {
                pair,
                class: inside.class.0,
                hops: inside.hops,
                bytes: packet.bytes,
            };
            probe.on(now, travelled);
        }
        let departure = Departure {
            packet,
            time: now,
            latency: now - inside.entered,
            queue: inside.last,
            plane: Plane::PACKET,
            ce: inside.ce,
            ece: self.is_announced(&packet),
            trimmed: inside.trimmed,
        };
        tell::departed(departure, sink, probe);
    }

    #[cold]
    #[allow(clippy::too_many_arguments)] // what an event says, and who hears it
    pub(super) fn lose<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        id: PacketId,
        queue: QueueId,
        len: u32,
        reason: DropReason,
        sink: &mut S,
        probe: &mut P,
    ) {
        self.was_heard = true;
        let packet = self.pool.remove(id).packet;
        tell::lost(now, &packet, (queue, len), reason, sink, probe);
    }
}
