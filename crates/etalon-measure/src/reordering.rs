// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a flow's receiver gets out of order, or in vain, in each day of the measured pair (SIGCOMM'22 section 5.3).
//!
//! Read off the packets that leave the network, whatever stack is behind it: a receiver announces at once what it has above a
//! hole (RFC 5681 section 4.2, RFC 2018 section 4).

use std::collections::BTreeMap;

use crate::table::{Column, Table, named};

/// Bytes of a stream, the end excluded.
type Range = (u64, u64);

/// What happened to a flow in a day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Packets that arrived above a hole which none before them had shown.
    pub(crate) events: u64,
    /// Packets missing in these holes, each counted once.
    pub(crate) missing: u64,
    /// Packets that brought nothing, for all of their payload had left the network before.
    pub(crate) spurious: u64,
}

impl Tally {
    /// Its numbers with their names in the table.
    fn quantities(self) -> [(&'static str, u64); 3] {
        [
            ("events", self.events),
            ("missing", self.missing),
            ("spurious", self.spurious),
        ]
    }
}

/// Counts by day.
#[derive(Debug, Default)]
pub(crate) struct Days {
    /// The day (odd), or the time between two, that `tally` is of: see `Runs::phase`.
    phase: u64,
    tally: Tally,
    /// Number of days by quantity and value; those in which nothing left the network are not in it.
    values: BTreeMap<(&'static str, u64), u64>,
    recorded: u64,
}

impl Days {
    /// It is `phase` now: what was counted in a day that is over is recorded.
    #[inline]
    pub(crate) fn turn(&mut self, phase: u64) {
        if phase != self.phase {
            self.record();
            self.phase = phase;
        }
    }

    fn record(&mut self) {
        let tally = std::mem::take(&mut self.tally);
        if self.phase % 2 == 1 {
            self.recorded += 1;
            for quantity in tally.quantities() {
                *self.values.entry(quantity).or_default() += 1;
            }
        }
    }

    fn add(&mut self, more: Tally) {
        self.tally.events += more.events;
        self.tally.missing += more.missing;
        self.tally.spurious += more.spurious;
    }
}

/// The bytes of a stream that have left the network.
#[derive(Debug, Default)]
struct Stream {
    /// All bytes below it have.
    next: u64,
    /// What has above it, in order, apart from each other.
    held: Vec<Range>,
    /// Payload of its largest packet.
    largest: u64,
}

impl Stream {
    /// A packet left the network. Its first byte is within 2^31 of the highest that did.
    fn left(&mut self, offset: u32, payload: u32) -> Tally {
        let highest = self.held.last().map_or(self.next, |last| last.1);
        let ahead = offset.wrapping_sub(highest as u32) as i32;
        let start = highest.saturating_add_signed(ahead.into());
        let end = start + u64::from(payload);
        self.largest = self.largest.max(payload.into());
        let mut tally = Tally::default();
        if start > highest {
            tally.events = 1;
            tally.missing = (start - highest).div_ceil(self.largest);
        } else if end <= self.next || self.held.iter().any(|&(a, b)| a <= start && end <= b) {
            tally.spurious = 1;
        }
        self.hold((start, end));
        tally
    }

    fn hold(&mut self, (mut start, mut end): Range) {
        self.held.retain(|&(a, b)| {
            let apart = end < a || b < start;
            if !apart {
                (start, end) = (start.min(a), end.max(b));
            }
            apart
        });
        if start <= self.next {
            self.next = self.next.max(end);
        } else {
            let at = self.held.partition_point(|&(a, _)| a < start);
            self.held.insert(at, (start, end));
        }
    }
}

/// The order in which a flow leaves the network.
#[derive(Debug, Default)]
pub(crate) struct Order {
    /// By subflow: TCP's only one, or MPTCP's, whose sequence numbers are their own.
    streams: Vec<Stream>,
    pub(crate) days: Days,
    /// Packets in vain in all of the measured time.
    pub(crate) spurious: u64,
}

impl Order {
    /// A packet of a subflow left the network in `phase`; `pair` counts for all flows of the pair.
    pub(crate) fn left(
        &mut self,
        subflow: usize,
        offset: u32,
        payload: u32,
        phase: u64,
        pair: &mut Days,
    ) {
        if self.streams.len() <= subflow {
            self.streams.resize_with(subflow + 1, Stream::default);
        }
        let tally = self.streams[subflow].left(offset, payload);
        self.spurious += tally.spurious;
        for days in [&mut self.days, pair] {
            days.turn(phase);
            days.add(tally);
        }
    }

    /// The warm-up is over.
    pub(crate) fn begin(&mut self) {
        self.spurious = 0;
    }
}

/// The table of days: for each quantity, of one flow and of the pair's all, how many days had which value. `ended` is the
/// number of days that are over.
pub(crate) fn table<'a>(
    flows: impl Iterator<Item = &'a Order>,
    pair: Option<&Days>,
    ended: u64,
) -> Table {
    let of_flows = flows.map(|order| ("flow", &order.days));
    let mut counts = BTreeMap::<(&str, &str, u64), u64>::new();
    for (of, days) in of_flows.chain(pair.map(|days| ("pair", days))) {
        for (&(quantity, value), &count) in &days.values {
            *counts.entry((of, quantity, value)).or_default() += count;
        }
        for (quantity, nothing) in Tally::default().quantities() {
            *counts.entry((of, quantity, nothing)).or_default() += ended - days.recorded;
        }
    }
    counts.retain(|_, count| *count > 0);
    let text = |f: fn(&(&str, &str, u64)) -> String| Column::Text(counts.keys().map(f).collect());
    named([
        ("of", text(|key| key.0.to_owned())),
        ("quantity", text(|key| key.1.to_owned())),
        (
            "value",
            Column::Integers(counts.keys().map(|key| key.2 as i64).collect()),
        ),
        (
            "count",
            Column::Integers(counts.values().map(|&count| count as i64).collect()),
        ),
    ])
}

#[cfg(test)]
mod tests;
