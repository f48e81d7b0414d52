//! What lies between hosts: the hybrid switch, or a plain chain of queues.

use etalon_switch::{Arrival, Departure, Network, Pair, Probe, Sink, Switch};
use etalon_units::{Span, Time};

use crate::fifo::Fifo;
use crate::packet::{Packet, PacketId};

/// What a network needs to know of a packet that enters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entering {
    pub(crate) id: PacketId,
    pub(crate) pair: Pair,
    /// On the wire.
    pub(crate) bytes: u32,
    pub(crate) ect: bool,
    /// Without payload.
    pub(crate) pure_ack: bool,
}

impl Entering {
    #[inline]
    pub(crate) fn of(id: PacketId, packet: &Packet) -> Entering {
        Entering {
            id,
            pair: packet.pair,
            bytes: packet.bytes,
            ect: packet.segment.ect,
            pure_ack: packet.segment.len == 0,
        }
    }
}

/// A network that takes packets from hosts and returns them to hosts through a [`Sink`].
pub(crate) trait Fabric {
    /// A packet enters. All events up to `now` have been done.
    fn enqueue<S: Sink<PacketId>, P: Probe>(
        &mut self,
        now: Time,
        packet: Entering,
        sink: &mut S,
        probe: &mut P,
    );

    /// The next instant at which something happens inside.
    fn next_event(&self) -> Time;

    /// Does all that is due at `now`.
    fn advance<S: Sink<PacketId>, P: Probe>(&mut self, now: Time, sink: &mut S, probe: &mut P);
}

/// The hybrid switch, and beside it a way around it for acknowledgements if the plan asks for one.
pub(crate) struct Hybrid {
    pub(crate) switch: Switch<PacketId>,
    pub(crate) bypass: Option<Span>,
    pub(crate) around: Fifo<(Time, Entering)>,
}

impl Fabric for Hybrid {
    #[inline]
    fn enqueue<S: Sink<PacketId>, P: Probe>(
        &mut self,
        now: Time,
        packet: Entering,
        sink: &mut S,
        probe: &mut P,
    ) {
        if let (Some(delay), true) = (self.bypass, packet.pure_ack) {
            self.around.push_back((now + delay, packet));
            return;
        }
        let arrival = Arrival {
            handle: packet.id,
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
    fn advance<S: Sink<PacketId>, P: Probe>(&mut self, now: Time, sink: &mut S, probe: &mut P) {
        self.switch.advance(now, sink, probe);
        while let Some(&(time, packet)) = self.around.front() {
            if time > now {
                break;
            }
            self.around.pop_front();
            let opposite = Pair {
                src: packet.pair.dst,
                dst: packet.pair.src,
            };
            sink.deliver(Departure {
                handle: packet.id,
                pair: packet.pair,
                time,
                latency: self.bypass.unwrap_or_default(),
                network: Network::Packet,
                bytes: packet.bytes,
                ce: false,
                ece: self.switch.announces(opposite),
            });
        }
    }
}
