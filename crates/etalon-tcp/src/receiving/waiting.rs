// SPDX-License-Identifier: MIT OR Apache-2.0
//! What waits at a receiver.

use super::reassembly::Reassembly;
use super::sack_compression::SackCompression;
use crate::memory::Buffer;
use crate::rare::Fresh;
use std::collections::VecDeque;

/// An acknowledgement that must go out with an earlier state of the receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PriorAck {
    /// Before marks began or ended (DCTCP).
    Marks { ack: u32, ece: bool },
    /// Held back until its timer fired, with the timestamp of what it was held back with last.
    HeldBack,
    /// Before the range that the latest arrival belongs to was reported first.
    Range,
}

/// What waits: beyond a hole, to be read, or to be acknowledged. At most ends nothing ever does.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub held: Reassembly,
    /// In order and not yet read, with its memory.
    pub(super) unread: VecDeque<Buffer>,
    pub(super) unread_memory: u32,
    /// Memory that the stream takes of which this is a subflow (`mptcp/held.rs`).
    pub(super) stream_memory: u32,
    /// What came at this time, in microseconds, is read once it is acknowledged.
    pub(super) reads_late: Option<u64>,
    pub compression: SackCompression,
    pub prior_ack: Option<PriorAck>,
}

impl Fresh for Waiting {
    fn fresh() -> &'static Waiting {
        static NOTHING: Waiting = Waiting {
            held: Reassembly::NOTHING,
            unread: VecDeque::new(),
            unread_memory: 0,
            stream_memory: 0,
            reads_late: None,
            compression: SackCompression::NONE,
            prior_ack: None,
        };
        &NOTHING
    }
}
