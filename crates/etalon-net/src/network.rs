//! What lies between racks: a kind of network, and the choice of one.

use etalon_switch::{Pair, Probe, Sink, Switch};
use etalon_units::{Span, Time};

use crate::chain::Chain;
use crate::hybrid::Hybrid;

/// A host: its rack, and its number there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId {
    /// Its rack.
    pub rack: u16,
    /// Its number in the rack, from 0.
    pub number: u16,
}

/// What a network needs to know of a packet that enters.
#[derive(Clone, Copy, Debug)]
pub struct Packet<H> {
    /// Whatever stands for the packet outside.
    pub handle: H,
    /// The sending host.
    pub src: HostId,
    /// The receiving host.
    pub dst: HostId,
    /// Length on the wire in bytes.
    pub bytes: u32,
    /// Its IP header allows CE marking.
    pub ect: bool,
    /// It has no payload.
    pub pure_ack: bool,
}

impl<H> Packet<H> {
    /// Source and destination rack.
    #[must_use]
    #[inline]
    pub fn pair(&self) -> Pair {
        Pair {
            src: self.src.rack,
            dst: self.dst.rack,
        }
    }
}

/// A kind of network between racks. It takes packets at ToR switches and returns them at ToR switches, through a [`Sink`].
pub trait Network<H: Copy> {
    /// A packet enters. All that is due up to `now` has been done.
    fn enqueue<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        packet: Packet<H>,
        sink: &mut S,
        probe: &mut P,
    );

    /// The next instant at which something happens inside, [`Time::MAX`] if nothing will.
    fn next_event(&self) -> Time;

    /// No packet is delivered before this, unless one enters; not before [`Network::next_event`].
    fn next_departure(&self) -> Time;

    /// No packet is delivered sooner than this after it entered.
    fn shortest_passage(&self) -> Span;

    /// Does all that is due at `now`.
    fn advance<S: Sink<H>, P: Probe>(&mut self, now: Time, sink: &mut S, probe: &mut P);

    /// The switch that adopts weeks; none if it has none.
    fn switch(&self) -> Option<&Switch<H>> {
        None
    }

    /// As [`Network::switch`], to adopt a week.
    fn switch_mut(&mut self) -> Option<&mut Switch<H>> {
        None
    }
}

/// A network of any kind.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // there is one
pub enum AnyNetwork<H> {
    /// The hybrid switch.
    Hybrid(Hybrid<H>),
    /// Queues in a row.
    Chain(Chain<H>),
}

/// Calls the method of whichever network it is.
macro_rules! of_either {
    ($network:expr, $n:ident => $call:expr) => {
        match $network {
            AnyNetwork::Hybrid($n) => $call,
            AnyNetwork::Chain($n) => $call,
        }
    };
}

impl<H: Copy> Network<H> for AnyNetwork<H> {
    #[inline]
    fn enqueue<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        packet: Packet<H>,
        sink: &mut S,
        probe: &mut P,
    ) {
        of_either!(self, n => n.enqueue(now, packet, sink, probe));
    }

    #[inline]
    fn next_event(&self) -> Time {
        of_either!(self, n => n.next_event())
    }

    #[inline]
    fn next_departure(&self) -> Time {
        of_either!(self, n => n.next_departure())
    }

    #[inline]
    fn shortest_passage(&self) -> Span {
        of_either!(self, n => n.shortest_passage())
    }

    #[inline]
    fn advance<S: Sink<H>, P: Probe>(&mut self, now: Time, sink: &mut S, probe: &mut P) {
        of_either!(self, n => n.advance(now, sink, probe));
    }

    #[inline]
    fn switch(&self) -> Option<&Switch<H>> {
        of_either!(self, n => n.switch())
    }

    #[inline]
    fn switch_mut(&mut self) -> Option<&mut Switch<H>> {
        of_either!(self, n => n.switch_mut())
    }
}
