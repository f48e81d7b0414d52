// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the network meets the kernel: packets on their way, and what becomes of them.

use alloc::vec::Vec;
use core::fmt;
use core::num::NonZero;

use etalon_events::{Event, PacketHeader, Record};
use etalon_net::{Arrival, Delivery, Edge, Milestone, Part};
use etalon_scenario::Capture;
use etalon_switch::{Class, DropReason, Plane};
use etalon_units::Time;

/// What a driver needs of the kernel that it is in.
///
/// No call may lead to another call of the driver before it has returned.
pub trait Kernel {
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

    /// A packet by which the ToR switch tells `host` that network `tdn` leads to the hosts of `rack` from now on, or soon; none
    /// without memory. It is delivered at once.
    fn notification(&self, host: u32, rack: u16, tdn: u8) -> Option<NonZero<u64>>;

    /// Measurement begins or ends.
    fn milestone(&self, now: Time, milestone: Milestone);

    /// Appends a record that is a question to who decides outside of the kernel, has the log written out, and waits for the
    /// answer, for which no time passes.
    fn ask(&self, question: &Record) -> Vec<u8>;

    /// Flow `flow`, which the plan does not list, connects.
    fn open(&self, flow: u32);

    /// So many bytes more are written into a stream of such a flow: number 2n from flow n's client, 2n + 1 from its server.
    fn write(&self, stream: u32, bytes: u64);

    /// The client of such a flow writes no more.
    fn close(&self, flow: u32);

    /// The circuits that a program asked for are up; so many of them changed.
    fn granted(&self, claim: u32, changed: u32);

    /// The run cannot go on: appends a [`Failure`](Event::Failure) record with a sentence that says why, and has the log
    /// written out.
    fn fail(&self, now: Time, sentence: fmt::Arguments<'_>);
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
    /// It is a datagram of UDP, or a fragment of one: ports and payload have a meaning.
    pub udp: bool,
    /// It is a TCP segment. If not, what follows has no other meaning.
    pub tcp: bool,
    /// TCP's SYN flag.
    pub syn: bool,
    /// TCP's FIN flag.
    pub fin: bool,
    /// TCP's RST flag.
    pub rst: bool,
    /// TCP's or UDP's source and destination port.
    pub ports: (u16, u16),
    /// TCP sequence number.
    pub seq: u32,
    /// TCP acknowledgement number.
    pub ack: u32,
    /// TCP or UDP payload in bytes.
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
struct InFlight {
    handle: u64,
    /// Number of the receiving host.
    to: u32,
    tcp: bool,
    packet: PacketHeader,
    part: Option<Part>,
}

impl InFlight {
    fn is_in_rack(&self) -> bool {
        self.packet.src.rack() == self.packet.dst.rack()
    }

    /// What the network needs to know of it.
    #[inline]
    fn outline(&self, slot: Slot) -> Arrival<Slot> {
        Arrival {
            packet: etalon_net::Packet {
                handle: slot,
                src: self.packet.src,
                dst: self.packet.dst,
                bytes: self.packet.bytes,
            },
            ect: self.packet.ect,
            pure_ack: self.tcp && self.packet.payload == 0,
            class: Class::default(),
            label: self.packet.label(),
        }
    }
}

/// All packets on their way. Places are used again, last out first in.
#[derive(Debug)]
pub(crate) struct Packets {
    packets: Vec<InFlight>,
    free: Vec<Slot>,
    capture: Option<Capture>,
    /// How many have not reached their ToR switch, and will stay in its rack.
    in_rack: u32,
}

impl Packets {
    pub(crate) fn new(capture: Option<Capture>) -> Packets {
        Packets {
            packets: Vec::new(),
            free: Vec::new(),
            capture,
            in_rack: 0,
        }
    }

    /// Whether a packet is on its way to a ToR switch that will give it to another host at once.
    pub(crate) fn any_in_rack(&self) -> bool {
        self.in_rack > 0
    }

    /// A packet that was sent, and what it carries of a stream.
    #[inline]
    pub(crate) fn insert(&mut self, sent: &Sent, packet: PacketHeader, part: Option<Part>) -> Slot {
        let packet = InFlight {
            handle: sent.handle,
            to: sent.dst,
            tcp: sent.tcp,
            packet,
            part,
        };
        self.in_rack += u32::from(packet.is_in_rack());
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

    #[inline]
    fn log<E: Kernel>(&self, now: Time, handle: u64, event: Event, env: &E) {
        env.log(&event.at(now));
        self.capture(now, handle, env);
    }

    #[inline]
    fn capture<E: Kernel>(&self, now: Time, handle: u64, env: &E) {
        if let Some(capture) = self.capture {
            if capture.has(now) {
                env.capture(now, handle, capture.snap);
            }
        }
    }
}

/// The packets in their kernel.
pub(crate) struct Inside<'a, E> {
    pub(crate) packets: &'a mut Packets,
    pub(crate) env: &'a E,
}

impl<E: Kernel> etalon_net::Environment<Slot> for Inside<'_, E> {
    #[inline]
    fn enter(&mut self, now: Time, slot: Slot) -> Arrival<Slot> {
        let entering = self.packets.packets[slot as usize];
        let InFlight { handle, packet, .. } = entering;
        self.packets.in_rack -= u32::from(entering.is_in_rack());
        self.packets
            .log(now, handle, Event::Entered { packet }, self.env);
        entering.outline(slot)
    }

    #[inline]
    fn deliver(&mut self, delivery: Delivery<Slot>, edge: &mut Edge<Slot>) {
        let slot = delivery.handle;
        if delivery.trimmed {
            // Linux TCP has no use for a header alone.
            return self.discard(delivery.time, slot, DropReason::Full, edge);
        }
        let InFlight {
            handle,
            to,
            tcp,
            mut packet,
            ..
        } = self.packets.packets[slot as usize];
        packet.ce = delivery.ce;
        packet.ece = delivery.ece && tcp;
        if packet.ce || packet.ece {
            self.env.mark(handle, packet.ce, packet.ece);
        }
        let event = Event::Left {
            packet,
            plane: delivery.plane,
        };
        self.packets.log(delivery.time, handle, event, self.env);
        self.env.deliver(handle, to);
        self.packets.free.push(slot);
    }

    fn discard(&mut self, now: Time, slot: Slot, reason: DropReason, _edge: &mut Edge<Slot>) {
        let InFlight { handle, packet, .. } = self.packets.packets[slot as usize];
        self.packets
            .log(now, handle, Event::Lost { packet, reason }, self.env);
        self.env.discard(handle);
        self.packets.free.push(slot);
    }

    #[inline]
    fn part(&mut self, slot: Slot) -> Option<Part> {
        self.packets.packets[slot as usize].part
    }

    fn notified(&mut self, now: Time, host: u32, rack: u16, tdn: Plane, _edge: &mut Edge<Slot>) {
        // Without one it is as if it had been lost.
        if let Some(handle) = self.env.notification(host, rack, tdn.0) {
            self.packets.capture(now, handle.get(), self.env);
            self.env.deliver(handle.get(), host);
        }
    }

    #[inline]
    fn nic_free(&mut self, host: u32, slot: Slot) {
        self.env
            .nic_free(self.packets.packets[slot as usize].handle, host);
    }
}
