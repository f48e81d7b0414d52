// SPDX-License-Identifier: MIT OR Apache-2.0
//! A host's queues, and what it sends of them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::commit::{Commit, Which};
use super::queue::Backlog;

/// A packet of a bulk flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bulk {
    /// Its flow.
    pub flow: u32,
    /// Its number in the flow, from 0.
    pub seq: u32,
    /// The host for which it is in the end.
    pub to: u32,
}

/// A packet that leaves a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sending {
    /// Which packet.
    pub packet: Bulk,
    /// The host to which it goes now: its own, or one that relays it.
    pub via: u32,
    /// The circuit that leads there.
    pub uplink: u8,
}

/// Queues by destination host; those that are empty take no room.
type Queues = BTreeMap<u32, Backlog>;

/// A host.
#[derive(Clone, Debug, Default)]
pub(crate) struct Host {
    /// What it sends itself, and what it relays.
    pub(crate) own: Queues,
    pub(crate) relayed: Queues,
    /// By uplink.
    pub(crate) commits: Vec<Commit>,
}

impl Host {
    /// Whether it has nothing to send.
    pub(crate) fn is_idle(&self) -> bool {
        self.own.is_empty() && self.relayed.is_empty()
    }

    /// Packets that it has for a host itself.
    pub(crate) fn own_len(&self, to: u32) -> u32 {
        self.own.get(&to).map_or(0, Backlog::len)
    }

    /// Packets of others that it has for a host.
    pub(crate) fn relayed_len(&self, to: u32) -> u32 {
        self.relayed.get(&to).map_or(0, Backlog::len)
    }

    /// Sends from now on over an uplink what this commits it to.
    pub(crate) fn commit(&mut self, uplink: u8, commit: Commit) {
        let uplink = usize::from(uplink);
        if self.commits.len() <= uplink {
            self.commits.resize(uplink + 1, Commit::NONE);
        }
        self.commits[uplink] = commit;
    }

    pub(crate) fn next_time(&self) -> u64 {
        let times = self.commits.iter().map(Commit::next_time);
        times.min().unwrap_or(u64::MAX)
    }

    /// Passes one slot that has begun by `now`. Some are left empty.
    pub(crate) fn pass(&mut self, now: u64) -> Option<Sending> {
        let times = self.commits.iter().map(Commit::next_time).enumerate();
        let (uplink, time) = times.min_by_key(|&(_, time)| time)?;
        if time > now {
            return None;
        }
        if self.commits[uplink].is_over(now) {
            self.commits[uplink] = Commit::NONE;
            return None;
        }
        let (own, relayed) = (&mut self.own, &mut self.relayed);
        self.commits[uplink].pass(|part| {
            let queues = match part.which {
                Which::Own => &mut *own,
                Which::Relayed => &mut *relayed,
            };
            let (flow, seq) = take(queues, part.to)?;
            let to = part.to;
            Some(Sending {
                packet: Bulk { flow, seq, to },
                via: part.via,
                uplink: uplink as u8,
            })
        })
    }
}

/// The first packet of a queue: its flow, and its number in it.
fn take(queues: &mut Queues, to: u32) -> Option<(u32, u32)> {
    let queue = queues.get_mut(&to)?;
    let packet = queue.pop_front();
    if queue.len() == 0 {
        queues.remove(&to);
    }
    packet
}
