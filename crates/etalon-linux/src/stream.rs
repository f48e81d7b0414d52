// SPDX-License-Identifier: MIT OR Apache-2.0
//! What travels of a program's stream, as packets at the network's edges tell.

use std::collections::BTreeMap;

use etalon_units::Time;

/// A stream of bytes from a host to another.
#[derive(Debug)]
pub(crate) struct Stream {
    /// Sequence number of its first byte.
    first: u32,
    /// Bytes that entered the network, up to the highest.
    sent: u64,
    /// Bytes that reached the receiving host in order, and when the last of them did.
    received: u64,
    received_at: Time,
    /// Bytes beyond these that reached it: starts and ends, disjoint.
    beyond: BTreeMap<u64, u64>,
    /// Segments sent again.
    retransmits: u64,
}

impl Stream {
    /// One that begins at `now`.
    pub(crate) fn new(now: Time, first: u32) -> Stream {
        Stream {
            first,
            sent: 0,
            received: 0,
            received_at: now,
            beyond: BTreeMap::new(),
            retransmits: 0,
        }
    }

    /// The place of a sequence number in the stream: the one within 2^31 bytes of what was sent.
    fn place(&self, seq: u32) -> u64 {
        let ahead = seq.wrapping_sub(self.first).wrapping_sub(self.sent as u32) as i32;
        self.sent.saturating_add_signed(ahead.into())
    }

    /// A segment with data entered the network. Returns how many were sent again so far.
    pub(crate) fn entered(&mut self, seq: u32, payload: u16) -> u64 {
        let start = self.place(seq);
        self.retransmits += u64::from(start < self.sent);
        self.sent = self.sent.max(start + u64::from(payload));
        self.retransmits
    }

    /// A segment with data left the network towards its receiver. Returns how many bytes are there in order.
    pub(crate) fn left(&mut self, now: Time, seq: u32, payload: u16) -> u64 {
        let start = self.place(seq);
        let end = start + u64::from(payload);
        if end <= self.received {
            return self.received;
        }
        let held = self.beyond.entry(start).or_default();
        *held = end.max(*held);
        while let Some(first) = self.beyond.first_entry() {
            if *first.key() > self.received {
                break;
            }
            let end = first.remove();
            if end > self.received {
                (self.received, self.received_at) = (end, now);
            }
        }
        self.received
    }

    /// The stream ends before sequence number `seq`: its length in bytes, and when the last of them reached its receiver, if it
    /// has.
    pub(crate) fn end(&self, seq: u32) -> (u64, Option<Time>) {
        let length = self.place(seq);
        let complete = self.received >= length;
        (length, complete.then_some(self.received_at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_sent_again_is_counted_and_received_once() {
        let mut stream = Stream::new(Time(5), 101);
        assert_eq!(stream.end(101), (0, Some(Time(5)))); // nothing to send
        for (seq, again) in [(101, 0), (201, 0), (301, 0), (201, 1)] {
            assert_eq!(stream.entered(seq, 100), again);
        }
        assert_eq!(stream.left(Time(10), 101, 100), 100);
        assert_eq!(stream.left(Time(11), 301, 100), 100);
        assert_eq!(stream.end(401), (300, None));
        assert_eq!(stream.left(Time(12), 201, 100), 300);
        assert_eq!(stream.left(Time(13), 201, 100), 300); // the first one, late
        assert_eq!(stream.end(401), (300, Some(Time(12))));
    }

    #[test]
    fn streams_are_longer_than_sequence_numbers() {
        let mut stream = Stream::new(Time(0), u32::MAX - 5);
        let mut sent = 0u64;
        while sent < 10 << 30 {
            let seq = (u64::from(u32::MAX - 5) + sent) as u32;
            assert_eq!(stream.entered(seq, 50_000), 0);
            sent += 50_000;
            assert_eq!(stream.left(Time(sent), seq, 50_000), sent);
        }
    }

    proptest! {
        #[test]
        fn in_any_order_the_same_bytes_are_there(
            segments in prop::collection::vec((0u32..200, 1u16..40), 1..60),
            first in any::<u32>(),
        ) {
            let mut stream = Stream::new(Time(0), first);
            let mut there = [false; 300];
            stream.entered(first, 240);
            for (start, payload) in segments {
                there[start as usize..][..payload.into()].fill(true);
                let got = stream.left(Time(1), first.wrapping_add(start), payload);
                let expected = there.iter().position(|&is| !is).expect("a gap") as u64;
                prop_assert_eq!(got, expected);
            }
        }
    }
}
