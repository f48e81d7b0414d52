// SPDX-License-Identifier: MIT OR Apache-2.0
//! A binary tree: each rank sends the vector to one child, then to the other.

use alloc::boxed::Box;

use etalon_scenario::Collective;

use super::{Backwards, Made, one};
use crate::algorithm::Algorithm;
use crate::turn::Turn;

pub(crate) const ABOUT: &str = "a binary tree: each rank sends to its two children in turn";

#[derive(Debug)]
struct Tree {
    ranks: u32,
    root: u32,
    steps: u32,
}

/// The step after which the rank at a place has the vector: a first child takes one step more than its parent, a second child two.
fn has_after(mut place: u32) -> u32 {
    let mut steps = 0;
    while place > 0 {
        steps += if place % 2 == 1 { 1 } else { 2 };
        place = (place - 1) / 2;
    }
    steps
}

impl Algorithm for Tree {
    fn steps(&self) -> u32 {
        self.steps
    }

    fn pieces(&self) -> u32 {
        1
    }

    fn turn(&self, rank: u32, step: u32, turn: &mut Turn<'_>) {
        let n = self.ranks;
        let place = (rank + n - self.root) % n;
        let at = |place: u32| (place + self.root) % n;
        let has = has_after(place);
        if place > 0 && step + 1 == has {
            turn.receive(at((place - 1) / 2), one(0));
        }
        let child = step.checked_sub(has).map(|which| 2 * place + 1 + which);
        if let Some(child) = child.filter(|&child| child <= 2 * place + 2 && child < n) {
            turn.send(at(child), one(0));
        }
    }
}

pub(crate) fn broadcast(of: &Collective, ranks: u32) -> Made {
    let steps = (0..ranks).map(has_after).max().unwrap_or(0);
    Ok(Box::new(Tree {
        ranks,
        root: of.root,
        steps,
    }))
}

pub(crate) fn reduce(of: &Collective, ranks: u32) -> Made {
    Ok(Box::new(Backwards(broadcast(of, ranks)?)))
}
