//! What lies between hosts: the hybrid switch, or a plain chain of queues.

use etalon_switch::{Arrival, Departure, Pair, Plane, Probe, QueueId, Sink, Switch};
use etalon_units::{Span, Time};

use crate::fifo::Fifo;

/// What a network needs to know of a packet that enters.
#[derive(Clone, Copy, Debug)]
pub struct Entering<H> {
    /// Whatever stands for the packet outside.
    pub handle: H,
    /// Source and destination rack.
    pub pair: Pair,
    /// Length on the wire in bytes.
    pub bytes: u32,
    /// Its IP header allows CE marking.
    pub ect: bool,
    /// It has no payload.
    pub pure_ack: bool,
}

/// A network that takes packets from hosts and returns them to hosts through a [`Sink`].
pub trait Fabric<H> {
    /// A packet enters. All events up to `now` have been done.
    fn enqueue<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        packet: Entering<H>,
        sink: &mut S,
        probe: &mut P,
    );

    /// The next instant at which something happens inside, [`Time::MAX`] if nothing will.
    fn next_event(&self) -> Time;

    /// No packet is delivered before this, unless one enters; not before [`Fabric::next_event`].
    fn next_departure(&self) -> Time;

    /// No packet is delivered sooner than this after it entered.
    fn shortest_passage(&self) -> Span;

    /// Does all that is due at `now`.
    fn advance<S: Sink<H>, P: Probe>(&mut self, now: Time, sink: &mut S, probe: &mut P);
}

/// The hybrid switch, and beside it, if wanted, a way around it for acknowledgements.
#[derive(Debug)]
pub struct Hybrid<H> {
    switch: Switch<H>,
    bypass: Option<Span>,
    around: Fifo<(Time, Entering<H>)>,
}

impl<H: Copy> Hybrid<H> {
    /// The switch.
    #[must_use]
    pub fn switch(&self) -> &Switch<H> {
        &self.switch
    }

    /// The switch, to adopt a schedule.
    pub fn switch_mut(&mut self) -> &mut Switch<H> {
        &mut self.switch
    }

    /// Around `switch`, packets without payload take `bypass` instead of entering it, and no queue; if none, they enter it as
    /// others do. They are marked with ECE all the same.
    #[must_use]
    pub fn new(switch: Switch<H>, bypass: Option<Span>) -> Hybrid<H> {
        Hybrid {
            switch,
            bypass,
            around: Fifo::default(),
        }
    }
}

impl<H: Copy> Fabric<H> for Hybrid<H> {
    #[inline]
    fn enqueue<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        packet: Entering<H>,
        sink: &mut S,
        probe: &mut P,
    ) {
        if let (Some(delay), true) = (self.bypass, packet.pure_ack) {
            self.around.push_back((now + delay, packet));
            return;
        }
        let arrival = Arrival {
            handle: packet.handle,
            pair: packet.pair,
            bytes: packet.bytes,
            ect: packet.ect,
        };
        self.switch.enqueue(now, arrival, sink, probe);
    }

    #[inline]
    fn next_event(&self) -> Time {
        let around = self.around.front().map_or(Time::MAX, |entry| entry.0);
        self.switch.next_event().min(around)
    }

    #[inline]
    fn next_departure(&self) -> Time {
        let around = self.around.front().map_or(Time::MAX, |entry| entry.0);
        self.switch.next_departure().min(around)
    }

    #[inline]
    fn shortest_passage(&self) -> Span {
        let through = self.switch.shortest_passage();
        self.bypass.map_or(through, |around| around.min(through))
    }

    #[inline]
    fn advance<S: Sink<H>, P: Probe>(&mut self, now: Time, sink: &mut S, probe: &mut P) {
        self.switch.advance(now, sink, probe);
        while let Some(&(time, packet)) = self.around.front() {
            if time > now {
                break;
            }
            self.around.pop_front();
            sink.deliver(Departure {
                handle: packet.handle,
                pair: packet.pair,
                time,
                latency: self.bypass.unwrap_or_default(),
                queue: QueueId::voq(packet.pair),
                plane: Plane::PACKET,
                ce: false,
                ece: self.switch.announces(packet.pair.opposite()),
            });
        }
    }
}
