// SPDX-License-Identifier: MIT OR Apache-2.0
//! Static expanders: a random graph in which every rack has as many neighbours.

use alloc::vec::Vec;

use crate::{Distances, MOST_RACKS, NONE, Rng, RouteError, Slices};

/// Graphs that are tried.
const TRIES: usize = 1000;

/// A random connected graph of racks with `degree` neighbours each, as one slice that never ends: uplink i leads to the i-th neighbour.
///
/// Ends of links are paired at random, and pairs that join a rack to itself, or twice to another, are exchanged with others (as in
/// Jellyfish, NSDI 2012).
///
/// # Errors
/// [`RouteError::Degree`] if there is none, or none was found.
pub fn regular(racks: usize, degree: usize, rng: &mut Rng) -> Result<Slices, RouteError> {
    if !(2..=MOST_RACKS).contains(&racks) {
        return Err(RouteError::Racks(racks));
    }
    let refused = RouteError::Degree { racks, degree };
    if degree == 0 || degree >= racks || !(racks * degree).is_multiple_of(2) {
        return Err(refused);
    }
    for _ in 0..TRIES {
        let Some(neighbours) = paired(racks, degree, rng) else {
            continue;
        };
        let peers = neighbours.into_iter().flatten().collect();
        let slices = Slices::new(racks, degree, peers, alloc::vec![degree])?;
        if Distances::of(&slices).are_connected() {
            return Ok(slices);
        }
    }
    Err(refused)
}

fn paired(racks: usize, degree: usize, rng: &mut Rng) -> Option<Vec<Vec<u16>>> {
    let mut ends: Vec<u16> = (0..racks * degree)
        .map(|end| (end / degree) as u16)
        .collect();
    rng.shuffle(&mut ends);
    let mut pairs: Vec<(u16, u16)> = ends.chunks(2).map(|pair| (pair[0], pair[1])).collect();
    for _ in 0..100 * pairs.len() {
        let bad = (0..pairs.len()).find(|&at| is_bad(&pairs, at));
        let Some(at) = bad else {
            let mut neighbours = alloc::vec![Vec::with_capacity(degree); racks];
            for (a, b) in pairs {
                neighbours[usize::from(a)].push(b);
                neighbours[usize::from(b)].push(a);
            }
            return Some(neighbours);
        };
        let other = rng.below(pairs.len());
        let moved = pairs[other].1;
        pairs[other].1 = pairs[at].1;
        pairs[at].1 = moved;
    }
    None
}

/// Whether a pair joins a rack to itself, or two that another pair joins.
fn is_bad(pairs: &[(u16, u16)], at: usize) -> bool {
    let (a, b) = pairs[at];
    a == b
        || pairs
            .iter()
            .enumerate()
            .any(|(index, &pair)| index != at && (pair == (a, b) || pair == (b, a)))
}

const _: () = assert!(MOST_RACKS < NONE as usize);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, prop_assume, proptest};

    proptest! {
        #[test]
        fn every_rack_has_its_neighbours_once(racks in 4usize..40, degree in 3usize..6, seed in any::<u64>()) {
            prop_assume!(degree < racks && racks * degree % 2 == 0);
            let graph = regular(racks, degree, &mut Rng::new(seed)).unwrap();
            for rack in 0..racks {
                let mut found: Vec<usize> = graph.neighbours(0, rack).map(|(_, peer)| peer).collect();
                found.sort_unstable();
                found.dedup();
                prop_assert_eq!(found.len(), degree);
                for peer in found {
                    prop_assert!(graph.neighbours(0, peer).any(|(_, back)| back == rack));
                }
            }
        }
    }

    #[test]
    fn a_graph_that_there_is_not_is_refused() {
        for (racks, degree) in [(5, 3), (4, 4), (4, 0)] {
            assert_eq!(
                regular(racks, degree, &mut Rng::new(1)),
                Err(RouteError::Degree { racks, degree })
            );
        }
    }
}
