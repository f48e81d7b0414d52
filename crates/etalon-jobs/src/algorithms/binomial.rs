// SPDX-License-Identifier: MIT OR Apache-2.0
//! Binomial trees: the ranks that have the vector double in each step.

use alloc::boxed::Box;

use etalon_scenario::Collective;

use super::{Backwards, Made, ceiling, one};
use crate::algorithm::Algorithm;
use crate::turn::Turn;

pub(crate) const ABOUT: &str = "who has the vector sends it to one more, each step: fewest steps";

#[derive(Debug)]
struct Binomial {
    ranks: u32,
    root: u32,
}

impl Algorithm for Binomial {
    fn steps(&self) -> u32 {
        ceiling(self.ranks)
    }

    fn pieces(&self) -> u32 {
        1
    }

    fn turn(&self, rank: u32, step: u32, turn: &mut Turn<'_>) {
        let n = self.ranks;
        let (place, far) = ((rank + n - self.root) % n, 1 << step);
        if place < far && place + far < n {
            turn.send((rank + far) % n, one(0));
        } else if place >= far && place < 2 * far {
            turn.receive((rank + n - far) % n, one(0));
        }
    }
}

pub(crate) fn broadcast(of: &Collective, ranks: u32) -> Made {
    let root = of.root;
    Ok(Box::new(Binomial { ranks, root }))
}

pub(crate) fn reduce(of: &Collective, ranks: u32) -> Made {
    Ok(Box::new(Backwards(broadcast(of, ranks)?)))
}
