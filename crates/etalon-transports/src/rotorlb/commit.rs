// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a host may send over one circuit while that lasts.

use alloc::vec::Vec;

use super::fleet::Circuit;

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

/// A circuit's time in slots of a packet each, and who sends in them.
#[derive(Clone, Debug)]
pub(crate) struct Commit {
    start: u64,
    /// Time of a slot, in picoseconds.
    slot: u64,
    slots: u32,
    next: u32,
    /// When the next slot begins, which is asked more often than it changes.
    next_time: u64,
    /// What is late to this is not sent.
    until: u64,
    parts: Vec<Part>,
}

impl Commit {
    /// Nobody sends.
    pub(crate) const NONE: Commit = Commit {
        start: 0,
        slot: 0,
        slots: 0,
        next: 0,
        next_time: u64::MAX,
        until: 0,
        parts: Vec::new(),
    };

    pub(crate) fn new(start: u64, circuit: &Circuit, parts: Vec<Part>) -> Commit {
        let mut commit = Commit {
            start,
            slot: circuit.slot,
            slots: circuit.slots,
            next: 0,
            next_time: u64::MAX,
            until: circuit.until,
            parts,
        };
        commit.look();
        commit
    }

    /// Whether it is too late for the rest.
    pub(crate) fn is_over(&self, now: u64) -> bool {
        now >= self.until
    }

    /// When its next slot begins, `u64::MAX` if there is none.
    #[inline]
    pub(crate) fn next_time(&self) -> u64 {
        self.next_time
    }

    fn look(&mut self) {
        let is_done = self.next >= self.slots || self.parts.is_empty();
        self.next_time = match is_done {
            true => u64::MAX,
            false => self.start + (u64::from(self.next) * self.slot).div_ceil(1000),
        };
    }

    /// Passes a slot. `take` takes a packet of a queue, if it has one: parts are asked in the order in which they are due.
    pub(crate) fn pass<P>(&mut self, mut take: impl FnMut(&Part) -> Option<P>) -> Option<P> {
        let mut asked = None;
        let mut taken = None;
        while let Some(due) = self.due_after(asked) {
            let at = due.1;
            taken = take(&self.parts[at]);
            if taken.is_some() {
                let part = &mut self.parts[at];
                part.sent += 1;
                if part.sent == part.packets {
                    self.parts.remove(at);
                }
                break;
            }
            asked = Some(due);
        }
        self.next += 1;
        self.look();
        taken
    }

    /// The first part that is due in the next slot, of those behind the one asked last; and since which slot.
    fn due_after(&self, asked: Option<(u64, usize)>) -> Option<(u64, usize)> {
        let mut first = (u64::MAX, 0);
        for (at, part) in self.parts.iter().enumerate() {
            // The packets of a part are evenly spread over all slots.
            let due = u64::from(part.sent) * u64::from(self.slots) / u64::from(part.packets);
            let is_behind = asked.is_none_or(|asked| (due, at) > asked);
            if due <= u64::from(self.next) && is_behind && due < first.0 {
                first = (due, at);
            }
        }
        (first.0 < u64::MAX).then_some(first)
    }
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

    #[test]
    fn each_queue_is_paced_over_the_whole_time() {
        let mut commit = Commit::new(
            1000,
            &circuit(7_200_000, 10),
            [part(1, 5), part(2, 2)].into(),
        );
        let mut sent = Vec::new();
        while commit.next_time() < u64::MAX {
            let now = commit.next_time();
            sent.push((now, commit.pass(|part| Some(part.to))));
        }
        let to: Vec<_> = sent.iter().filter_map(|&(_, to)| to).collect();
        assert_eq!(to, [1, 2, 1, 1, 2, 1, 1]);
        assert_eq!(sent[..2], [(1000, Some(1)), (8200, Some(2))]);
        assert_eq!(sent.last(), Some(&(1000 + 8 * 7200, Some(1))));
    }

    #[test]
    fn an_empty_queue_leaves_its_slots_to_others() {
        let mut commit = Commit::new(0, &circuit(1000, 4), [part(1, 4), part(2, 4)].into());
        let sent: Vec<_> = (0..4)
            .map(|_| commit.pass(|part| (part.to == 2).then_some(2)))
            .collect();
        assert_eq!(sent, [Some(2); 4]);
        assert_eq!(commit.next_time(), u64::MAX);
    }
}
