// SPDX-License-Identifier: MIT OR Apache-2.0
//! Circuits that are asked for: uplinks that lead elsewhere from now on. What waits for a circuit that is there no more looks for
//! another way.

use alloc::vec::Vec;

use etalon_queues::PacketId;
use etalon_route::Next;
use etalon_scenario::{CrossConnect, Late, Plane};
use etalon_schedule::CrossConnected;
use etalon_switch::{DropReason, Event, Probe, Sink};
use etalon_units::{Span, Time};

use super::Circuits;
use super::changes::{Change, Rewiring, Rewirings};
use super::inside::Circuit;
use super::tor::{Place, dequeued};

/// The uplink of a circuit that is asked for.
fn uplink_of(connect: CrossConnect) -> u8 {
    connect.plane.0 - Plane::CIRCUIT.0
}

impl<H: Copy> CrossConnected for Circuits<H> {
    fn change(&mut self, now: Time, removed: &[CrossConnect], added: &[CrossConnect], dark: Span) {
        let Rewirings(due) = &mut self.changes.rewirings;
        for rewiring in due.values_mut() {
            // It does not come up any more.
            rewiring.up.retain(|one| !removed.contains(one));
        }
        due.entry(now).or_default().down.extend(removed);
        due.entry(now + dark).or_default().up.extend(added);
        self.changes.push(now, Change::Rewire);
        self.changes.push(now + dark, Change::Rewire);
    }
}

impl<H: Copy> Circuits<H> {
    /// Circuits go down and come up that were asked for.
    pub(super) fn rewire<S: Sink<H>, P: Probe>(&mut self, now: Time, sink: &mut S, probe: &mut P) {
        let Some(Rewiring { down, up }) = self.changes.rewirings.0.remove(&now) else {
            return;
        };
        for connect in down {
            self.disconnect(now, connect, probe);
        }
        for connect in up {
            let (pair, uplink) = (connect.pair, uplink_of(connect));
            let late = self.locks_after(pair.src, pair.dst, uplink);
            let circuit = self.circuit(pair.src, uplink);
            self.circuits[circuit] = Circuit {
                peer: pair.dst,
                from: now.saturating_add(late),
                until: Time::MAX,
                last: Time::MAX,
            };
            self.slices.connect(pair.src, uplink.into(), Some(pair.dst));
            let plane = connect.plane;
            let up = true;
            probe.on(now, Event::Joined { pair, plane, up });
        }
        self.choose_ways();
        self.tell_again(now, sink);
        self.look_for_ways(now, sink, probe);
        for (node, uplink) in self.all_uplinks() {
            let port = self.up(node, uplink);
            self.serve(now, port, sink, probe);
        }
    }

    fn disconnect<P: Probe>(&mut self, now: Time, connect: CrossConnect, probe: &mut P) {
        let (pair, uplink) = (connect.pair, uplink_of(connect));
        let circuit = self.circuit(pair.src, uplink);
        if self.circuits[circuit].peer != pair.dst {
            return; // it has not come up
        }
        self.circuits[circuit] = Circuit::NONE;
        self.slices.connect(pair.src, uplink.into(), None);
        let number = self.up(pair.src, uplink);
        let port = &mut self.ports[number as usize];
        if let (Some(sending), Late::Lost, true) = (
            &mut port.sending,
            self.config.late,
            port.link.free_at() > now,
        ) {
            sending.lost = Some(DropReason::Dark);
        }
        let (plane, up) = (connect.plane, false);
        probe.on(now, Event::Joined { pair, plane, up });
    }

    /// What waits for circuits that are not there goes another way, if there is one now.
    fn look_for_ways<S: Sink<H>, P: Probe>(&mut self, now: Time, sink: &mut S, probe: &mut P) {
        for number in 0..self.voqs.count() {
            let (node, next) = self.voqs.ends(number);
            let uplinks = self.config.uplinks.len();
            let first = self.circuit(node, 0);
            let up = &self.circuits[first..first + uplinks];
            if up.iter().any(|circuit| circuit.peer == next) {
                continue;
            }
            let place = Place::Voq(number, node, next);
            for (list, id) in self.drain(number) {
                if self.way(node, id) == Next::Await(next) {
                    let inside = self.pool.get(id);
                    let (class, bytes) = (inside.class, inside.packet.bytes);
                    let ((waiting, _), pool, lists) = self.with_packets(place);
                    waiting.push(&lists[0], (class, list), pool, (id, bytes));
                    continue;
                }
                let ((waiting, queue), pool, _) = self.with_packets(place);
                let inside = pool.get(id);
                let left = (waiting.len(), inside.packet.bytes);
                probe.on(now, dequeued((inside.pair(), queue), Plane::PACKET, left));
                self.reach(now, node, id, sink, probe);
            }
        }
    }

    /// All packets of a queue, in order, with their lists.
    fn drain(&mut self, number: u32) -> Vec<(usize, PacketId)> {
        let mut found = Vec::new();
        let waiting = self.voqs.get_mut(number);
        while let Some((list, id)) = waiting.next(&self.rules[0]) {
            let bytes = self.pool.get(id).packet.bytes;
            waiting.take(&self.rules[0], list, &self.pool, bytes);
            found.push((list, id));
        }
        found
    }
}
