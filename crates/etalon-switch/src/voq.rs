// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual output queues: capacities, drops, marking, and the hold.

use alloc::vec::Vec;

use crate::rules::Signal;
use etalon_queues::{PacketId, Queue};

use crate::entry::Pool;
use crate::{Marking, Packet, Pair, PairVoq, Plane, Rdcn};

/// Beside the signals: the packet network serves nobody.
const DARK: u8 = 1 << 7;

/// What serves a VOQ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Server {
    /// The circuit that ends at this port.
    Circuit(u16),
    Packet,
    None,
}

/// The virtual output queue of one rack pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Voq {
    queue: Queue,
    /// Packets that came back because their internal queue was full. They go before all others.
    hold: Queue,
    /// Bytes of the packets in both.
    bytes: u64,
    /// The capacity outside the pair's windows.
    ordinary: u32,
    /// The capacity now; none before the first packet comes, so that whoever comes first is noticed by those that find no room.
    capacity: u32,
    /// The signals that are on, a bit each, and [`DARK`].
    signals: u8,
    /// The port at which the pair's circuit ends, if it has one.
    circuit: Option<u16>,
    /// The TDN that hosts were told last.
    told: Plane,
}

impl Voq {
    /// Number of packets in the queue, those in the hold not counted.
    #[inline]
    pub(crate) const fn len(&self) -> u32 {
        self.queue.len()
    }

    /// Bytes in the queue and in the hold.
    #[inline]
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline]
    pub(crate) const fn capacity(&self) -> u32 {
        self.capacity
    }

    /// There is something to send, in the queue or in the hold.
    #[inline]
    pub(crate) const fn has_backlog(&self) -> bool {
        !self.queue.is_empty() || !self.hold.is_empty()
    }

    #[inline]
    pub(crate) const fn is_on(&self, signal: Signal) -> bool {
        self.signals & signal.bit() != 0
    }

    #[inline]
    pub(crate) const fn signals(&self) -> u8 {
        self.signals & !DARK
    }

    /// The packet network serves it.
    #[inline]
    pub(crate) const fn is_open(&self) -> bool {
        self.signals & (Signal::GateClosed.bit() | DARK) == 0
    }

    #[inline]
    pub(crate) const fn server(&self) -> Server {
        match self.circuit {
            Some(port) => Server::Circuit(port),
            None if self.is_open() => Server::Packet,
            None => Server::None,
        }
    }

    #[inline]
    pub(crate) const fn is_dark(&self) -> bool {
        self.signals & DARK != 0
    }

    /// Says whether the packet network serves anybody.
    pub(crate) fn set_dark(&mut self, dark: bool) {
        self.signals = self.signals() | if dark { DARK } else { 0 };
    }

    #[inline]
    pub(crate) const fn circuit(&self) -> Option<u16> {
        self.circuit
    }

    /// The pair has this circuit from now on. Returns the one that it had.
    #[inline]
    pub(crate) fn set_circuit(&mut self, port: Option<u16>) -> Option<u16> {
        core::mem::replace(&mut self.circuit, port)
    }

    /// Nothing was ever said of it by a week, or all was taken back.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.circuit.is_none() && self.signals() == 0 && self.told == Plane::PACKET
    }

    /// Switches a signal; false if it already was so.
    #[inline]
    pub(crate) fn switch(&mut self, signal: Signal, on: bool) -> bool {
        let before = self.signals;
        if on {
            self.signals |= signal.bit();
        } else {
            self.signals &= !signal.bit();
        }
        self.signals != before
    }

    pub(crate) const fn told(&self) -> Plane {
        self.told
    }

    /// Hosts are told this TDN; false if they know.
    pub(crate) fn tell(&mut self, tdn: Plane) -> bool {
        core::mem::replace(&mut self.told, tdn) != tdn
    }

    /// Takes a packet of so many bytes.
    #[inline]
    pub(crate) fn push<H: Copy>(&mut self, pool: &mut Pool<H>, id: PacketId, bytes: u32) {
        self.bytes += u64::from(bytes);
        self.queue.push(pool, id);
    }

    /// Whether an ECN-capable packet that makes it `len` packets long is to be marked.
    #[inline]
    pub(crate) const fn marks(&self, marking: &Marking, len: u32) -> bool {
        if self.capacity == self.ordinary {
            len > marking.threshold
        } else {
            len > marking.threshold_big
        }
    }

    /// The packet to send next: the oldest of the hold, else the oldest of the queue.
    #[inline]
    pub(crate) fn pop<H: Copy>(&mut self, pool: &Pool<H>) -> Option<(PacketId, Packet<H>)> {
        let queue = if self.hold.is_empty() {
            &mut self.queue
        } else {
            &mut self.hold
        };
        let (id, entry) = queue.take(pool)?;
        let packet = entry.packet;
        self.bytes -= u64::from(packet.bytes);
        Some((id, packet))
    }

    /// A packet that [shrinking](Voqs::shrink) found no room for is dropped.
    pub(crate) fn lose(&mut self, bytes: u32) {
        self.bytes -= u64::from(bytes);
    }
}

/// The VOQs of all rack pairs.
#[derive(Debug)]
pub(crate) struct Voqs {
    /// By [`Pair::index`].
    voqs: Vec<Voq>,
    racks: usize,
    big: Option<u32>,
    hold_capacity: u32,
}

impl Voqs {
    /// Empty VOQs; `config` must have been checked.
    pub(crate) fn new(config: &Rdcn, racks: u16) -> Voqs {
        let racks = usize::from(racks);
        let voq = Voq {
            queue: Queue::new(),
            hold: Queue::new(),
            bytes: 0,
            ordinary: config.voq.packets,
            capacity: 0,
            signals: if config.packet.is_some() { 0 } else { DARK },
            circuit: None,
            told: Plane::PACKET,
        };
        let mut voqs = Voqs {
            voqs: alloc::vec![voq; racks * racks],
            racks,
            big: config.voq.resize.map(|resize| resize.packets),
            hold_capacity: config.packet.map_or(0, |packet| packet.hold_queue),
        };
        for &PairVoq { pair, packets } in &config.voq.pairs {
            voqs.get_mut(pair).ordinary = packets;
        }
        voqs
    }

    #[inline]
    pub(crate) fn get(&self, pair: Pair) -> &Voq {
        &self.voqs[pair.index(self.racks)]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, pair: Pair) -> &mut Voq {
        &mut self.voqs[pair.index(self.racks)]
    }

    /// The pairs of which weeks have said something that holds.
    pub(crate) fn not_at_rest(&self) -> impl Iterator<Item = Pair> {
        let voqs = self.voqs.iter().enumerate();
        let voqs = voqs.filter(|(_, voq)| !voq.is_at_rest());
        voqs.map(|(index, _)| Pair::at(index, self.racks))
    }

    /// The capacity of the pair's VOQ, whether a packet ever came or not.
    pub(crate) fn capacity(&self, pair: Pair) -> u32 {
        let voq = self.get(pair);
        match self.big {
            Some(big) if voq.is_on(Signal::Enlarged) => big.max(voq.ordinary),
            _ => voq.ordinary,
        }
    }

    /// The pair's first packet comes.
    pub(crate) fn open(&mut self, pair: Pair) {
        self.get_mut(pair).capacity = self.capacity(pair);
    }

    /// Takes a packet back that found its internal queue full; false if the hold is full too.
    pub(crate) fn hold<H: Copy>(&mut self, pair: Pair, pool: &mut Pool<H>, id: PacketId) -> bool {
        let capacity = self.hold_capacity;
        let voq = self.get_mut(pair);
        if voq.hold.len() >= capacity {
            return false;
        }
        voq.bytes += u64::from(pool.get(id).packet.bytes);
        voq.hold.push(pool, id);
        true
    }

    /// Gives the pair's VOQ its big capacity; false if it is not resized, being as big by itself.
    pub(crate) fn grow(&mut self, pair: Pair) -> bool {
        let Some(big) = self.big else { return false };
        let voq = self.get_mut(pair);
        let grows = voq.ordinary < big;
        if grows && voq.capacity > 0 {
            voq.capacity = big;
        }
        grows
    }

    /// Gives the pair's VOQ its ordinary capacity again. Returns the packets that it has no room for, which are the
    /// newest; `None` if it is not resized.
    pub(crate) fn shrink<H>(&mut self, pair: Pair, pool: &Pool<H>) -> Option<Queue> {
        let big = self.big?;
        let voq = self.get_mut(pair);
        if voq.ordinary >= big {
            return None;
        }
        voq.capacity = voq.capacity.min(voq.ordinary);
        Some(voq.queue.split_off(pool, voq.ordinary))
    }
}
