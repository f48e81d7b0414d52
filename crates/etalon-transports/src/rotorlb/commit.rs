// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a host may send over one circuit while that lasts.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::fleet::Circuit;
use super::host::Bulk;

/// Which of a host's queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// What it sends itself.
    Own,
    /// What it relays.
    Relayed,
}

/// So many packets of a queue, to a host of the rack at the circuit's other end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) which: Which,
    /// For whom the packets are in the end, and to whom they go now.
    pub(crate) to: u32,
    pub(crate) via: u32,
    pub(crate) packets: u32,
    pub(crate) sent: u32,
}

/// A packet, and the slot of its circuit in which it leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planned {
    slot: u32,
    pub(crate) which: Which,
    pub(crate) packet: Bulk,
    pub(crate) via: u32,
}

/// What leaves over a circuit, whose time is divided into slots of a packet each. These packets left their queues when the racks
/// met: racks that meet later do not count on them.
#[derive(Clone, Debug)]
pub(crate) struct Commit {
    start: u64,
    /// Time of a slot, in picoseconds.
    slot: u64,
    /// When the next packet leaves, which is asked more often than it changes.
    next_time: u64,
    /// What is late to this is not sent.
    until: u64,
    packets: VecDeque<Planned>,
}

impl Commit {
    /// Nothing leaves.
    pub(crate) const NONE: Commit = Commit {
        start: 0,
        slot: 0,
        next_time: u64::MAX,
        until: 0,
        packets: VecDeque::new(),
    };

    /// Spreads the packets of each part evenly over all slots. `take` takes a packet of a part's queue; of parts with one queue, the
    /// first that are due get what it has.
    pub(crate) fn new(
        start: u64,
        circuit: &Circuit,
        mut parts: Vec<Part>,
        mut take: impl FnMut(&Part) -> Option<Bulk>,
    ) -> Commit {
        let mut packets = VecDeque::new();
        let mut free = 0;
        while let Some((since, at)) = due(&parts, circuit.slots) {
            let slot = free.max(since);
            if slot >= circuit.slots {
                break;
            }
            let part = &mut parts[at];
            let taken = take(part);
            part.sent += 1;
            let (which, via) = (part.which, part.via);
            if part.sent == part.packets || taken.is_none() {
                parts.remove(at);
            }
            if let Some(packet) = taken {
                packets.push_back(Planned {
                    slot,
                    which,
                    packet,
                    via,
                });
                free = slot + 1;
            }
        }
        let mut commit = Commit {
            start,
            slot: circuit.slot,
            next_time: u64::MAX,
            until: circuit.until,
            packets,
        };
        commit.look();
        commit
    }

    /// Whether it is too late for the rest.
    pub(crate) fn is_over(&self, now: u64) -> bool {
        now >= self.until
    }

    /// When its next packet leaves, `u64::MAX` if there is none.
    #[inline]
    pub(crate) fn next_time(&self) -> u64 {
        self.next_time
    }

    fn look(&mut self) {
        self.next_time = self.packets.front().map_or(u64::MAX, |next| {
            self.start + (u64::from(next.slot) * self.slot).div_ceil(1000)
        });
    }

    /// The next packet, which leaves.
    pub(crate) fn pass(&mut self) -> Option<Planned> {
        let taken = self.packets.pop_front();
        self.look();
        taken
    }

    /// What has not left.
    pub(crate) fn rest(&self) -> impl DoubleEndedIterator<Item = &Planned> {
        self.packets.iter()
    }

    /// The packets of a flow do not leave any more.
    pub(crate) fn remove(&mut self, flow: u32) {
        self.packets.retain(|planned| planned.packet.flow != flow);
        self.look();
    }
}

/// The slot in which a packet is due first, and of which part: a part's packets are evenly spread over all slots.
fn due(parts: &[Part], slots: u32) -> Option<(u32, usize)> {
    let since = |part: &Part| u64::from(part.sent) * u64::from(slots) / u64::from(part.packets);
    let all = parts.iter().enumerate();
    all.map(|(at, part)| (since(part) as u32, at)).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circuit(slot: u64, slots: u32) -> Circuit {
        Circuit {
            uplink: 0,
            slot,
            slots,
            until: u64::MAX,
        }
    }

    fn part(to: u32, packets: u32) -> Part {
        Part {
            which: Which::Own,
            to,
            via: to,
            packets,
            sent: 0,
        }
    }

    /// When which packets leave, of queues of so many: a queue's number is its host's.
    fn planned(circuit: &Circuit, parts: &[Part], mut queues: [u32; 3]) -> Vec<(u64, u32)> {
        let mut commit = Commit::new(1000, circuit, parts.into(), |part| {
            let queue = &mut queues[part.to as usize];
            *queue = queue.checked_sub(1)?;
            Some(Bulk {
                to: part.to,
                ..Bulk::default()
            })
        });
        let next = || Some((commit.next_time(), commit.pass()?.packet.to));
        core::iter::from_fn(next).collect()
    }

    #[test]
    fn each_queue_is_paced_over_the_whole_time() {
        let parts = [part(1, 5), part(2, 2)];
        let sent = planned(&circuit(7_200_000, 10), &parts, [9; 3]);
        let to: Vec<_> = sent.iter().map(|&(_, to)| to).collect();
        assert_eq!(to, [1, 2, 1, 1, 2, 1, 1]);
        assert_eq!(sent[..2], [(1000, 1), (8200, 2)]);
        assert_eq!(sent.last(), Some(&(1000 + 8 * 7200, 1)));
    }

    #[test]
    fn an_empty_queue_leaves_its_slots_to_others() {
        let parts = [part(1, 4), part(2, 4)];
        let sent = planned(&circuit(1_000_000, 4), &parts, [0, 0, 4]);
        assert_eq!(sent, [(1000, 2), (2000, 2), (3000, 2), (4000, 2)]);
    }

    #[test]
    fn a_queue_that_several_relay_is_spread_over_them_and_ends_once() {
        let parts = [part(1, 3), part(1, 3)];
        let sent = planned(&circuit(1_000_000, 6), &parts, [0, 4, 0]);
        assert_eq!(sent, [(1000, 1), (2000, 1), (3000, 1), (4000, 1)]);
    }
}
