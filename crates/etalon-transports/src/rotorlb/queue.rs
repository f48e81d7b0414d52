// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets that wait at a host, for one destination.

use alloc::collections::VecDeque;

/// Consecutive packets of a flow.
#[derive(Clone, Copy, Debug)]
struct Run {
    flow: u32,
    first: u32,
    count: u32,
}

/// Packets in order, as runs: a long flow takes no more room than a short one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Backlog {
    runs: VecDeque<Run>,
    len: u64,
}

impl Backlog {
    /// As many, if they are no more than can be counted.
    pub(crate) fn len(&self) -> u32 {
        self.len.min(u32::MAX.into()) as u32
    }

    /// Takes the packets of a flow out.
    pub(crate) fn remove(&mut self, flow: u32) {
        let runs = self.runs.iter().filter(|run| run.flow == flow);
        self.len -= runs.map(|run| u64::from(run.count)).sum::<u64>();
        self.runs.retain(|run| run.flow != flow);
    }

    pub(crate) fn push_back(&mut self, flow: u32, first: u32, count: u32) {
        self.len += u64::from(count);
        match self.runs.back_mut() {
            Some(last) if last.flow == flow && last.first + last.count == first => {
                last.count += count;
            }
            _ => self.runs.push_back(Run { flow, first, count }),
        }
    }

    pub(crate) fn push_front(&mut self, flow: u32, seq: u32) {
        self.len += 1;
        match self.runs.front_mut() {
            Some(next) if next.flow == flow && next.first == seq + 1 => {
                next.first = seq;
                next.count += 1;
            }
            _ => self.runs.push_front(Run {
                flow,
                first: seq,
                count: 1,
            }),
        }
    }

    /// The first packet: its flow and its number in it.
    pub(crate) fn pop_front(&mut self) -> Option<(u32, u32)> {
        let run = self.runs.front_mut()?;
        let packet = (run.flow, run.first);
        run.first += 1;
        run.count -= 1;
        if run.count == 0 {
            self.runs.pop_front();
        }
        self.len -= 1;
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn packets_keep_their_order_and_come_back_to_the_front() {
        let mut queue = Backlog::default();
        queue.push_back(1, 0, 3);
        queue.push_back(2, 0, 1);
        queue.push_back(2, 1, 1);
        assert_eq!((queue.len(), queue.runs.len()), (5, 2));
        assert_eq!(queue.pop_front(), Some((1, 0)));
        queue.push_front(1, 0);
        queue.push_front(9, 7);
        assert_eq!((queue.len(), queue.runs.len()), (6, 3));
        let mut other = queue.clone();
        other.remove(1);
        assert_eq!((other.len(), other.runs.len()), (3, 2));
        other.remove(1);
        assert_eq!(other.len(), 3);
        let all: Vec<_> = core::iter::from_fn(|| queue.pop_front()).collect();
        assert_eq!(all, [(9, 7), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1)]);
        assert_eq!(queue.len(), 0);
    }
}
