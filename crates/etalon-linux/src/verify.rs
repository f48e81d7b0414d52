//! The differential test: every packet that entered the network in the kernel enters the same network outside it, and
//! every event must be the same, at the same nanosecond and in the same order.

use std::cell::RefCell;
use std::collections::VecDeque;

use etalon_driver::record::{Event, Packet};
use etalon_driver::setup::Setup;
use etalon_fabric::{Entering, Fabric};
use etalon_switch::{Departure, DropReason, Network as Carrier, Pair, Probe, Sink};
use etalon_units::{Span, Time};

use crate::network::Network;

/// The network outside the kernel, and what it has done that the kernel's has not yet said.
#[derive(Debug)]
pub(crate) struct Verifier {
    network: Network<Packet>,
    expected: RefCell<VecDeque<(Time, Event)>>,
    packets: u64,
}

impl Verifier {
    pub(crate) fn new(setup: &Setup) -> Result<Verifier, String> {
        Ok(Verifier {
            network: Network::new(setup)?,
            expected: RefCell::default(),
            packets: 0,
        })
    }

    /// Packets that entered so far.
    pub(crate) fn packets(&self) -> u64 {
        self.packets
    }

    /// The kernel says that `event` happened `now`. The error is a sentence: what should have happened instead.
    pub(crate) fn check(&mut self, now: Time, event: Event) -> Result<(), String> {
        match event {
            Event::Entered(packet) => {
                // As the kernel does: what is due at one instant comes before what enters then.
                self.advance(|next| next <= now);
                self.packets += 1;
                let (mut sink, mut probe) = (Said(&self.expected), Said(&self.expected));
                if packet.pair.src == packet.pair.dst {
                    sink.say(now, Event::Left(packet, Carrier::Packet)); // its ToR switch returns it at once
                    return Ok(());
                }
                let entering = Entering {
                    handle: packet,
                    pair: packet.pair,
                    bytes: packet.bytes,
                    ect: packet.ect,
                    pure_ack: is_tcp(&packet) && packet.payload == 0,
                };
                self.network.enqueue(now, entering, &mut sink, &mut probe);
                Ok(())
            }
            Event::End { .. } => {
                self.advance(|next| next < now);
                match self.expected.get_mut().pop_front() {
                    None => Ok(()),
                    Some(other) => Err(self.differ(None, Some(other))),
                }
            }
            Event::Enqueue { .. }
            | Event::Dequeue { .. }
            | Event::Held { .. }
            | Event::Dropped { .. }
            | Event::Marked { .. }
            | Event::Resized { .. }
            | Event::Week { .. }
            | Event::Day { .. }
            | Event::Night { .. }
            | Event::Circuit { .. }
            | Event::Departed { .. }
            | Event::Left(..)
            | Event::Lost(..) => {
                if self.expected.get_mut().is_empty() {
                    self.advance(|next| next <= now);
                }
                match self.expected.get_mut().pop_front() {
                    Some(other) if other == (now, event) => Ok(()),
                    other => Err(self.differ(Some((now, event)), other)),
                }
            }
            _ => Ok(()),
        }
    }

    fn advance(&mut self, due: impl Fn(Time) -> bool) {
        loop {
            let next = self.network.next_event();
            if next == Time::MAX || !due(next) {
                return;
            }
            let (mut sink, mut probe) = (Said(&self.expected), Said(&self.expected));
            self.network.advance(next, &mut sink, &mut probe);
        }
    }

    fn differ(&self, inside: Option<(Time, Event)>, outside: Option<(Time, Event)>) -> String {
        let say = |what: Option<(Time, Event)>| match what {
            None => "nothing".to_owned(),
            Some((time, event)) => format!("at {} ns {event:?}", time.0),
        };
        format!(
            "The network in the kernel differs from the same network outside it, after {} packets: \
             inside {}; outside {}.",
            self.packets,
            say(inside),
            say(outside)
        )
    }
}

/// The log has no numbers of other packets. (Of TCP's, only the first byte of one connection in four thousand million has
/// these, and then no acknowledgement.)
fn is_tcp(packet: &Packet) -> bool {
    packet.flow.is_some() || packet.seq != 0 || packet.ack != 0
}

/// Writes down what the network outside does.
struct Said<'a>(&'a RefCell<VecDeque<(Time, Event)>>);

impl Said<'_> {
    fn say(&self, now: Time, event: Event) {
        self.0.borrow_mut().push_back((now, event));
    }
}

impl Sink<Packet> for Said<'_> {
    fn deliver(&mut self, departure: Departure<Packet>) {
        let packet = Packet {
            ce: departure.ce,
            ece: departure.ece && is_tcp(&departure.handle),
            ..departure.handle
        };
        self.say(departure.time, Event::Left(packet, departure.network));
    }

    fn discard(&mut self, now: Time, packet: Packet, _pair: Pair, reason: DropReason) {
        self.say(now, Event::Lost(packet, reason));
    }
}

impl Probe for Said<'_> {
    fn enqueue(&mut self, now: Time, pair: Pair, len: u32, bytes: u32) {
        self.say(now, Event::Enqueue { pair, len, bytes });
    }

    fn dequeue(&mut self, now: Time, pair: Pair, len: u32, bytes: u32, network: Carrier) {
        let event = Event::Dequeue {
            pair,
            len,
            bytes,
            network,
        };
        self.say(now, event);
    }

    fn held(&mut self, now: Time, pair: Pair, bytes: u32) {
        self.say(now, Event::Held { pair, bytes });
    }

    fn dropped(&mut self, now: Time, pair: Pair, len: u32, bytes: u32, reason: DropReason) {
        let event = Event::Dropped {
            pair,
            len,
            bytes,
            reason,
        };
        self.say(now, event);
    }

    fn marked(&mut self, now: Time, pair: Pair, len: u32) {
        self.say(now, Event::Marked { pair, len });
    }

    fn resized(&mut self, now: Time, pair: Pair, capacity: u32) {
        self.say(now, Event::Resized { pair, capacity });
    }

    fn week(&mut self, now: Time, week: u64) {
        self.say(now, Event::Week { week });
    }

    fn day(&mut self, now: Time, day: u32) {
        self.say(now, Event::Day { day });
    }

    fn night(&mut self, now: Time, day: u32) {
        self.say(now, Event::Night { day });
    }

    fn circuit(&mut self, now: Time, pair: Pair, up: bool) {
        self.say(now, Event::Circuit { pair, up });
    }

    fn departed(&mut self, now: Time, pair: Pair, bytes: u32, latency: Span, network: Carrier) {
        let event = Event::Departed {
            pair,
            bytes,
            latency,
            network,
        };
        self.say(now, event);
    }
}
