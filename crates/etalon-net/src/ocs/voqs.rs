// SPDX-License-Identifier: MIT OR Apache-2.0
//! What waits at nodes for circuits: a queue for each next node, made when its first packet comes.

use alloc::vec::Vec;

use etalon_queues::Classes;
use etalon_units::Time;

/// No queue yet.
const NONE: u32 = u32::MAX;

/// The queues of all nodes.
#[derive(Debug)]
pub(super) struct Voqs {
    nodes: usize,
    /// By node, then by next node.
    numbers: Vec<u32>,
    queues: Vec<Classes>,
    /// Of each its node, and the next.
    ends: Vec<(u16, u16)>,
    /// Of each, when the packet that left it last has been transmitted.
    done: Vec<Time>,
}

impl Voqs {
    pub(super) fn new(nodes: u16) -> Voqs {
        let nodes = usize::from(nodes);
        Voqs {
            nodes,
            numbers: alloc::vec![NONE; nodes * nodes],
            queues: Vec::new(),
            ends: Vec::new(),
            done: Vec::new(),
        }
    }

    fn place(&self, node: u16, next: u16) -> usize {
        usize::from(node) * self.nodes + usize::from(next)
    }

    /// Whether nothing has ever waited for a circuit.
    #[inline]
    pub(super) fn are_none(&self) -> bool {
        self.queues.is_empty()
    }

    /// The number of a queue, if there is one.
    #[inline]
    pub(super) fn find(&self, node: u16, next: u16) -> Option<u32> {
        let number = self.numbers[self.place(node, next)];
        (number != NONE).then_some(number)
    }

    /// The same, which there is from now on.
    #[inline]
    pub(super) fn open(&mut self, node: u16, next: u16) -> u32 {
        let place = self.place(node, next);
        if self.numbers[place] == NONE {
            self.numbers[place] = self.queues.len() as u32;
            self.queues.push(Classes::new());
            self.ends.push((node, next));
            self.done.push(Time::ZERO);
        }
        self.numbers[place]
    }

    /// How many there are.
    pub(super) fn count(&self) -> u32 {
        self.queues.len() as u32
    }

    /// The node of a queue, and the one that it waits for.
    pub(super) fn ends(&self, number: u32) -> (u16, u16) {
        self.ends[number as usize]
    }

    /// When a packet has been transmitted that would be at `end`, if it may not overtake those before it on parallel circuits.
    pub(super) fn in_order(&mut self, number: u32, end: Time) -> Time {
        let done = &mut self.done[number as usize];
        *done = end.max(Time(done.0 + 1));
        *done
    }

    #[inline]
    pub(super) fn get(&self, number: u32) -> &Classes {
        &self.queues[number as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, number: u32) -> &mut Classes {
        &mut self.queues[number as usize]
    }
}
