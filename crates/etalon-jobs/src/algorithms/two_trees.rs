// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two binary trees, each for half of the vector: who is an inner node of one is a leaf of the other, so that all send alike (Sanders,
//! Speck and Träff, Parallel Computing 2009; NCCL's double binary trees).

use alloc::boxed::Box;

use etalon_scenario::Collective;

use super::{Made, chain, one};
use crate::algorithm::Algorithm;
use crate::turn::Turn;

pub(crate) const ABOUT: &str =
    "two binary trees for half of the vector each, up and down, in `pieces` (16)";

#[derive(Debug)]
struct TwoTrees {
    ranks: u32,
    /// Of each tree.
    pieces: u32,
    /// Edges from the root to the deepest leaf.
    depth: u32,
}

/// A node of a tree of places in order: its depth, parent and children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    depth: u32,
    parent: Option<u32>,
    children: [Option<u32>; 2],
}

/// The inner node of places `low..high`, of which `low` is even: it is odd, and near the middle.
fn middle(low: u32, high: u32) -> Option<u32> {
    match high.saturating_sub(low) {
        0 => None,
        1 => Some(low),
        size => {
            let half = low + size / 2;
            Some(half - u32::from(half.is_multiple_of(2)))
        }
    }
}

/// The node at a place, among `ranks`.
fn node(place: u32, ranks: u32) -> Node {
    let (mut low, mut high, mut depth, mut parent) = (0, ranks, 0, None);
    loop {
        let here = middle(low, high).expect("a place within the range");
        if here == place {
            let children = [middle(low, here), middle(here + 1, high)];
            return Node {
                depth,
                parent,
                children,
            };
        }
        (depth, parent) = (depth + 1, Some(here));
        if place < here {
            high = here;
        } else {
            low = here + 1;
        }
    }
}

impl Algorithm for TwoTrees {
    fn steps(&self) -> u32 {
        2 * self.depth + self.pieces - 1
    }

    fn pieces(&self) -> u32 {
        2 * self.pieces
    }

    fn turn(&self, rank: u32, step: u32, turn: &mut Turn<'_>) {
        let n = self.ranks;
        for tree in 0..2 {
            let at = |place: u32| (place + n - tree) % n;
            let node = node((rank + tree) % n, n);
            let piece_of = |first: u32| {
                let piece = step.checked_sub(first).filter(|&p| p < self.pieces)?;
                Some(tree * self.pieces + piece)
            };
            // Piece p passes the edge above depth d in step depth - d + p on its way up, in step depth + d - 1 + p down.
            let up = |depth: u32| piece_of(self.depth - depth);
            let down = |depth: u32| piece_of(self.depth + depth - 1);
            if let Some(parent) = node.parent.map(at) {
                if let Some(piece) = up(node.depth) {
                    turn.send(parent, one(piece));
                }
                if let Some(piece) = down(node.depth) {
                    turn.receive(parent, one(piece));
                }
            }
            for child in node.children.into_iter().flatten().map(at) {
                if let Some(piece) = up(node.depth + 1) {
                    turn.combine(child, one(piece));
                }
                if let Some(piece) = down(node.depth + 1) {
                    turn.send(child, one(piece));
                }
            }
        }
    }
}

pub(crate) fn all_reduce(of: &Collective, ranks: u32) -> Made {
    let depth = (0..ranks).map(|place| node(place, ranks).depth).max();
    Ok(Box::new(TwoTrees {
        ranks,
        pieces: chain::pieces(of)?,
        depth: depth.unwrap_or(0),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_nodes_of_one_tree_are_leaves_of_the_other() {
        for ranks in 2..=130 {
            for rank in 0..ranks {
                let is_inner = |tree| node((rank + tree) % ranks, ranks).children != [None; 2];
                assert!(!(is_inner(0) && is_inner(1)), "rank {rank} of {ranks}");
            }
            let deepest = (0..ranks).map(|place| node(place, ranks).depth).max();
            assert!(deepest <= Some(ranks.ilog2() + 1), "{ranks}: {deepest:?}");
        }
    }
}
