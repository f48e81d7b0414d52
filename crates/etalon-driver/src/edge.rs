//! Where the network meets the kernel: packets on their way, and what becomes of them.

use alloc::vec::Vec;

use etalon_fabric::Entering;
use etalon_switch::{Departure, DropReason, Network, Pair, Probe, Sink};
use etalon_units::{Span, Time};

use crate::record::{Event, Packet, Record};
use crate::setup::Capture;

/// What a driver needs of the kernel that it is in.
///
/// No call may lead to another call of the driver before it has returned.
pub trait Environment {
    /// Appends a record to the log.
    fn log(&self, record: &Record);

    /// Appends a [`Bytes`](Event::Bytes) record and the first `snap` bytes, from the IP header on, of a packet.
    fn capture(&self, now: Time, handle: u64, snap: u16);

    /// The network marks a packet: CE in its IP header, ECE in its TCP header.
    fn mark(&self, handle: u64, ce: bool, ece: bool);

    /// A packet reaches `host`.
    fn deliver(&self, handle: u64, host: u32);

    /// A packet is no more.
    fn discard(&self, handle: u64);

    /// The NIC of `host` is done with a packet, and takes the next.
    fn nic_free(&self, handle: u64, host: u32);

    /// Measurement begins or ends.
    fn milestone(&self, milestone: Milestone);
}

/// Instants that the whole experiment hears of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Milestone {
    /// The warm-up is over.
    Begin,
    /// The experiment is over.
    End,
}

/// A packet that a host sends.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sent {
    /// Whatever the kernel knows the packet by.
    pub handle: u64,
    /// The receiving host.
    pub dst: u32,
    /// Length on the wire in bytes.
    pub bytes: u32,
    /// The IP header allows CE.
    pub ect: bool,
    /// It is a TCP segment. If not, ports, numbers and payload have no meaning.
    pub tcp: bool,
    /// TCP's source and destination port.
    pub ports: (u16, u16),
    /// TCP sequence number.
    pub seq: u32,
    /// TCP acknowledgement number.
    pub ack: u32,
    /// TCP payload in bytes.
    pub payload: u16,
    /// State of the sending socket; none if there is no such socket.
    pub socket: Option<Socket>,
}

/// What is followed of a sending socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Socket {
    /// Congestion window in packets.
    pub cwnd: u32,
    /// Slow start threshold in packets.
    pub ssthresh: u32,
    /// Smoothed round trip time in microseconds.
    pub srtt_us: u32,
}

/// A packet's place among those on their way.
pub(crate) type Slot = u32;

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlight {
    pub(crate) handle: u64,
    /// The receiving host.
    pub(crate) dst: u32,
    pub(crate) tcp: bool,
    pub(crate) packet: Packet,
}

/// All packets on their way. Places are used again, last out first in.
#[derive(Debug)]
pub(crate) struct Edge {
    packets: Vec<InFlight>,
    free: Vec<Slot>,
    capture: Option<Capture>,
}

impl Edge {
    pub(crate) fn new(capture: Option<Capture>) -> Edge {
        Edge {
            packets: Vec::new(),
            free: Vec::new(),
            capture,
        }
    }

    #[inline]
    pub(crate) fn insert(&mut self, packet: InFlight) -> Slot {
        match self.free.pop() {
            Some(slot) => {
                self.packets[slot as usize] = packet;
                slot
            }
            None => {
                self.packets.push(packet);
                (self.packets.len() - 1) as Slot
            }
        }
    }

    /// A packet comes to the network from its host.
    #[inline]
    pub(crate) fn enter<E: Environment>(&self, now: Time, slot: Slot, env: &E) -> Entering<Slot> {
        let InFlight {
            handle,
            tcp,
            packet,
            ..
        } = self.packets[slot as usize];
        self.log(now, handle, Event::Entered(packet), env);
        Entering {
            handle: slot,
            pair: packet.pair,
            bytes: packet.bytes,
            ect: packet.ect,
            pure_ack: tcp && packet.payload == 0,
        }
    }

    #[inline]
    fn log<E: Environment>(&self, now: Time, handle: u64, event: Event, env: &E) {
        env.log(&event.at(now));
        if let Some(capture) = self.capture {
            if capture.has(now) {
                env.capture(now, handle, capture.snap);
            }
        }
    }
}

/// The edge in its kernel: takes what leaves the network.
pub(crate) struct Outside<'a, E> {
    pub(crate) edge: &'a mut Edge,
    pub(crate) env: &'a E,
}

impl<E: Environment> Sink<Slot> for Outside<'_, E> {
    #[inline]
    fn deliver(&mut self, departure: Departure<Slot>) {
        let slot = departure.handle;
        let InFlight {
            handle,
            dst,
            tcp,
            mut packet,
        } = self.edge.packets[slot as usize];
        packet.ce = departure.ce;
        packet.ece = departure.ece && tcp;
        if packet.ce || packet.ece {
            self.env.mark(handle, packet.ce, packet.ece);
        }
        let event = Event::Left(packet, departure.network);
        self.edge.log(departure.time, handle, event, self.env);
        self.env.deliver(handle, dst);
        self.edge.free.push(slot);
    }

    fn discard(&mut self, now: Time, slot: Slot, _pair: Pair, reason: DropReason) {
        let InFlight { handle, packet, .. } = self.edge.packets[slot as usize];
        self.edge
            .log(now, handle, Event::Lost(packet, reason), self.env);
        self.env.discard(handle);
        self.edge.free.push(slot);
    }
}

/// Writes down what the network does.
pub(crate) struct Log<'a, E>(pub(crate) &'a E);

impl<E: Environment> Log<'_, E> {
    #[inline]
    fn write(&self, now: Time, event: Event) {
        self.0.log(&event.at(now));
    }
}

impl<E: Environment> Probe for Log<'_, E> {
    #[inline]
    fn enqueue(&mut self, now: Time, pair: Pair, len: u32, bytes: u32) {
        self.write(now, Event::Enqueue { pair, len, bytes });
    }

    #[inline]
    fn dequeue(&mut self, now: Time, pair: Pair, len: u32, bytes: u32, network: Network) {
        let event = Event::Dequeue {
            pair,
            len,
            bytes,
            network,
        };
        self.write(now, event);
    }

    fn held(&mut self, now: Time, pair: Pair, bytes: u32) {
        self.write(now, Event::Held { pair, bytes });
    }

    fn dropped(&mut self, now: Time, pair: Pair, len: u32, bytes: u32, reason: DropReason) {
        let event = Event::Dropped {
            pair,
            len,
            bytes,
            reason,
        };
        self.write(now, event);
    }

    fn marked(&mut self, now: Time, pair: Pair, len: u32) {
        self.write(now, Event::Marked { pair, len });
    }

    fn resized(&mut self, now: Time, pair: Pair, capacity: u32) {
        self.write(now, Event::Resized { pair, capacity });
    }

    fn week(&mut self, now: Time, week: u64) {
        self.write(now, Event::Week { week });
    }

    fn day(&mut self, now: Time, day: u32) {
        self.write(now, Event::Day { day });
    }

    fn night(&mut self, now: Time, day: u32) {
        self.write(now, Event::Night { day });
    }

    fn circuit(&mut self, now: Time, pair: Pair, up: bool) {
        self.write(now, Event::Circuit { pair, up });
    }

    #[inline]
    fn departed(&mut self, now: Time, pair: Pair, bytes: u32, latency: Span, network: Network) {
        let event = Event::Departed {
            pair,
            bytes,
            latency,
            network,
        };
        self.write(now, event);
    }
}
