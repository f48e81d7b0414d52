// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which circuits of a set lead a message to its rack: its own, or those of the ways with the fewest hops.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use etalon_scenario::{CrossConnect, Pair};

/// Circuits that messages take.
pub type Route = Arc<[CrossConnect]>;

/// A set of circuits.
#[derive(Debug)]
pub(crate) struct Routes<'a> {
    circuits: &'a [CrossConnect],
    /// Packets go on from rack to rack, so often at most.
    most: u16,
    /// By rack, the places of circuits that leave it, and that lead to it.
    from: Vec<Vec<u32>>,
    to: Vec<Vec<u32>>,
}

impl<'a> Routes<'a> {
    /// Of these circuits; ways have so many hops at most.
    pub(crate) fn new(circuits: &'a [CrossConnect], most: u16) -> Routes<'a> {
        let ends = circuits.iter().map(|one| one.pair.src.max(one.pair.dst));
        let racks = ends.max().map_or(0, |last| usize::from(last) + 1);
        let mut routes = Routes {
            circuits,
            most,
            from: alloc::vec![Vec::new(); racks],
            to: alloc::vec![Vec::new(); racks],
        };
        for (place, one) in (0..).zip(circuits) {
            routes.from[usize::from(one.pair.src)].push(place);
            routes.to[usize::from(one.pair.dst)].push(place);
        }
        routes
    }

    /// The circuits of the shortest ways; none if there is no way.
    pub(crate) fn between(&self, pair: Pair) -> Route {
        let racks = self.from.len();
        let (src, dst) = (usize::from(pair.src), usize::from(pair.dst));
        if src >= racks || dst >= racks {
            return Arc::new([]);
        }
        let Some(hops) = self.hops(src, dst) else {
            return Arc::new([]);
        };
        // Backwards along all circuits that are a hop nearer to the source.
        let mut found = Vec::new();
        let mut seen = alloc::vec![false; racks];
        let mut queue = VecDeque::from([dst]);
        seen[dst] = true;
        while let Some(rack) = queue.pop_front() {
            for &place in &self.to[rack] {
                let one = self.circuits[place as usize];
                let before = usize::from(one.pair.src);
                if hops[before] == u16::MAX || hops[before] + 1 != hops[rack] {
                    continue;
                }
                found.push(one);
                if !seen[before] {
                    seen[before] = true;
                    queue.push_back(before);
                }
            }
        }
        found.into()
    }

    /// Hops from a rack to those that are nearer than another, and to that; none if there is no way.
    fn hops(&self, src: usize, dst: usize) -> Option<Vec<u16>> {
        let mut hops = alloc::vec![u16::MAX; self.from.len()];
        let mut queue = VecDeque::from([src]);
        hops[src] = 0;
        while let Some(rack) = queue.pop_front() {
            if rack == dst {
                return Some(hops);
            }
            if hops[rack] == self.most {
                return None;
            }
            for &place in &self.from[rack] {
                let next = usize::from(self.circuits[place as usize].pair.dst);
                if hops[next] == u16::MAX {
                    hops[next] = hops[rack] + 1;
                    queue.push_back(next);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use etalon_scenario::Plane;

    use super::*;

    fn circuits(pairs: &[(u16, u16)]) -> Vec<CrossConnect> {
        let plane = Plane::CIRCUIT;
        let connect = |&(src, dst): &(u16, u16)| CrossConnect {
            plane,
            pair: Pair { src, dst },
        };
        pairs.iter().map(connect).collect()
    }

    fn between(pairs: &[(u16, u16)], most: u16, src: u16, dst: u16) -> Vec<(u16, u16)> {
        let circuits = circuits(pairs);
        let route = Routes::new(&circuits, most).between(Pair { src, dst });
        let mut found: Vec<_> = route.iter().map(|c| (c.pair.src, c.pair.dst)).collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn all_shortest_ways_count() {
        let ring = [(0, 1), (1, 2), (2, 3), (3, 0)];
        assert_eq!(between(&ring, 9, 1, 3), [(1, 2), (2, 3)]);
        assert_eq!(between(&ring, 1, 1, 3), [], "too far");
        assert_eq!(between(&ring, 1, 1, 2), [(1, 2)]);
        let square = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 0)];
        assert_eq!(between(&square, 9, 0, 3), [(0, 1), (0, 2), (1, 3), (2, 3)]);
        assert_eq!(between(&square, 9, 0, 7), [], "no such rack");
        assert_eq!(
            between(&[(0, 1), (0, 1)], 1, 0, 1),
            [(0, 1), (0, 1)],
            "both"
        );
    }
}
