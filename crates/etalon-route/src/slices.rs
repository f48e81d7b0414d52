// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who meets whom in each slice of time.

use alloc::vec::Vec;

use crate::RouteError;

/// A rack that a switch joins to none.
pub const NONE: u16 = u16::MAX;
/// Racks of a network at most.
pub const MOST_RACKS: usize = 4096;

/// For each slice, rack and circuit switch the rack that is met; a rack that a matching leaves alone meets itself.
///
/// Circuits go both ways: who is met meets; or each rack leads to another, and the circuits go one way. A switch may be about to turn dark in a slice, since it changes its matching at the
/// slice's end (Opera, NSDI 2020, section 3.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slices {
    racks: usize,
    switches: usize,
    peers: Vec<u16>,
    /// For each slice the switch that turns dark at its end; the number of switches if none does.
    ending: Vec<usize>,
}

impl Slices {
    /// A table, slice by slice, in each rack by rack, of each switch by switch.
    ///
    /// # Errors
    /// [`RouteError`] if its shape is another, or a circuit goes one way only.
    pub fn new(
        racks: usize,
        switches: usize,
        peers: Vec<u16>,
        ending: Vec<usize>,
    ) -> Result<Slices, RouteError> {
        if !(2..=MOST_RACKS).contains(&racks) {
            return Err(RouteError::Racks(racks));
        }
        if switches == 0 || ending.is_empty() || peers.len() != ending.len() * racks * switches {
            return Err(RouteError::Shape(peers.len()));
        }
        let made = Slices {
            racks,
            switches,
            peers,
            ending,
        };
        made.check()?;
        Ok(made)
    }

    /// A switch joins both ways, or leads each rack to another than it leads others; in a graph, where an uplink leads to another rack's
    /// whatever uplink, that one has to lead back.
    fn check(&self) -> Result<(), RouteError> {
        let is_graph = self.len() == 1;
        for slice in 0..self.len() {
            for rack in 0..self.racks {
                for switch in 0..self.switches {
                    let peer = usize::from(self.peer(slice, rack, switch));
                    let meets = |at: usize| usize::from(self.peer(slice, peer, at)) == rack;
                    let back = peer < self.racks
                        && (meets(switch) || is_graph && (0..self.switches).any(meets));
                    if !back && peer != usize::from(NONE) && !self.is_permutation(slice, switch) {
                        return Err(RouteError::OneWay {
                            slice,
                            switch,
                            rack,
                        });
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether a switch leads to each rack once.
    fn is_permutation(&self, slice: usize, switch: usize) -> bool {
        let mut met = alloc::vec![false; self.racks];
        (0..self.racks).all(|rack| {
            let peer = usize::from(self.peer(slice, rack, switch));
            peer < self.racks && !core::mem::replace(&mut met[peer], true)
        })
    }

    /// How many slices a cycle has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ending.len()
    }

    /// Never: a cycle has a slice.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// How many racks there are.
    #[must_use]
    pub fn racks(&self) -> usize {
        self.racks
    }

    /// How many circuit switches there are, and uplinks of a rack.
    #[must_use]
    pub fn switches(&self) -> usize {
        self.switches
    }

    /// Whom a rack meets over a switch: [`NONE`] for nobody, itself if its matching leaves it alone.
    #[must_use]
    pub fn peer(&self, slice: usize, rack: usize, switch: usize) -> u16 {
        self.peers[(slice * self.racks + rack) * self.switches + switch]
    }

    /// All of it, as [`new`](Slices::new) takes it.
    #[must_use]
    pub fn peers(&self) -> &[u16] {
        &self.peers
    }

    /// The switch that turns dark at a slice's end, if one does.
    #[must_use]
    pub fn ending(&self, slice: usize) -> Option<usize> {
        Some(self.ending[slice]).filter(|&switch| switch < self.switches)
    }

    /// The racks that a rack reaches in one hop within a slice, over switches that stay: the one about to turn dark is left out.
    pub fn neighbours(&self, slice: usize, rack: usize) -> impl Iterator<Item = (usize, usize)> {
        let ending = self.ending(slice);
        (0..self.switches)
            .filter(move |&switch| Some(switch) != ending)
            .map(move |switch| (switch, usize::from(self.peer(slice, rack, switch))))
            .filter(move |&(_, peer)| peer != usize::from(NONE) && peer != rack)
    }

    /// How often a rack pair meets in a cycle, over any switch, dark soon or not.
    #[must_use]
    pub fn meetings(&self, a: usize, b: usize) -> usize {
        (0..self.len())
            .flat_map(|slice| (0..self.switches).map(move |switch| (slice, switch)))
            .filter(|&(slice, switch)| usize::from(self.peer(slice, a, switch)) == b)
            .count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn a_table_must_have_its_shape_and_both_ways() {
        let two = |peers: Vec<u16>| Slices::new(2, 1, peers, vec![1]);
        assert_eq!(two(vec![1]), Err(RouteError::Shape(1)));
        assert!(two(vec![1, 0]).is_ok());
        assert!(two(vec![NONE, NONE]).is_ok());
        assert!(two(vec![0, 1]).is_ok(), "each alone");
        for wrong in [vec![1, NONE], vec![1, 1], vec![7, 0]] {
            assert!(matches!(two(wrong), Err(RouteError::OneWay { .. })));
        }
        assert_eq!(
            Slices::new(1, 1, vec![0], vec![1]),
            Err(RouteError::Racks(1))
        );
    }

    #[test]
    fn the_switch_about_to_turn_dark_has_no_neighbours() {
        let slices = Slices::new(2, 2, vec![1, 1, 0, 0], vec![0]).unwrap();
        assert_eq!(slices.ending(0), Some(0));
        assert_eq!(slices.neighbours(0, 0).collect::<Vec<_>>(), [(1, 1)]);
        assert_eq!(slices.meetings(0, 1), 2);
    }
}
