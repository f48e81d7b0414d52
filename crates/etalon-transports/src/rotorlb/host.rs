// SPDX-License-Identifier: MIT OR Apache-2.0
//! A host's queues, and what it sends of them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::commit::{Commit, Part, Which};
use super::fleet::Circuit;
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
pub(crate) type Queues = BTreeMap<u32, Backlog>;

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

    fn queues(&mut self, which: Which) -> &mut Queues {
        match which {
            Which::Own => &mut self.own,
            Which::Relayed => &mut self.relayed,
        }
    }

    /// Ends what it sends over an uplink. What has not left is back at the front of its queues.
    pub(crate) fn end(&mut self, uplink: u8) {
        if let Some(commit) = self.commits.get_mut(usize::from(uplink)) {
            let commit = core::mem::replace(commit, Commit::NONE);
            for planned in commit.rest().rev() {
                let packet = planned.packet;
                let queue = self.queues(planned.which).entry(packet.to).or_default();
                queue.push_front(packet.flow, packet.seq);
            }
        }
    }

    /// Takes these parts of its queues, and sends them over an uplink from `now` on.
    pub(crate) fn commit(&mut self, now: u64, circuit: &Circuit, parts: Vec<Part>) {
        let uplink = usize::from(circuit.uplink);
        if self.commits.len() <= uplink {
            self.commits.resize(uplink + 1, Commit::NONE);
        }
        self.commits[uplink] = Commit::new(now, circuit, parts, |part| {
            take(self.queues(part.which), part.to)
        });
    }

    pub(crate) fn next_time(&self) -> u64 {
        let times = self.commits.iter().map(Commit::next_time);
        times.min().unwrap_or(u64::MAX)
    }

    /// The next packet that is to leave by `now`.
    pub(crate) fn pass(&mut self, now: u64) -> Option<Sending> {
        let times = self.commits.iter().map(Commit::next_time).enumerate();
        let (at, time) = times.min_by_key(|&(_, time)| time)?;
        if time > now {
            return None;
        }
        let uplink = at as u8;
        if self.commits[at].is_over(now) {
            self.end(uplink);
            return None;
        }
        let planned = self.commits[at].pass()?;
        Some(Sending {
            packet: planned.packet,
            via: planned.via,
            uplink,
        })
    }
}

/// The first packet of a queue.
fn take(queues: &mut Queues, to: u32) -> Option<Bulk> {
    let queue = queues.get_mut(&to)?;
    let packet = queue.pop_front();
    if queue.len() == 0 {
        queues.remove(&to);
    }
    packet.map(|(flow, seq)| Bulk { flow, seq, to })
}
