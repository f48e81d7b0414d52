// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows that come and go: what is kept of those that are over, until somebody takes their rows.

use std::borrow::Cow;

use etalon_events::Digest;
use etalon_scenario::{Flow, PlaneFacts};
use etalon_units::Time;

use crate::facts::{Counters, FlowFacts};
use crate::table::{Column, Table};

/// Columns before those of planes.
const WHO: [&str; 14] = [
    "flow",
    "src_rack",
    "src_host",
    "dst_rack",
    "dst_host",
    "src_port",
    "dst_port",
    "kind",
    "bytes",
    "start_ns",
    "stop_ns",
    "end_ns",
    "bytes_delivered",
    "bytes_warmup",
];
/// Columns after those of planes. The mean window depends on the end of the run, which is not known yet: `cwnd_time` is the
/// window's integral up to `cwnd_since`, and from then on it stays at `last_cwnd`.
const HOW: [&str; 11] = [
    "retransmits",
    "rtos",
    "tlps",
    "recoveries",
    "undos",
    "cwnd",
    "ssthresh",
    "srtt_ns",
    "cwnd_time",
    "last_cwnd",
    "cwnd_since",
];

/// What a flow was, of those that come and go.
#[derive(Clone, Copy, Debug)]
pub struct Who<'a> {
    /// Its number, in the order in which flows came.
    pub number: u32,
    /// The number of its kind, which says what its congestion control and class are.
    pub kind: u32,
    /// What it was asked to be.
    pub flow: &'a Flow,
}

/// What the meter has seen of a flow that is over.
pub(crate) struct Seen<'a> {
    pub(crate) end: Option<Time>,
    /// Since measurement began.
    pub(crate) counters: Counters,
    /// Payload by plane.
    pub(crate) carried: &'a [u64],
    pub(crate) cwnd_time: u128,
    pub(crate) cwnd: u32,
    pub(crate) cwnd_since: Time,
}

/// Flows that are over: their rows, as long as nobody has taken them, and what the run as a whole needs of them.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Numbers of the planes that have a column, and names of all columns.
    planes: Vec<usize>,
    names: Vec<Cow<'static, str>>,
    columns: Vec<Vec<i64>>,
    pub(crate) digest: Digest,
    pub(crate) retransmits: u64,
}

impl Ended {
    pub(crate) fn new(planes: &[PlaneFacts]) -> Ended {
        let there = planes
            .iter()
            .enumerate()
            .filter(|(_, plane)| plane.exists());
        let bytes = there
            .clone()
            .map(|(_, plane)| format!("{}_bytes", plane.name).into());
        let (who, how) = (WHO.map(Cow::Borrowed), HOW.map(Cow::Borrowed));
        let names: Vec<_> = who.into_iter().chain(bytes).chain(how).collect();
        Ended {
            planes: there.map(|(index, _)| index).collect(),
            columns: vec![Vec::new(); names.len()],
            names,
            digest: Digest::default(),
            retransmits: 0,
        }
    }

    /// Number of rows that nobody has taken.
    pub(crate) fn len(&self) -> usize {
        self.columns[0].len()
    }

    /// The rows so far, which are taken.
    pub(crate) fn take(&mut self) -> Table {
        let columns = self.columns.iter_mut().map(std::mem::take);
        let named = self.names.iter().cloned().zip(columns);
        named
            .map(|(name, column)| (name, Column::Integers(column)))
            .collect()
    }

    /// A flow is over. Its number is mixed into the digest, for flows do not end in the order in which they come.
    pub(crate) fn add(&mut self, who: Who<'_>, facts: &FlowFacts, seen: &Seen<'_>) {
        let Who { number, kind, flow } = who;
        let received = facts.counters.received;
        for word in [
            number.into(),
            received,
            seen.end.map_or(u64::MAX, |end| end.0),
        ] {
            self.digest.mix(word);
        }
        self.retransmits += facts.counters.retransmits;
        let time = |time: Option<Time>| time.map_or(-1, |time| time.0 as i64);
        let counters = &seen.counters;
        let first = [
            number.into(),
            flow.src_rack.into(),
            flow.src_host.into(),
            flow.dst_rack.into(),
            flow.dst_host.into(),
            facts.ports.0.into(),
            facts.ports.1.into(),
            kind.into(),
            flow.bytes.map_or(-1, |bytes| bytes as i64),
            flow.start.0 as i64,
            time(flow.stop),
            time(seen.end),
            counters.received as i64,
            received.saturating_sub(counters.received) as i64,
        ];
        let last = [
            counters.retransmits as i64,
            counters.rtos as i64,
            counters.tlps as i64,
            counters.recoveries as i64,
            counters.undos as i64,
            facts.cwnd.into(),
            facts.ssthresh.map_or(-1, i64::from),
            facts.srtt_ns as i64,
            i64::try_from(seen.cwnd_time).unwrap_or(i64::MAX),
            seen.cwnd.into(),
            seen.cwnd_since.0 as i64,
        ];
        let carried = self.planes.iter().map(|&plane| seen.carried[plane] as i64);
        let row = first.into_iter().chain(carried).chain(last);
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(value);
        }
    }
}
