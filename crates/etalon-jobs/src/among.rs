// SPDX-License-Identifier: MIT OR Apache-2.0
//! A collective within groups of ranks, such as those of tensor, data and pipeline parallelism: all groups at once.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::algorithm::Algorithm;
use crate::turn::Turn;

/// An algorithm for the ranks of a group, in each of several groups.
#[derive(Debug)]
pub(crate) struct Among {
    inner: Box<dyn Algorithm>,
    groups: Vec<Vec<u32>>,
    /// The group of a rank, and its place there.
    places: BTreeMap<u32, (usize, u32)>,
}

impl Among {
    /// Groups of the size that the algorithm is for; no rank is in two.
    pub(crate) fn new(inner: Box<dyn Algorithm>, groups: &[Vec<u32>]) -> Among {
        let places = groups.iter().enumerate().flat_map(|(group, ranks)| {
            let ranks = ranks.iter().zip(0..);
            ranks.map(move |(&rank, place)| (rank, (group, place)))
        });
        Among {
            inner,
            places: places.collect(),
            groups: groups.to_vec(),
        }
    }
}

impl Algorithm for Among {
    fn steps(&self) -> u32 {
        self.inner.steps()
    }

    fn pieces(&self) -> u32 {
        self.inner.pieces()
    }

    fn turn(&self, rank: u32, step: u32, turn: &mut Turn<'_>) {
        let Some(&(group, place)) = self.places.get(&rank) else {
            return;
        };
        let (sent, received) = (turn.sends.len(), turn.receives.len());
        self.inner.turn(place, step, turn);
        let sends = turn.sends[sent..].iter_mut();
        for message in sends.chain(&mut turn.receives[received..]) {
            message.peer = self.groups[group][message.peer as usize];
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use etalon_scenario::{Collective, CollectiveKind};

    use crate::steps;

    /// Three groups of two of seven ranks swap halves of 10 bytes; rank 3 does nothing.
    #[test]
    fn groups_work_at_once_and_others_do_nothing() {
        let mut collective = Collective::new(CollectiveKind::ReduceScatter, "ring", 10);
        collective.among = vec![vec![0, 4], vec![6, 1], vec![2, 5]];
        let messages = steps(&collective, 7).unwrap();
        let of_a_step = [
            (0, 4, 5),
            (1, 6, 5),
            (2, 5, 5),
            (4, 0, 5),
            (5, 2, 5),
            (6, 1, 5),
        ];
        assert_eq!(messages, [of_a_step]);
    }
}
