// SPDX-License-Identifier: MIT OR Apache-2.0
//! In-band telemetry (INT): what the queues on a segment's way were like, as its receiver echoes it to its sender.
//!
//! The network writes a [`Hop`] into an option of a data segment each time the segment leaves a queue; whoever receives the segment has its
//! next ACK carry the list back. A connection takes the list as one more fact of an ACK
//! ([`Connection::on_telemetry`](crate::Connection::on_telemetry)). The option keeps its length on the way: its sender reserves
//! room for all hops ([`option_len`]).

/// A port that a segment passed, as it was when the segment left its queue (HPCC, SIGCOMM 2019, section 4.1: `B`, `TS`, `txBytes`, `qLen`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// Tells the port from others. Numbers of two lists can be compared only if their ports are the same ones.
    pub port: u32,
    /// Bytes that were left in its queue.
    pub queue: u64,
    /// Bytes that it had transmitted by then.
    pub sent: u64,
    /// Its rate in bits a second of host time.
    pub rate: u64,
    /// When, in nanoseconds of host time.
    pub at: u64,
}

/// What an ACK echoes, and what the sender knows by then. Times in nanoseconds of host time.
#[derive(Clone, Copy, Debug)]
pub struct Echo<'a> {
    /// SND.UNA after the ACK.
    pub una: u32,
    /// SND.NXT.
    pub nxt: u32,
    /// The smallest RTT there was, if there was any.
    pub min_rtt: Option<u64>,
    /// The hops on the way of a data segment, the first of them first.
    pub hops: &'a [Hop],
}

/// Bytes of the option before its hops: kind, length, and what an INT header has beside (32 bits in all, as in PowerTCP's switches).
const BASE: u32 = 4;

/// Bytes of a hop: 64 bits (HPCC, figure 7; PowerTCP, section 3.6).
const HOP: u32 = 8;

/// Bytes of the option with room for so many hops.
#[must_use]
pub const fn option_len(hops: u32) -> u32 {
    BASE + HOP * hops
}
