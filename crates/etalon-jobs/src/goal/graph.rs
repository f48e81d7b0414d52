// SPDX-License-Identifier: MIT OR Apache-2.0
//! What one rank of a trace does: operations, and which of them wait for which.

use alloc::vec::Vec;

/// What an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It computes.
    Calc,
    /// It sends a message.
    Send,
    /// It receives one.
    Recv,
}

/// An operation of a rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    pub(crate) kind: Kind,
    /// The processor that computes.
    pub(crate) cpu: u16,
    /// The rank at the other end of a message.
    pub(crate) peer: u32,
    /// Which of the receiver's channels the message takes: those of one sender and tag, in order.
    pub(crate) channel: u32,
    /// Bytes of a message, or ns.
    pub(crate) amount: u64,
}

/// The operations of a rank, in the order of the file.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub(crate) ops: Vec<Op>,
    /// How many operations each waits for.
    pub(crate) waits: Vec<u32>,
    /// Where the followers of each begin; one more than operations.
    first: Vec<u32>,
    /// Which operation follows, doubled; one more if it waits for the start only.
    followers: Vec<u32>,
    /// How many channels lead to this rank.
    pub(crate) channels: u32,
}

impl Graph {
    /// With edges: which operation comes first, and which follows, as in `followers`; `channels` lead to the rank.
    pub(crate) fn new(ops: Vec<Op>, edges: &[(u32, u32)], channels: u32) -> Graph {
        let mut waits = alloc::vec![0; ops.len()];
        let mut first = alloc::vec![0_u32; ops.len() + 1];
        for &(before, after) in edges {
            first[before as usize + 1] += 1;
            waits[(after >> 1) as usize] += 1;
        }
        for at in 0..ops.len() {
            first[at + 1] += first[at];
        }
        let mut place = first.clone();
        let mut followers = alloc::vec![0; edges.len()];
        for &(before, after) in edges {
            followers[place[before as usize] as usize] = after;
            place[before as usize] += 1;
        }
        Graph {
            ops,
            waits,
            first,
            followers,
            channels,
        }
    }

    /// The operations that wait for the start of one, or for its end.
    pub(crate) fn followers(&self, op: u32, of_start: bool) -> impl Iterator<Item = u32> + '_ {
        let op = op as usize;
        let all = &self.followers[self.first[op] as usize..self.first[op + 1] as usize];
        all.iter()
            .filter(move |&&after| (after & 1 == 1) == of_start)
            .map(|&after| after >> 1)
    }

    /// The ranks that it sends to, as often as it does.
    pub(crate) fn peers(&self) -> impl Iterator<Item = u32> + '_ {
        let sends = self.ops.iter().filter(|op| op.kind == Kind::Send);
        sends.map(|op| op.peer)
    }
}
