// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sockets: how applications use the hosts' stacks.

use etalon_scenario::{CrossConnect, Flow};
use etalon_units::Time;

/// The hosts' stacks as applications see them.
pub(crate) trait Sockets {
    /// Opens a flow of `job` and returns its number.
    fn connect(&mut self, now: Time, job: u32, flow: Flow) -> u32;

    /// Writes into a stream: number 2n from flow n's client to its server, 2n + 1 back.
    fn write(&mut self, now: Time, stream: u32, bytes: u64);

    /// The client of a flow writes no more.
    fn shutdown(&mut self, now: Time, flow: u32);

    /// Bytes written into a stream that have never been sent.
    fn unsent(&mut self, stream: u32) -> u64;

    /// A rank, by its number among those of all jobs, will have computed at `time`.
    fn wake_rank(&mut self, time: Time, rank: u32);

    /// A job will begin at `time`.
    fn start_job(&mut self, time: Time, job: u32);

    /// A job of ranks asks for circuits.
    fn ask(&mut self, now: Time, job: u32, circuits: Vec<CrossConnect>);

    /// It needs circuits no more.
    fn release(&mut self, now: Time, job: u32, circuits: Vec<CrossConnect>);
}
