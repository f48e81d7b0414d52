// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a pair could have sent over a plane: the capacity that utilisation divides by (docs/metrics.md).

use etalon_units::{Rate, Span, Time};

/// When a plane serves a pair, and what of the pair is on its way there.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))] // one line of a cache
pub(crate) struct Service {
    /// Since when the gate is open.
    open_since: Option<Time>,
    /// When the last transmission began, and of how many bytes.
    last: (Time, u32),
    /// Time up to here has been counted although the gate is closed.
    counted_until: Time,
    /// Counted time in which the gate was open or a packet was being transmitted.
    time: Span,
    /// Bytes whose transmission has begun and that have not left the network.
    under_way: u64,
    /// How many these were when counting began.
    before: u64,
}

impl Service {
    /// That of a pair which has sent nothing: open since `open_since`, if it is, and `time` in all before that.
    pub(crate) fn new(open_since: Option<Time>, time: Span, counted_from: Time) -> Service {
        Service {
            open_since,
            time,
            counted_until: counted_from,
            ..Service::default()
        }
    }

    /// A packet's transmission begins.
    #[inline]
    pub(crate) fn dequeued(&mut self, now: Time, bytes: u32) {
        self.last = (now, bytes);
        self.under_way += u64::from(bytes);
    }

    /// A packet has left the plane: to its host, back to its queue, or dropped.
    #[inline]
    pub(crate) fn left(&mut self, bytes: u32) {
        self.under_way = self.under_way.saturating_sub(u64::from(bytes));
    }

    /// The gate opens.
    pub(crate) fn open(&mut self, now: Time) {
        self.open_since.get_or_insert(now.max(self.counted_until));
    }

    /// The gate closes. A transmission that has begun is completed.
    pub(crate) fn close(&mut self, now: Time, rate: Rate) {
        if let Some(since) = self.open_since.take() {
            self.time += now.saturating_since(since);
            self.complete(now, rate);
        }
    }

    /// Counts the rest of a transmission that is under way at `now` while the gate is closed.
    fn complete(&mut self, now: Time, rate: Rate) {
        let (start, bytes) = self.last;
        let ends = start + transmission(bytes, rate);
        let from = now.max(self.counted_until);
        self.time += ends.saturating_since(from);
        self.counted_until = from.max(ends);
    }

    /// Counting begins anew.
    pub(crate) fn begin(&mut self, now: Time, rate: Rate) {
        self.time = Span::ZERO;
        self.before = self.under_way;
        self.counted_until = now;
        match &mut self.open_since {
            Some(since) => *since = now,
            None => self.complete(now, rate),
        }
    }

    /// Counting ends.
    pub(crate) fn finish(&mut self, now: Time) {
        match self.open_since.take() {
            Some(since) => self.time += now.saturating_since(since),
            // Nothing was counted beyond the end but the rest of a transmission; nothing at all if the end comes before.
            None => {
                let beyond = self.counted_until.saturating_since(now);
                self.time = Span(self.time.0.saturating_sub(beyond.0));
            }
        }
    }

    /// Bytes that there was time for, rounded down, and those whose time was before that. `unwatched`: how long packets may
    /// have been under way unseen when counting began.
    pub(crate) fn capacity(&self, rate: Rate, unwatched: Span) -> u64 {
        let time = self.time + unwatched;
        let bits = u128::from(rate.0) * u128::from(time.0) / 1_000_000_000;
        (bits / 8) as u64 + self.before
    }
}

/// How long a packet takes.
fn transmission(bytes: u32, rate: Rate) -> Span {
    Span((u64::from(bytes) * 8_000_000_000).div_ceil(rate.0.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate(8_000_000_000); // a byte a nanosecond

    fn at(open: bool) -> Service {
        Service::new(open.then_some(Time::ZERO), Span::ZERO, Time::ZERO)
    }

    #[test]
    fn an_open_gate_is_all_of_the_time() {
        let mut service = at(true);
        service.begin(Time(100), RATE);
        service.finish(Time(350));
        assert_eq!(service.capacity(RATE, Span::ZERO), 250);
    }

    #[test]
    fn a_transmission_is_completed_after_the_gate_closes() {
        let mut service = at(true);
        service.begin(Time(0), RATE);
        service.dequeued(Time(90), 30);
        service.close(Time(100), RATE);
        service.open(Time(110)); // the transmission ends at 120: those 10 ns count once
        service.close(Time(200), RATE);
        service.finish(Time(1000));
        assert_eq!(service.capacity(RATE, Span::ZERO), 200);
    }

    #[test]
    fn a_gate_that_opens_and_closes_within_a_transmission_adds_nothing() {
        let mut service = at(true);
        service.dequeued(Time(90), 60);
        service.close(Time(100), RATE);
        service.open(Time(110));
        service.close(Time(120), RATE);
        service.finish(Time(1000));
        assert_eq!(service.capacity(RATE, Span::ZERO), 150);
    }

    #[test]
    fn what_is_under_way_when_counting_begins_has_its_bytes() {
        let mut service = at(true);
        service.dequeued(Time(40), 30);
        service.dequeued(Time(70), 30);
        service.left(30);
        service.close(Time(80), RATE);
        service.begin(Time(90), RATE); // 10 ns of the second packet are left
        service.left(30);
        service.finish(Time(200));
        assert_eq!(service.capacity(RATE, Span::ZERO), 10 + 30);
    }

    #[test]
    fn the_end_cuts_a_transmission_off() {
        let mut service = at(true);
        service.dequeued(Time(90), 30);
        service.close(Time(100), RATE);
        service.finish(Time(105));
        assert_eq!(service.capacity(RATE, Span::ZERO), 105);
    }

    #[test]
    fn no_service_is_no_capacity() {
        let mut service = at(false);
        service.begin(Time(10), RATE);
        service.finish(Time(200));
        assert_eq!(service.capacity(RATE, Span::ZERO), 0);
    }
}
