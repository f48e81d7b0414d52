// SPDX-License-Identifier: MIT OR Apache-2.0
//! A way around a network for packets without payload, which has no queue: where circuits lead one way only.

use etalon_queues::Fifo;
use etalon_switch::Packet;
use etalon_units::{Span, Time};

/// The way, and the packets on it.
#[derive(Debug)]
pub(crate) struct Around<H> {
    /// From ToR switch to ToR switch; none if there is no such way.
    delay: Option<Span>,
    packets: Fifo<(Time, Packet<H>)>,
    /// When the first packet arrives.
    next: Time,
}

impl<H: Copy> Around<H> {
    pub(crate) fn new(delay: Option<Span>) -> Around<H> {
        Around {
            delay,
            packets: Fifo::default(),
            next: Time::MAX,
        }
    }

    /// How long it takes, if there is one.
    #[inline]
    pub(crate) fn delay(&self) -> Option<Span> {
        self.delay
    }

    /// A packet takes it.
    #[inline]
    pub(crate) fn push(&mut self, arrival: Time, packet: Packet<H>) {
        self.packets.push_back((arrival, packet));
        self.next = self.next.min(arrival);
    }

    /// When the first packet arrives, [`Time::MAX`] if there is none.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Takes the first packet that has arrived by `now`, with the time at which it did.
    pub(crate) fn take(&mut self, now: Time) -> Option<(Time, Packet<H>)> {
        let first = *self.packets.front().filter(|first| first.0 <= now)?;
        self.next = self.packets.drop_front().map_or(Time::MAX, |next| next.0);
        Some(first)
    }
}
