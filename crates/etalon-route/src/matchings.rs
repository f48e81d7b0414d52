// SPDX-License-Identifier: MIT OR Apache-2.0
//! All racks meet: a complete graph with loops as matchings that have no pair in common.

use alloc::vec::Vec;

use crate::{MOST_RACKS, Rng, RouteError};

/// Exchanges between two matchings, for each pair of them.
const EXCHANGES: usize = 4;

/// As many random matchings as there are racks, in which each pair of racks, and each rack with itself, is exactly once. In each, who
/// is met meets.
///
/// They begin as sums: matching m joins racks whose numbers add up to m. Two matchings together are paths and cycles of racks; on one
/// of these the two may be exchanged, which is done at random places many times.
///
/// # Errors
/// [`RouteError::Racks`] for fewer than two racks, or too many.
pub fn matchings(racks: usize, rng: &mut Rng) -> Result<Vec<Vec<u16>>, RouteError> {
    if !(2..=MOST_RACKS).contains(&racks) {
        return Err(RouteError::Racks(racks));
    }
    let mut name: Vec<u16> = (0..racks as u16).collect();
    rng.shuffle(&mut name);
    let mut all: Vec<Vec<u16>> = (0..racks)
        .map(|sum| {
            let mut matching = alloc::vec![0; racks];
            for rack in 0..racks {
                let peer = (sum + racks - rack) % racks;
                matching[usize::from(name[rack])] = name[peer];
            }
            matching
        })
        .collect();
    for first in 0..racks {
        for second in first + 1..racks {
            for _ in 0..EXCHANGES {
                let (low, high) = all.split_at_mut(second);
                exchange(&mut low[first], &mut high[0], rng.below(racks));
            }
        }
    }
    rng.shuffle(&mut all);
    Ok(all)
}

/// Exchanges two matchings on the path or cycle that a rack is on.
fn exchange(a: &mut [u16], b: &mut [u16], rack: usize) {
    let mut component = alloc::vec![rack];
    for (first, second) in [(&*a, &*b), (&*b, &*a)] {
        // From the rack by the one, on by the other, until a loop ends the path or the cycle is closed.
        let (mut at, mut by, mut next) = (rack, first, second);
        loop {
            let peer = usize::from(by[at]);
            if peer == at || peer == rack {
                break;
            }
            component.push(peer);
            at = peer;
            core::mem::swap(&mut by, &mut next);
        }
    }
    component.sort_unstable();
    component.dedup();
    for at in component {
        core::mem::swap(&mut a[at], &mut b[at]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    proptest! {
        #[test]
        fn every_pair_is_in_one_matching(racks in 2usize..40, seed in any::<u64>()) {
            let all = matchings(racks, &mut Rng::new(seed)).unwrap();
            prop_assert_eq!(all.len(), racks);
            let mut met = alloc::vec![0u8; racks * racks];
            for matching in &all {
                for (rack, &peer) in matching.iter().enumerate() {
                    prop_assert_eq!(usize::from(matching[usize::from(peer)]), rack);
                    met[rack * racks + usize::from(peer)] += 1;
                }
            }
            prop_assert!(met.iter().all(|&times| times == 1));
        }
    }

    #[test]
    fn they_are_not_just_sums() {
        let all = matchings(16, &mut Rng::new(1)).unwrap();
        let loops: Vec<usize> = all
            .iter()
            .map(|matching| {
                (0..16)
                    .filter(|&rack| usize::from(matching[rack]) == rack)
                    .count()
            })
            .collect();
        assert!(
            loops.iter().any(|&count| count != 0 && count != 2),
            "{loops:?}"
        );
    }
}
