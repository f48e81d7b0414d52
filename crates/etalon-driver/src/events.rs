//! What the network does, in the words of the log.

use etalon_switch::{DropReason, Network, Pair, Probe};
use etalon_units::{Span, Time};

use crate::record::Event;

/// A probe that gives what the network does as the log's events.
#[derive(Clone, Copy, Debug)]
pub struct Events<F>(pub F);

impl<F: FnMut(Time, Event)> Probe for Events<F> {
    #[inline]
    fn enqueue(&mut self, now: Time, pair: Pair, len: u32, bytes: u32) {
        (self.0)(now, Event::Enqueue { pair, len, bytes });
    }

    #[inline]
    fn dequeue(&mut self, now: Time, pair: Pair, len: u32, bytes: u32, network: Network) {
        (self.0)(
            now,
            Event::Dequeue {
                pair,
                len,
                bytes,
                network,
            },
        );
    }

    fn held(&mut self, now: Time, pair: Pair, bytes: u32) {
        (self.0)(now, Event::Held { pair, bytes });
    }

    fn dropped(&mut self, now: Time, pair: Pair, len: u32, bytes: u32, reason: DropReason) {
        (self.0)(
            now,
            Event::Dropped {
                pair,
                len,
                bytes,
                reason,
            },
        );
    }

    fn marked(&mut self, now: Time, pair: Pair, len: u32) {
        (self.0)(now, Event::Marked { pair, len });
    }

    fn resized(&mut self, now: Time, pair: Pair, capacity: u32) {
        (self.0)(now, Event::Resized { pair, capacity });
    }

    fn week(&mut self, now: Time, week: u64) {
        (self.0)(now, Event::Week { week });
    }

    fn day(&mut self, now: Time, day: u32) {
        (self.0)(now, Event::Day { day });
    }

    fn night(&mut self, now: Time, day: u32) {
        (self.0)(now, Event::Night { day });
    }

    fn circuit(&mut self, now: Time, pair: Pair, up: bool) {
        (self.0)(now, Event::Circuit { pair, up });
    }

    #[inline]
    fn departed(&mut self, now: Time, pair: Pair, bytes: u32, latency: Span, network: Network) {
        (self.0)(
            now,
            Event::Departed {
                pair,
                bytes,
                latency,
                network,
            },
        );
    }
}
