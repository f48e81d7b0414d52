// SPDX-License-Identifier: MIT OR Apache-2.0
//! What ranks need of hosts.

use alloc::vec::Vec;

use etalon_scenario::{CrossConnect, Flow};
use etalon_units::Time;

/// The hosts as ranks use them.
pub trait RankSockets {
    /// Opens a flow that is a job's connection of this number, and returns its own number.
    fn open(&mut self, now: Time, job: u32, connection: u32, flow: Flow) -> u32;

    /// Writes into a stream: number 2n from flow n's client to its server, 2n + 1 back.
    fn write(&mut self, now: Time, stream: u32, bytes: u64);

    /// Bytes written into a stream that have never been sent.
    fn unsent(&mut self, stream: u32) -> u64;

    /// A rank, by its number among those of all jobs, will have computed at `time`.
    fn wake(&mut self, time: Time, rank: u32);

    /// A job of ranks asks for circuits.
    fn ask(&mut self, now: Time, job: u32, circuits: Vec<CrossConnect>);

    /// It needs circuits no more.
    fn release(&mut self, now: Time, job: u32, circuits: Vec<CrossConnect>);

    /// A job will begin at `time`.
    fn start(&mut self, time: Time, job: u32);
}
