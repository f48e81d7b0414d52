// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is noted of jobs: their iterations, and the steps of these.

use alloc::vec::Vec;

use etalon_units::Time;

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
