// SPDX-License-Identifier: MIT OR Apache-2.0
//! What jobs of ranks did: their iterations, and the steps of these.

pub use etalon_jobs::{Iteration, JobRows, StepRow as Step};
use etalon_units::Time;

use crate::table::{Table, integers, named};

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
