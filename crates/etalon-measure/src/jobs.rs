// SPDX-License-Identifier: MIT OR Apache-2.0
//! What jobs of ranks did: their iterations, and the steps of these.

use etalon_units::Time;

use crate::table::{Table, integers, named};

/// An iteration of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Iteration {
    /// Number of the job.
    pub job: u32,
    /// Number of the iteration.
    pub iteration: u32,
    /// When the first rank began it.
    pub start: Time,
    /// When the last rank ended it.
    pub end: Option<Time>,
    /// Ranks that have ended it.
    pub ended: u32,
    /// Time that these computed, in all, in ns.
    pub computed: u64,
    /// Longest time that one of them computed.
    pub slowest: u64,
    /// Time from when each began to when it ended, in all.
    pub taken: u64,
    /// Requests for circuits that were granted in it and changed any.
    pub changes: u32,
    /// Time in which circuits that changed for it were dark, in ns.
    pub dark: u64,
}

/// A message of a rank to another, or a computation of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Number of the job.
    pub job: u32,
    /// Number of the iteration.
    pub iteration: u32,
    /// Number of the step in its iteration.
    pub step: u32,
    /// The rank that sends, or computes.
    pub rank: u32,
    /// The rank that receives; none for a computation.
    pub peer: Option<u32>,
    /// Bytes of the message.
    pub bytes: u64,
    /// When the rank had all that it needs.
    pub ready: Time,
    /// When circuits were asked for, if any were.
    pub asked: Option<Time>,
    /// When they were there.
    pub granted: Option<Time>,
    /// When its last byte had been sent for the first time.
    pub sent: Option<Time>,
    /// When the other rank had read it to its last byte; the end of a computation.
    pub received: Option<Time>,
}

/// What jobs of ranks did.
#[derive(Clone, Debug, Default)]
pub struct JobRows {
    /// Their iterations.
    pub iterations: Vec<Iteration>,
    /// Their messages and computations.
    pub steps: Vec<Step>,
}

/// A time, or -1.
fn or_never(time: Option<Time>) -> i64 {
    time.map_or(-1, |t| t.0 as i64)
}

/// The table of iterations: one row each, of those that began.
#[must_use]
pub fn iterations(rows: &[Iteration]) -> Table {
    let mean = |total: u64, of: u32| -> i64 {
        if of == 0 {
            0
        } else {
            (total / u64::from(of)) as i64
        }
    };
    named([
        ("job", integers(rows, |r| r.job.into())),
        ("iteration", integers(rows, |r| r.iteration.into())),
        ("start_ns", integers(rows, |r| r.start.0 as i64)),
        ("end_ns", integers(rows, |r| or_never(r.end))),
        ("compute_ns", integers(rows, |r| mean(r.computed, r.ended))),
        ("slowest_ns", integers(rows, |r| r.slowest as i64)),
        (
            "exposed_ns",
            integers(rows, |r| mean(r.taken - r.computed, r.ended)),
        ),
        ("changes", integers(rows, |r| r.changes.into())),
        ("dark_ns", integers(rows, |r| r.dark as i64)),
    ])
}

/// The table of steps: one row a message or computation, in the order in which they were over.
#[must_use]
pub fn steps(rows: &[Step]) -> Table {
    named([
        ("job", integers(rows, |r| r.job.into())),
        ("iteration", integers(rows, |r| r.iteration.into())),
        ("step", integers(rows, |r| r.step.into())),
        ("rank", integers(rows, |r| r.rank.into())),
        ("peer", integers(rows, |r| r.peer.map_or(-1, i64::from))),
        ("bytes", integers(rows, |r| r.bytes as i64)),
        ("ready_ns", integers(rows, |r| r.ready.0 as i64)),
        ("asked_ns", integers(rows, |r| or_never(r.asked))),
        ("granted_ns", integers(rows, |r| or_never(r.granted))),
        ("sent_ns", integers(rows, |r| or_never(r.sent))),
        ("received_ns", integers(rows, |r| or_never(r.received))),
    ])
}
