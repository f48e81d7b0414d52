// SPDX-License-Identifier: MIT OR Apache-2.0
//! A network of switches: queues in front of links, next hops, links that fail.
//!
//! Every egress port is a queue, those of ToR switches to their hosts too. A packet costs two events a hop, when its
//! transmission ends and when it arrives; what is due next is found by a calendar and a FIFO for each delay, so that a hop
//! costs the same whatever the number of ports.

mod failure;
mod next_hops;
mod port;
pub(crate) mod wire;

#[cfg(test)]
mod tests;

use alloc::vec;
use alloc::vec::Vec;

use etalon_queues::{Calendar, PacketId};
use etalon_scenario::{Egress, Hosts, Node, Topology};
use etalon_switch::{
    Arrival, Departure, DropReason, Event, Packet, Plane, Probe, QueueId, Sink, tell,
};
use etalon_units::{Span, Time};

use crate::network::Network;
use failure::Failures;
use next_hops::{NextHops, flow_hash};
use port::{Inside, Pool, Port};
use wire::{Delayed, Wires};

pub use failure::Failure;

/// Bytes on the wire of the longest packet beyond its MTU.
const ETHERNET: u64 = 14;

/// When packets are delayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delay {
    /// Behind their transmission, on the wire.
    #[default]
    OnWire,
    /// Before it, and they count as queued: as Mininet's links are made (netem below HTB).
    InQueue,
}

/// Switches and hosts, for packets with handles `H`.
#[derive(Debug)]
pub struct Fabric<H> {
    hosts: Hosts,
    delay: Delay,
    ports: Vec<Port>,
    /// What the ports are of.
    egress: Vec<Egress>,
    /// Of hosts' own ports, if they have any: behind these numbers.
    host_ports: Option<u32>,
    next_hops: NextHops,
    switches: u16,
    seed: u64,
    failures: Failures,
    /// Transmissions.
    calendar: Calendar,
    wires: Wires,
    pool: Pool<H>,
    /// No packet passes sooner.
    shortest: Span,
}

impl<H: Copy> Fabric<H> {
    /// A fabric with nothing in it. Flows choose among equal ways by `seed`.
    #[must_use]
    pub fn new(topology: Topology, delay: Delay, failures: Vec<Failure>, seed: u64) -> Fabric<H> {
        let (hosts, switches) = (*topology.hosts(), topology.switches());
        let egress = topology.into_ports();
        let mut wires = Wires::new();
        let ports: Vec<Port> = egress
            .iter()
            .map(|port| {
                let to_host = matches!(port.to, Node::Host(_));
                Port::new(port, wires.of(port.link.delay, to_host))
            })
            .collect();
        let longest = u64::from(hosts.mtu) + ETHERNET;
        let spans = egress.iter().map(|port| port.link.rate.span_of(longest));
        let to_hosts = &egress[..hosts.count() as usize];
        let own = egress
            .iter()
            .position(|port| matches!(port.from, Node::Host(_)));
        let up = vec![true; ports.len()];
        Fabric {
            delay,
            next_hops: NextHops::new((hosts.racks, switches), &egress, &up, seed),
            calendar: Calendar::new(ports.len(), spans.max().unwrap_or_default()),
            shortest: to_hosts
                .iter()
                .map(|p| p.link.delay)
                .min()
                .unwrap_or_default(),
            failures: Failures::new(failures, &egress),
            host_ports: own.map(|first| first as u32),
            hosts,
            ports,
            egress,
            switches,
            seed,
            wires,
            pool: Pool::new(),
        }
    }

    /// A packet reaches a switch. Whether it is lost, as below.
    #[inline]
    fn reach<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        switch: u16,
        id: PacketId,
        sink: &mut S,
        probe: &mut P,
    ) -> bool {
        let inside = self.pool.get_mut(id);
        let (dst, hash) = (inside.packet.dst, inside.hash);
        let port = if dst.rack() == switch {
            Some(self.hosts.index(dst))
        } else {
            self.next_hops.choose(switch, dst.rack(), hash)
        };
        match port {
            Some(port) => self.queue(now, port, id, sink, probe),
            None => {
                let nowhere = QueueId {
                    at: switch,
                    number: u16::MAX,
                };
                self.lose(now, id, nowhere, 0, DropReason::LinkDown, sink, probe);
                true
            }
        }
    }

    /// A packet joins the queue of a port, or is lost.
    #[inline]
    fn queue<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        number: u32,
        id: PacketId,
        sink: &mut S,
        probe: &mut P,
    ) -> bool {
        let port = &mut self.ports[number as usize];
        let (queue, wire) = (port.queue, port.wire);
        if !port.is_up || !port.admit() {
            let reason = match port.is_up {
                true => DropReason::Full,
                false => DropReason::LinkDown,
            };
            let len = port.len;
            self.lose(now, id, queue, len, reason, sink, probe);
            return true;
        }
        let inside = self.pool.get_mut(id);
        let (pair, bytes) = (inside.packet.pair(), inside.packet.bytes);
        if S::STAMPS {
            port.bytes += u64::from(bytes);
        }
        let is_marked = port.marks() && inside.ect;
        inside.ce |= is_marked;
        tell::joined(now, (pair, queue), (port.len, bytes), is_marked, probe);
        match self.delay {
            Delay::OnWire => self.transmit(now, number, id),
            Delay::InQueue => self.wires.push(now, wire, id, number),
        }
        false
    }

    /// A packet in the queue of a port may be transmitted.
    #[inline]
    fn transmit(&mut self, now: Time, number: u32, id: PacketId) {
        let port = &mut self.ports[number as usize];
        if let Some(end) = port.push(now, &mut self.pool, id) {
            self.calendar.push(end, number);
        }
    }

    /// A port is done with a packet. Whether that has come out, or is lost.
    #[inline]
    fn transmitted<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        number: u32,
        sink: &mut S,
        probe: &mut P,
    ) -> bool {
        let port = &mut self.ports[number as usize];
        let Some((id, next)) = port.pop(now, &mut self.pool) else {
            return false;
        };
        if let Some(end) = next {
            self.calendar.push(end, number);
        }
        let (queue, len, wire) = (port.queue, port.len, port.wire);
        let packet = &self.pool.get(id).packet;
        let (pair, bytes, handle) = (packet.pair(), packet.bytes, packet.handle);
        if S::STAMPS {
            port.bytes -= u64::from(bytes);
            port.sent += u64::from(bytes);
        }
        let from = port.transmission();
        let dequeue = Event::Dequeue {
            pair,
            queue,
            len,
            bytes,
            plane: Plane::PACKET,
        };
        probe.on(now, dequeue);
        sink.dequeued(now, handle, from);
        match self.delay {
            Delay::OnWire => {
                self.wires.push(now, wire, id, number);
                false
            }
            Delay::InQueue => self.arrive(now, number, id, sink, probe),
        }
    }

    /// A packet arrives where a port leads. Whether it has come out, or is lost.
    #[inline]
    fn arrive<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        number: u32,
        id: PacketId,
        sink: &mut S,
        probe: &mut P,
    ) -> bool {
        let port = &self.ports[number as usize];
        match port.to {
            Node::Switch(switch) => self.reach(now, switch, id, sink, probe),
            Node::Host(_) => {
                let queue = port.queue;
                self.leave(now, id, queue, sink, probe);
                true
            }
        }
    }

    /// A packet is at its host.
    #[inline]
    fn leave<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        id: PacketId,
        queue: QueueId,
        sink: &mut S,
        probe: &mut P,
    ) {
        let inside = self.pool.remove(id);
        let departure = Departure {
            packet: inside.packet,
            time: now,
            latency: now - inside.entered,
            queue,
            plane: Plane::PACKET,
            ce: inside.ce,
            ece: false,
            trimmed: false,
        };
        tell::departed(departure, sink, probe);
    }

    /// Does what is due first, if it is due by `now`. At one instant links fail first; then packets leave, so that others can take their
    /// places.
    #[inline(always)] // in two loops
    fn step<S: Sink<H>, P: Probe>(&mut self, now: Time, sink: &mut S, probe: &mut P) -> Step {
        let (transmission, wire) = (self.calendar.next(), self.wires.next());
        let first = transmission.min(wire);
        if self.failures.next() <= first.min(now) {
            let time = self.failures.next();
            if time == Time::MAX {
                return Step::Nothing;
            }
            self.change(time, sink, probe);
            return Step::Out(time);
        }
        if first > now {
            return Step::Nothing;
        }
        let outside = if transmission <= wire {
            let Some(port) = self.calendar.pop() else {
                return Step::Nothing;
            };
            self.transmitted(first, port, sink, probe)
        } else {
            let Some(Delayed { packet, port, .. }) = self.wires.pop() else {
                return Step::Nothing;
            };
            match self.delay {
                Delay::OnWire => self.arrive(first, port, packet, sink, probe),
                Delay::InQueue => {
                    self.transmit(first, port, packet);
                    false
                }
            }
        };
        match outside {
            true => Step::Out(first),
            false => Step::Inside,
        }
    }

    #[cold]
    #[allow(clippy::too_many_arguments)] // what an event says, and who hears it
    fn lose<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        id: PacketId,
        queue: QueueId,
        len: u32,
        reason: DropReason,
        sink: &mut S,
        probe: &mut P,
    ) {
        let packet = self.pool.remove(id).packet;
        tell::lost(now, &packet, (queue, len), reason, sink, probe);
    }
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Nothing is due.
    Nothing,
    /// Nothing that is seen outside.
    Inside,
    /// A packet may have come out, or was lost, at this instant.
    Out(Time),
}

impl<H: Copy> Network<H> for Fabric<H> {
    #[inline]
    fn enqueue<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        arrival: Arrival<H>,
        sink: &mut S,
        probe: &mut P,
    ) {
        let Packet { src, dst, .. } = arrival.packet;
        let (from, to) = (self.hosts.index(src), self.hosts.index(dst));
        let hash = flow_hash(from, to, arrival.label);
        let id = self.pool.insert(Inside {
            packet: arrival.packet,
            entered: now,
            hash,
            ect: arrival.ect,
            ce: false,
        });
        match self.host_ports {
            None => self.reach(now, src.rack(), id, sink, probe),
            Some(first) => self.queue(now, first + from, id, sink, probe),
        };
    }

    #[inline]
    fn next_event(&self) -> Time {
        let inside = self.calendar.next().min(self.wires.next());
        inside.min(self.failures.next())
    }

    fn next_departure(&self) -> Time {
        match self.delay {
            // What is not on its last wire has that before it.
            Delay::OnWire => {
                let inside = self.calendar.next().min(self.wires.next());
                let later = inside.saturating_add(self.shortest);
                self.wires
                    .next_at_hosts()
                    .min(later)
                    .min(self.failures.next())
            }
            Delay::InQueue => self.next_event(),
        }
    }

    fn shortest_passage(&self) -> Span {
        self.shortest
    }

    fn carries_within_racks(&self) -> bool {
        true
    }

    fn advance<S: Sink<H>, P: Probe>(&mut self, now: Time, sink: &mut S, probe: &mut P) {
        while self.step(now, sink, probe) != Step::Nothing {}
    }

    #[inline]
    fn run<S: Sink<H>, P: Probe>(&mut self, now: Time, until: Time, sink: &mut S, probe: &mut P) {
        let mut last = until;
        loop {
            match self.step(last, sink, probe) {
                Step::Nothing => return,
                Step::Inside => {}
                // What else is due at that instant is still done.
                Step::Out(time) => last = time,
            }
            debug_assert!(now <= last);
        }
    }
}
