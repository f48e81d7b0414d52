//! Where the network meets the kernel: packets on their way, and what becomes of them.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use etalon_events::{Event, Packet, Record};
use etalon_fabric::Entering;
use etalon_switch::{Departure, DropReason, Pair, Sink};
use etalon_units::Time;

use crate::accounts::Accounts;
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
    fn milestone(&self, now: Time, milestone: Milestone);

    /// The run cannot go on: appends a [`Failure`](Event::Failure) record with a sentence that says why, and has the log
    /// written out.
    fn fail(&self, now: Time, sentence: fmt::Arguments<'_>);
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
    /// It is a TCP segment. If not, what follows has no meaning.
    pub tcp: bool,
    /// TCP's SYN flag.
    pub syn: bool,
    /// TCP's FIN flag.
    pub fin: bool,
    /// TCP's RST flag.
    pub rst: bool,
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
    /// Where demand is known from hosts.
    pub(crate) accounts: Option<Box<Accounts>>,
}

impl Edge {
    pub(crate) fn new(capture: Option<Capture>, accounts: Option<Accounts>) -> Edge {
        Edge {
            packets: Vec::new(),
            free: Vec::new(),
            capture,
            accounts: accounts.map(Box::new),
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
        self.log(now, handle, Event::Entered { packet }, env);
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
        let event = Event::Left {
            packet,
            plane: departure.plane,
        };
        self.edge.log(departure.time, handle, event, self.env);
        self.env.deliver(handle, dst);
        if let Some(accounts) = &mut self.edge.accounts {
            accounts.delivered(departure.time, slot);
        }
        self.edge.free.push(slot);
    }

    #[inline]
    fn dequeued(&mut self, now: Time, slot: Slot) {
        if let Some(accounts) = &mut self.edge.accounts {
            accounts.dequeued(now, slot);
        }
    }

    fn discard(&mut self, now: Time, slot: Slot, _pair: Pair, reason: DropReason) {
        let InFlight { handle, packet, .. } = self.edge.packets[slot as usize];
        self.edge
            .log(now, handle, Event::Lost { packet, reason }, self.env);
        self.env.discard(handle);
        if let Some(accounts) = &mut self.edge.accounts {
            accounts.landed(now, slot);
        }
        self.edge.free.push(slot);
    }
}
