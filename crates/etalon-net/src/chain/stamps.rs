// SPDX-License-Identifier: MIT OR Apache-2.0
//! Telemetry of a chain's queues. A packet's way is known when it enters, but what is behind it in a queue when it leaves that only later: so
//! that is counted when it comes out. Only where somebody wants it.

use alloc::collections::VecDeque;

use etalon_switch::{QueueId, Transmission};
use etalon_units::{Rate, Time};

/// A packet in a queue.
#[derive(Clone, Copy, Debug)]
struct Passed {
    joined: Time,
    /// When its transmission begins.
    starts: Time,
    bytes: u32,
    /// A later queue has no room for it.
    is_lost: bool,
}

/// The packets of one queue that are in it or behind it, but not out of the chain.
#[derive(Debug, Default)]
pub(super) struct Stamps {
    passed: VecDeque<Passed>,
    /// Bytes that were transmitted before the first of them.
    sent: u64,
}

impl Stamps {
    /// A packet joins the queue, and has left it at `until`.
    pub(super) fn join(&mut self, joined: Time, until: Time, bytes: u32, rate: Rate) {
        self.passed.push_back(Passed {
            joined,
            starts: Time(until.0.saturating_sub(rate.span_of(u64::from(bytes)).0)),
            bytes,
            is_lost: false,
        });
    }

    /// A later queue has no room for the packet that joined last.
    pub(super) fn lose(&mut self) {
        if let Some(last) = self.passed.back_mut() {
            last.is_lost = true;
        }
    }

    /// The packet that is first comes out of the chain: what it met here, and when.
    pub(super) fn come_out(&mut self, port: QueueId, rate: Rate) -> Option<(Time, Transmission)> {
        loop {
            let first = self.passed.pop_front()?;
            let sent = self.sent;
            self.sent += u64::from(first.bytes);
            if first.is_lost {
                continue;
            }
            let behind = self.passed.iter();
            let behind = behind.take_while(|passed| passed.joined <= first.starts);
            let queue = behind.map(|passed| u64::from(passed.bytes)).sum();
            let met = Transmission {
                port,
                queue,
                sent,
                rate,
            };
            return Some((first.starts, met));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate(8_000_000_000); // a byte a nanosecond

    fn port() -> QueueId {
        QueueId { at: 0, number: 3 }
    }

    #[test]
    fn a_packet_sees_what_came_before_its_transmission_began() {
        let mut stamps = Stamps::default();
        // Three come at once; a fourth while the second is transmitted; the third is lost later on.
        stamps.join(Time(0), Time(100), 100, RATE);
        stamps.join(Time(0), Time(150), 50, RATE);
        stamps.join(Time(0), Time(160), 10, RATE);
        stamps.lose();
        stamps.join(Time(120), Time(167), 7, RATE);
        let mut met = || stamps.come_out(port(), RATE);
        let seen = |(at, met): (Time, Transmission)| (at.0, met.queue, met.sent);
        assert_eq!(met().map(seen), Some((0, 60, 0)));
        assert_eq!(met().map(seen), Some((100, 10, 100)));
        assert_eq!(met().map(seen), Some((160, 0, 160)));
        assert_eq!(met(), None);
    }
}
