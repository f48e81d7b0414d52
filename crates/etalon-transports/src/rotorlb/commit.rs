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
#[derive(Clone, Debug, Default)]
pub(crate) struct Commit {
    start: u64,
    /// Time of a slot, in picoseconds.
    slot: u64,
    slots: u32,
    next: u32,
    /// What is late to this is not sent.
    until: u64,
    parts: Vec<Part>,
}

impl Commit {
    pub(crate) fn new(start: u64, circuit: &Circuit, parts: Vec<Part>) -> Commit {
        Commit {
            start,
            slot: circuit.slot,
            slots: circuit.slots,
            next: 0,
            until: circuit.until,
            parts,
        }
    }

    /// Whether it is too late for the rest.
    pub(crate) fn is_over(&self, now: u64) -> bool {
        now >= self.until
    }

    /// When its next slot begins, `u64::MAX` if there is none.
    pub(crate) fn next_time(&self) -> u64 {
        if self.next >= self.slots || self.parts.is_empty() {
            return u64::MAX;
        }
        self.start + (u64::from(self.next) * self.slot).div_ceil(1000)
    }

    /// Passes a slot. `take` takes a packet of a queue, if it has one: parts are asked in the order in which they are due.
    pub(crate) fn pass<P>(&mut self, mut take: impl FnMut(&Part) -> Option<P>) -> Option<P> {
        let (now, slots) = (self.next, self.slots);
        self.next += 1;
        // The packets of a part are evenly spread over all slots.
        let due = |part: &Part| u64::from(part.sent) * u64::from(slots) / u64::from(part.packets);
        let mut asked = None;
        loop {
            // The first that is due, of those behind the one asked last.
            let parts = self.parts.iter().enumerate();
            let key = parts.map(|(at, part)| (due(part), at));
            let behind = key.filter(|&key| key.0 <= u64::from(now) && Some(key) > asked);
            asked = Some(behind.min()?);
            let at = asked.map_or(0, |key| key.1);
            if let Some(packet) = take(&self.parts[at]) {
                let part = &mut self.parts[at];
                part.sent += 1;
                if part.sent == part.packets {
                    self.parts.remove(at);
                }
                return Some(packet);
            }
        }
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
