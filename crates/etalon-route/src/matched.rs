// SPDX-License-Identifier: MIT OR Apache-2.0
//! A static graph as matchings: which uplink leads to which neighbour, so that over each uplink each rack is reached by one at most.

use alloc::vec::Vec;

use crate::NONE;

/// As many matchings as the busiest rack has neighbours, there or back; in each, for every rack the one that it leads to, [`NONE`] for
/// none. Links may go one way only, and more than one may join the same racks.
///
/// A bipartite graph of degree d has an edge colouring with d colours (Koenig 1916), which is found link by link: where two ends lack
/// different colours, these are exchanged along the path that alternates between them.
#[must_use]
pub fn matched(racks: usize, neighbours: &[Vec<u16>]) -> Vec<Vec<u16>> {
    let mut into = alloc::vec![0; racks];
    for &peer in neighbours.iter().flatten() {
        into[usize::from(peer)] += 1;
    }
    let out = neighbours.iter().map(Vec::len).max().unwrap_or(0);
    let colours = out.max(into.into_iter().max().unwrap_or(0));
    // By colour: whom each rack leads to, and who leads to it.
    let mut to = alloc::vec![alloc::vec![NONE; racks]; colours];
    let mut from = to.clone();
    for (rack, peers) in neighbours.iter().enumerate() {
        for &peer in peers {
            let free = |table: &[Vec<u16>], at: usize| (0..colours).find(|&c| table[c][at] == NONE);
            let there = usize::from(peer);
            let (Some(a), Some(b)) = (free(&to, rack), free(&from, there)) else {
                continue; // not reached: there are as many colours as links of a rack
            };
            if from[a][there] != NONE {
                exchange(&mut to, &mut from, (a, b), there);
            }
            to[a][rack] = peer;
            from[a][there] = rack as u16;
        }
    }
    to
}

/// Exchanges two colours on the path that begins with the link of colour `a` into a rack, which has none of colour `b` into it.
fn exchange(to: &mut [Vec<u16>], from: &mut [Vec<u16>], (a, b): (usize, usize), rack: usize) {
    let mut links = Vec::new();
    let (mut reached, colour, other) = (rack, a, b);
    loop {
        let sender = from[colour][reached];
        if sender == NONE {
            break;
        }
        links.push((usize::from(sender), reached, colour));
        let next = to[other][usize::from(sender)];
        if next == NONE {
            break;
        }
        links.push((usize::from(sender), usize::from(next), other));
        reached = next.into();
    }
    for &(sender, receiver, colour) in &links {
        to[colour][sender] = NONE;
        from[colour][receiver] = NONE;
    }
    for &(sender, receiver, colour) in &links {
        let changed = if colour == a { b } else { a };
        to[changed][sender] = receiver as u16;
        from[changed][receiver] = sender as u16;
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

    use super::*;
    use crate::Rng;

    proptest! {
        #[test]
        fn each_link_has_an_uplink_and_no_rack_is_reached_twice_over_one(
            racks in 2usize..30, links in prop::collection::vec(any::<(u16, u16)>(), 0..120), seed in any::<u64>(),
        ) {
            let mut neighbours = alloc::vec![Vec::new(); racks];
            let mut rng = Rng::new(seed);
            for (a, b) in links {
                neighbours[usize::from(a) % racks].push(b % racks as u16);
            }
            for peers in &mut neighbours {
                rng.shuffle(peers);
            }
            let colours = matched(racks, &neighbours);
            let mut into = alloc::vec![0; racks];
            neighbours.iter().flatten().for_each(|&peer| into[usize::from(peer)] += 1);
            let most = neighbours.iter().map(Vec::len).max().unwrap().max(into.into_iter().max().unwrap());
            prop_assert_eq!(colours.len(), most);
            for colour in &colours {
                let mut reached: Vec<u16> = colour.iter().copied().filter(|&peer| peer != NONE).collect();
                let all = reached.len();
                reached.sort_unstable();
                reached.dedup();
                prop_assert_eq!(reached.len(), all);
            }
            for (rack, peers) in neighbours.iter().enumerate() {
                let mut expected = peers.clone();
                let mut found: Vec<u16> = colours.iter().map(|c| c[rack]).filter(|&p| p != NONE).collect();
                expected.sort_unstable();
                found.sort_unstable();
                prop_assert!(expected == found);
            }
        }
    }
}
