// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recursive doubling of whole vectors (Thakur, Rabenseifner and Gropp, IJHPCA 2005, section 4.5).

use alloc::boxed::Box;

use etalon_scenario::Collective;

use super::{Made, exponent, one};
use crate::algorithm::Algorithm;
use crate::turn::Turn;

pub(crate) const ABOUT: &str =
    "pairs exchange whole vectors, twice as far apart each time: fewest steps, most bytes";

#[derive(Debug)]
struct Doubling {
    steps: u32,
}

impl Algorithm for Doubling {
    fn steps(&self) -> u32 {
        self.steps
    }

    fn pieces(&self) -> u32 {
        1
    }

    fn turn(&self, rank: u32, step: u32, turn: &mut Turn<'_>) {
        let peer = rank ^ 1 << step;
        turn.send(peer, one(0));
        turn.combine(peer, one(0));
    }
}

pub(crate) fn all_reduce(_: &Collective, ranks: u32) -> Made {
    let steps = exponent(ranks, "recursive-doubling")?;
    Ok(Box::new(Doubling { steps }))
}
