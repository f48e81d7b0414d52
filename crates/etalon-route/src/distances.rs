// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far racks are from each other within a slice.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::Slices;

/// What stands for no way.
const NO_WAY: u8 = u8::MAX;

/// Hops between all racks in all slices, over switches that stay (breadth first).
#[derive(Clone, Debug)]
pub struct Distances {
    racks: usize,
    hops: Vec<u8>,
}

impl Distances {
    /// Of all slices.
    #[must_use]
    pub fn of(slices: &Slices) -> Distances {
        Distances::without(slices, |_, _, _| false)
    }

    /// The same where some circuits have failed: `has_failed` is asked for slice, rack and switch, and a circuit has failed if it has
    /// at either end.
    #[must_use]
    pub fn without(slices: &Slices, has_failed: impl Fn(usize, usize, usize) -> bool) -> Distances {
        let racks = slices.racks();
        let mut hops = alloc::vec![NO_WAY; slices.len() * racks * racks];
        let mut queue = VecDeque::new();
        for (at, row) in hops.chunks_mut(racks).enumerate() {
            let (slice, from) = (at / racks, at % racks);
            row[from] = 0;
            queue.push_back(from);
            while let Some(rack) = queue.pop_front() {
                for (switch, peer) in slices.neighbours(slice, rack) {
                    let failed = has_failed(slice, rack, switch) || has_failed(slice, peer, switch);
                    if !failed && row[peer] == NO_WAY {
                        row[peer] = row[rack].saturating_add(1).min(NO_WAY - 1);
                        queue.push_back(peer);
                    }
                }
            }
        }
        Distances { racks, hops }
    }

    /// Hops between two racks in a slice; none if there is no way.
    #[must_use]
    pub fn hops(&self, slice: usize, from: usize, to: usize) -> Option<u8> {
        let hops = self.hops[(slice * self.racks + from) * self.racks + to];
        (hops != NO_WAY).then_some(hops)
    }

    /// All of them, slice by slice, from rack by rack, to rack by rack; 255 where there is no way.
    #[must_use]
    pub fn all(&self) -> &[u8] {
        &self.hops
    }

    /// Whether all racks reach each other in every slice.
    #[must_use]
    pub fn are_connected(&self) -> bool {
        !self.hops.contains(&NO_WAY)
    }

    /// How many pairs of different racks, of all slices, are so many hops apart, from 0 on; the last number is of pairs without a way.
    #[must_use]
    pub fn histogram(&self) -> (Vec<u64>, u64) {
        let longest = self.hops.iter().filter(|&&hops| hops != NO_WAY).max();
        let mut counts = alloc::vec![0; usize::from(longest.copied().unwrap_or(0)) + 1];
        let mut without = 0;
        for (at, &hops) in self.hops.iter().enumerate() {
            let (from, to) = (at / self.racks % self.racks, at % self.racks);
            match hops {
                _ if from == to => {}
                NO_WAY => without += 1,
                _ => counts[usize::from(hops)] += 1,
            }
        }
        (counts, without)
    }
}

/// Entries of a ToR's tables in Opera (NSDI 2020, section 6.2): in each slice one for each other rack, by the expander, and one for each
/// rack that is met directly over a switch that stays.
#[must_use]
pub fn entries(racks: u64, switches: u64) -> u64 {
    racks * (racks - 1) + racks * (switches - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Rng, opera};
    use alloc::vec;

    #[test]
    fn a_ring_of_four_by_hand() {
        // Switch 0: 0-1, 2-3; switch 1: 1-2, 3-0; none turns dark.
        let peers = vec![1, 3, 0, 2, 3, 1, 2, 0];
        let slices = Slices::new(4, 2, peers, vec![2]).unwrap();
        let distances = Distances::of(&slices);
        assert_eq!(distances.hops(0, 0, 2), Some(2));
        assert_eq!(distances.histogram(), (vec![0, 8, 4], 0));
        let cut = Distances::without(&slices, |_, rack, switch| (rack, switch) == (0, 0));
        assert_eq!(cut.hops(0, 0, 1), Some(3), "the other way around");
        let alone = Distances::without(&slices, |_, rack, _| rack == 0);
        assert_eq!(alone.hops(0, 0, 1), None);
        assert_eq!(alone.histogram().1, 6);
    }

    /// NSDI 2020, section 6.2: racks, switches, entries.
    #[test]
    fn entries_are_the_published_ones() {
        let published = [
            (108, 6, 12_096),
            (252, 9, 65_268),
            (520, 13, 276_120),
            (768, 16, 600_576),
            (1008, 18, 1_032_192),
            (1200, 20, 1_461_600),
        ];
        for (racks, switches, expected) in published {
            assert_eq!(entries(racks, switches), expected, "{racks} racks");
        }
    }

    #[test]
    fn a_hundred_and_eight_racks_are_five_hops_apart_at_most() {
        let slices = opera(108, 6, &mut Rng::new(1)).unwrap();
        let (histogram, without) = Distances::of(&slices).histogram();
        assert_eq!(without, 0);
        assert!(histogram.len() <= 6, "{histogram:?}");
    }
}
