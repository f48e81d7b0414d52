// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which uplink each circuit of a set takes: a bipartite graph whose nodes have k edges at most can be coloured with k colours (König),
//! edge after edge, along alternating paths.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::{CrossConnect, Pair, Plane};

/// A rack with more circuits in one direction than it has uplinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crowded {
    /// The rack.
    pub rack: u16,
    /// Circuits leave it; else they lead to it.
    pub leaves: bool,
    /// How many.
    pub circuits: usize,
}

/// An uplink for each circuit, one given twice being two circuits: that of `before` if there was one, so that it can stay. In order.
///
/// # Errors
/// [`Crowded`] if a rack has too few uplinks.
pub fn deal(
    circuits: &[Pair],
    uplinks: u8,
    before: &[CrossConnect],
) -> Result<Vec<CrossConnect>, Crowded> {
    let mut left: BTreeMap<Pair, usize> = BTreeMap::new();
    let mut ends: BTreeMap<(u16, bool), usize> = BTreeMap::new();
    for &pair in circuits {
        *left.entry(pair).or_default() += 1;
        for (rack, leaves) in [(pair.src, true), (pair.dst, false)] {
            let circuits = ends.entry((rack, leaves)).or_default();
            *circuits += 1;
            if *circuits > usize::from(uplinks) {
                let circuits = *circuits;
                return Err(Crowded {
                    rack,
                    leaves,
                    circuits,
                });
            }
        }
    }
    let mut dealt = Dealt::default();
    for connect in before {
        let uplink = connect.plane.0.wrapping_sub(Plane::CIRCUIT.0);
        let wanted = left.get_mut(&connect.pair).filter(|left| **left > 0);
        if let (Some(wanted), true) = (wanted, uplink < uplinks) {
            *wanted -= 1;
            dealt.put(connect.pair, uplink);
        }
    }
    for (pair, count) in left {
        for _ in 0..count {
            dealt.add(pair, uplinks);
        }
    }
    Ok(dealt.all())
}

/// Circuits that have an uplink.
#[derive(Debug, Default)]
struct Dealt {
    /// By rack and uplink.
    to: BTreeMap<(u16, u8), u16>,
    from: BTreeMap<(u16, u8), u16>,
}

impl Dealt {
    fn put(&mut self, Pair { src, dst }: Pair, uplink: u8) {
        self.to.insert((src, uplink), dst);
        self.from.insert((dst, uplink), src);
    }

    fn add(&mut self, pair: Pair, uplinks: u8) {
        let free = |ends: &BTreeMap<(u16, u8), u16>, rack| {
            (0..uplinks).find(|&uplink| !ends.contains_key(&(rack, uplink)))
        };
        // There are free ones, as no rack has more circuits than uplinks.
        let (Some(leaves), Some(comes)) = (free(&self.to, pair.src), free(&self.from, pair.dst))
        else {
            return;
        };
        if leaves != comes {
            self.swap_from(pair.dst, leaves, comes);
        }
        self.put(pair, leaves);
    }

    /// Makes an uplink free where circuits come to a rack: those of the path that alternates between two uplinks change places.
    fn swap_from(&mut self, rack: u16, taken: u8, other: u8) {
        let mut path = Vec::new();
        let mut dst = rack;
        while let Some(src) = self.from.remove(&(dst, taken)) {
            self.to.remove(&(src, taken));
            path.push((Pair { src, dst }, other));
            // The path goes on with the circuit that leaves that rack over the other uplink.
            let Some(next) = self.to.remove(&(src, other)) else {
                break;
            };
            self.from.remove(&(next, other));
            path.push((Pair { src, dst: next }, taken));
            dst = next;
        }
        for (pair, uplink) in path {
            self.put(pair, uplink);
        }
    }

    fn all(&self) -> Vec<CrossConnect> {
        let all = self.to.iter();
        let mut all: Vec<CrossConnect> = all
            .map(|(&(src, uplink), &dst)| CrossConnect {
                plane: Plane(Plane::CIRCUIT.0 + uplink),
                pair: Pair { src, dst },
            })
            .collect();
        all.sort_unstable();
        all
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop, prop_assert, prop_assert_eq, proptest};

    use super::*;

    fn pair(src: u16, dst: u16) -> Pair {
        Pair { src, dst }
    }

    #[test]
    fn one_uplink_takes_a_matching_only() {
        let dealt = deal(&[pair(1, 2), pair(0, 1)], 1, &[]).unwrap();
        assert!(dealt.iter().all(|one| one.plane == Plane::CIRCUIT));
        let crowded = deal(&[pair(0, 1), pair(0, 2)], 1, &[]).unwrap_err();
        assert_eq!(
            (crowded.rack, crowded.leaves, crowded.circuits),
            (0, true, 2)
        );
        let crowded = deal(&[pair(0, 2), pair(1, 2)], 1, &[]).unwrap_err();
        assert_eq!((crowded.rack, crowded.leaves), (2, false));
    }

    proptest! {
        /// Each circuit has an uplink, no uplink two circuits, and what was there stays where it can.
        #[test]
        fn all_circuits_find_an_uplink(
            drawn in prop::collection::vec((0_u16..7, 0_u16..7), 0..40),
            uplinks in 1_u8..5,
            again in 0_usize..40,
        ) {
            let mut circuits: Vec<Pair> = Vec::new();
            for (src, dst) in drawn {
                let count = |found: &dyn Fn(&Pair) -> bool| circuits.iter().filter(|one| found(one)).count();
                let fits = count(&|one| one.src == src).max(count(&|one| one.dst == dst));
                if fits < usize::from(uplinks) {
                    circuits.push(pair(src, dst));
                }
            }
            let dealt = deal(&circuits, uplinks, &[]).unwrap();
            let mut pairs: Vec<Pair> = dealt.iter().map(|one| one.pair).collect();
            pairs.sort_unstable();
            circuits.sort_unstable();
            prop_assert_eq!(&pairs, &circuits);
            let mut ends: Vec<_> = dealt
                .iter()
                .flat_map(|one| [(one.plane, one.pair.src, true), (one.plane, one.pair.dst, false)])
                .collect();
            ends.sort_unstable();
            ends.dedup();
            prop_assert_eq!(ends.len(), 2 * circuits.len());
            prop_assert!(dealt.iter().all(|one| (1..=uplinks).contains(&one.plane.0)));
            // The same again changes nothing, nor do fewer.
            prop_assert_eq!(&deal(&circuits, uplinks, &dealt).unwrap(), &dealt);
            let fewer: Vec<CrossConnect> = dealt.iter().skip(again % (dealt.len() + 1)).copied().collect();
            let some: Vec<Pair> = fewer.iter().map(|one| one.pair).collect();
            prop_assert_eq!(deal(&some, uplinks, &dealt).unwrap().len(), fewer.len());
        }
    }
}
