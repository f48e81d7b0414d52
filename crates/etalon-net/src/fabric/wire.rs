// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is delayed: packets behind links, in the order in which their delays end.

use alloc::vec::Vec;

use etalon_queues::{Fifo, PacketId};
use etalon_units::{Span, Time};

/// A packet whose delay ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delayed {
    pub(crate) time: Time,
    pub(crate) packet: PacketId,
    /// The port that it passes.
    pub(crate) port: u32,
}

/// All wires of the same delay, and to the same kind of end, as one: packets come out in the order in which they went in, so that a
/// packet costs the same however many ports there are.
#[derive(Debug)]
struct Wire {
    delay: Span,
    to_hosts: bool,
    packets: Fifo<Delayed>,
    /// When the first comes out.
    next: Time,
}

/// The wires of a fabric.
#[derive(Debug)]
pub(crate) struct Wires {
    wires: Vec<Wire>,
    /// When the first packet comes out, and of which wire.
    first: (Time, usize),
}

impl Wires {
    pub(crate) const fn new() -> Wires {
        Wires {
            wires: Vec::new(),
            first: (Time::MAX, 0),
        }
    }

    /// The wire of this delay.
    pub(crate) fn of(&mut self, delay: Span, to_hosts: bool) -> u8 {
        let same = |wire: &Wire| (wire.delay, wire.to_hosts) == (delay, to_hosts);
        let found = self.wires.iter().position(same).unwrap_or_else(|| {
            self.wires.push(Wire {
                delay,
                to_hosts,
                packets: Fifo::default(),
                next: Time::MAX,
            });
            self.wires.len() - 1
        });
        found as u8
    }

    /// When the next packet comes out.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.first.0
    }

    /// When the next packet comes out at a host.
    pub(crate) fn next_at_hosts(&self) -> Time {
        let to_hosts = self.wires.iter().filter(|wire| wire.to_hosts);
        to_hosts.map(|wire| wire.next).min().unwrap_or(Time::MAX)
    }

    #[inline]
    pub(crate) fn push(&mut self, now: Time, wire: u8, packet: PacketId, port: u32) {
        let number = usize::from(wire);
        let wire = &mut self.wires[number];
        let time = now + wire.delay;
        if wire.next == Time::MAX {
            wire.next = time;
            self.first = self.first.min((time, number));
        }
        wire.packets.push_back(Delayed { time, packet, port });
    }

    /// Takes the first packet that comes out.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Delayed> {
        let wire = self.wires.get_mut(self.first.1)?;
        let delayed = wire.packets.pop_front();
        wire.look();
        self.find_first();
        delayed
    }

    #[inline]
    fn find_first(&mut self) {
        self.first = (Time::MAX, 0);
        for (number, wire) in self.wires.iter().enumerate() {
            if wire.next < self.first.0 {
                self.first = (wire.next, number);
            }
        }
    }

    /// Takes all packets that pass a port.
    #[cold]
    pub(crate) fn cut(&mut self, port: u32) -> Vec<PacketId> {
        let mut lost = Vec::new();
        for wire in &mut self.wires {
            for _ in 0..wire.packets.len() {
                match wire.packets.pop_front() {
                    Some(delayed) if delayed.port == port => lost.push(delayed.packet),
                    Some(delayed) => wire.packets.push_back(delayed),
                    None => break,
                }
            }
            wire.look();
        }
        self.find_first();
        lost
    }
}

impl Wire {
    #[inline]
    fn look(&mut self) {
        self.next = self.packets.front().map_or(Time::MAX, |first| first.time);
    }
}
