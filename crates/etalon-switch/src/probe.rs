//! What comes out of a switch: packets to a sink, events to a probe.

use etalon_units::{Span, Time};

/// A rack pair: source and destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// The sending rack.
    pub src: u16,
    /// The receiving rack.
    pub dst: u16,
}

/// One of the two networks between racks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Network {
    /// The packet network.
    Packet,
    /// The circuit network.
    Circuit,
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// The VOQ was full.
    VoqFull,
    /// The VOQ shrank below the packet's place.
    Shrunk,
    /// The packet found its internal queue and its hold full.
    HoldFull,
}

/// A packet that leaves the switch towards a host of rack `pair.dst`.
#[derive(Clone, Copy, Debug)]
pub struct Departure<H> {
    /// The handle that the packet was enqueued with.
    pub handle: H,
    /// Source and destination rack.
    pub pair: Pair,
    /// When it leaves.
    pub time: Time,
    /// From entering the switch to leaving it.
    pub latency: Span,
    /// The network that carried it.
    pub network: Network,
    /// Length on the wire in bytes.
    pub bytes: u32,
    /// The switch marked it: set CE in the IP header.
    pub ce: bool,
    /// A circuit for the opposite direction is up or near: set ECE in the TCP header.
    pub ece: bool,
}

/// Takes the packets that leave the switch, one way or the other. Each handle comes out exactly once.
pub trait Sink<H> {
    /// A packet leaves towards its host.
    fn deliver(&mut self, departure: Departure<H>);

    /// A packet is dropped.
    fn discard(&mut self, now: Time, handle: H, pair: Pair, reason: DropReason);

    /// A packet left its VOQ, or its hold, and its transmission starts: what a demand estimator counts down by. A packet that
    /// was [held](Probe::held) is dequeued once more.
    #[inline]
    fn dequeued(&mut self, now: Time, handle: H) {
        let _ = (now, handle);
    }

    /// The network that new packets from `pair.src` to `pair.dst` will use changes (a day of the pair starts or ends):
    /// the place of TDTCP's notification.
    fn network_changed(&mut self, now: Time, pair: Pair, network: Network) {
        let _ = (now, pair, network);
    }
}

/// Observes the switch. Every method does nothing unless overridden, so that `()` costs nothing.
///
/// Times never decrease from one call to the next, except that [`Sink`] and [`Probe`] calls of one instant come in the
/// order in which the switch does its work.
pub trait Probe {
    /// A packet of `bytes` joined the VOQ of `pair`, which now holds `len` packets.
    #[inline]
    fn enqueue(&mut self, now: Time, pair: Pair, len: u32, bytes: u32) {
        let _ = (now, pair, len, bytes);
    }

    /// A packet left the VOQ of `pair`, or its hold, and its transmission on `network` starts; the VOQ now holds `len`
    /// packets. A packet that was [held](Probe::held) is dequeued once more.
    #[inline]
    fn dequeue(&mut self, now: Time, pair: Pair, len: u32, bytes: u32, network: Network) {
        let _ = (now, pair, len, bytes, network);
    }

    /// A packet of `pair` found its internal queue in the packet network full, and is held at its VOQ.
    #[inline]
    fn held(&mut self, now: Time, pair: Pair, bytes: u32) {
        let _ = (now, pair, bytes);
    }

    /// A packet of `pair` was dropped; its VOQ now holds `len` packets.
    #[inline]
    fn dropped(&mut self, now: Time, pair: Pair, len: u32, bytes: u32, reason: DropReason) {
        let _ = (now, pair, len, bytes, reason);
    }

    /// A packet of `pair` was marked CE on joining a VOQ that now holds `len` packets.
    #[inline]
    fn marked(&mut self, now: Time, pair: Pair, len: u32) {
        let _ = (now, pair, len);
    }

    /// The VOQ of `pair` now has room for `capacity` packets.
    #[inline]
    fn resized(&mut self, now: Time, pair: Pair, capacity: u32) {
        let _ = (now, pair, capacity);
    }

    /// A week starts, number `week` from 0.
    #[inline]
    fn week(&mut self, now: Time, week: u64) {
        let _ = (now, week);
    }

    /// Day `day` (from 0) of the week starts.
    #[inline]
    fn day(&mut self, now: Time, day: u32) {
        let _ = (now, day);
    }

    /// Day `day` of the week ends: its night starts.
    #[inline]
    fn night(&mut self, now: Time, day: u32) {
        let _ = (now, day);
    }

    /// A circuit for `pair` comes up (`true`) or goes down.
    #[inline]
    fn circuit(&mut self, now: Time, pair: Pair, up: bool) {
        let _ = (now, pair, up);
    }

    /// A packet left the switch after `latency`, carried by `network`.
    #[inline]
    fn departed(&mut self, now: Time, pair: Pair, bytes: u32, latency: Span, network: Network) {
        let _ = (now, pair, bytes, latency, network);
    }
}

impl Probe for () {}
