// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rotor switches: each goes through its share of the matchings, again and again.

use alloc::vec::Vec;

use crate::{Rng, RouteError, Slices, matchings};

/// A rotor network (RotorNet, SIGCOMM 2017): the matchings are dealt to the switches, which change all together at each slice's end. A
/// cycle has racks / switches slices.
///
/// # Errors
/// [`RouteError`] if the switches cannot share out the matchings evenly.
pub fn rotor(racks: usize, switches: usize, rng: &mut Rng) -> Result<Slices, RouteError> {
    let dealt = deal(racks, switches, rng)?;
    let each = racks / switches;
    let peers = table(racks, &dealt, each, |slice, _| slice);
    Slices::new(racks, switches, peers, alloc::vec![switches; each])
}

/// Opera (NSDI 2020, section 3): the same, but one switch after the other changes, so that the others are there all the time. Slice s
/// ends with a change of switch s mod switches; a cycle has as many slices as racks.
///
/// # Errors
/// [`RouteError`] if the switches cannot share out the matchings evenly.
pub fn opera(racks: usize, switches: usize, rng: &mut Rng) -> Result<Slices, RouteError> {
    let dealt = deal(racks, switches, rng)?;
    let each = racks / switches;
    let held = |slice: usize, switch: usize| (slice + switches - 1 - switch) / switches % each;
    let peers = table(racks, &dealt, racks, held);
    let ending = (0..racks).map(|slice| slice % switches).collect();
    Slices::new(racks, switches, peers, ending)
}

/// Each switch's matchings, in its order.
fn deal(racks: usize, switches: usize, rng: &mut Rng) -> Result<Vec<Vec<Vec<u16>>>, RouteError> {
    if switches == 0 || !racks.is_multiple_of(switches) {
        return Err(RouteError::Deal { racks, switches });
    }
    let mut all = matchings(racks, rng)?.into_iter();
    Ok((0..switches)
        .map(|_| all.by_ref().take(racks / switches).collect())
        .collect())
}

/// The table of slices; `held` says which of its matchings a switch has in a slice.
fn table(
    racks: usize,
    dealt: &[Vec<Vec<u16>>],
    slices: usize,
    held: impl Fn(usize, usize) -> usize,
) -> Vec<u16> {
    let mut peers = Vec::with_capacity(slices * racks * dealt.len());
    for slice in 0..slices {
        for rack in 0..racks {
            for (switch, matchings) in dealt.iter().enumerate() {
                peers.push(matchings[held(slice, switch)][rack]);
            }
        }
    }
    peers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;
    use proptest::prelude::{any, prop_assert_eq, prop_assume, proptest};

    proptest! {
        #[test]
        fn every_pair_meets_once_in_a_rotors_cycle_and_as_long_in_operas(
            each in 1usize..6, switches in 1usize..6, seed in any::<u64>(),
        ) {
            let racks = each * switches;
            prop_assume!(racks >= 2);
            let together = rotor(racks, switches, &mut Rng::new(seed)).unwrap();
            let staggered = opera(racks, switches, &mut Rng::new(seed)).unwrap();
            prop_assert_eq!((together.len(), staggered.len()), (each, racks));
            for a in 0..racks {
                for b in 0..racks {
                    prop_assert_eq!(together.meetings(a, b), 1);
                    prop_assert_eq!(staggered.meetings(a, b), switches);
                }
            }
        }

        #[test]
        fn only_the_switch_that_turns_dark_changes(each in 1usize..6, switches in 1usize..6, seed in any::<u64>()) {
            let racks = each * switches;
            prop_assume!(racks >= 2);
            let slices = opera(racks, switches, &mut Rng::new(seed)).unwrap();
            for slice in 0..racks {
                let after = (slice + 1) % racks;
                for switch in (0..switches).filter(|&switch| slices.ending(slice) != Some(switch)) {
                    for rack in 0..racks {
                        prop_assert_eq!(slices.peer(slice, rack, switch), slices.peer(after, rack, switch));
                    }
                }
            }
        }
    }

    #[test]
    fn matchings_that_cannot_be_shared_out_are_refused() {
        let deal = RouteError::Deal {
            racks: 7,
            switches: 2,
        };
        assert_eq!(opera(7, 2, &mut Rng::new(1)), Err(deal));
        assert_eq!(
            rotor(7, 0, &mut Rng::new(1)),
            Err(RouteError::Deal {
                racks: 7,
                switches: 0
            })
        );
    }
}
