// SPDX-License-Identifier: MIT OR Apache-2.0
//! All-to-all by pairs: in step i ranks exchange whose numbers differ by i, bit by bit.

use alloc::boxed::Box;

use etalon_scenario::Collective;

use super::{Made, exponent, one};
use crate::algorithm::Algorithm;
use crate::turn::Turn;

pub(crate) const ABOUT: &str = "pairs exchange their blocks, each pair in a step of its own";

#[derive(Debug)]
struct Pairwise {
    ranks: u32,
}

impl Algorithm for Pairwise {
    fn steps(&self) -> u32 {
        self.ranks - 1
    }

    fn pieces(&self) -> u32 {
        self.ranks * self.ranks
    }

    fn turn(&self, rank: u32, step: u32, turn: &mut Turn<'_>) {
        let peer = rank ^ (step + 1);
        turn.send(peer, one(rank * self.ranks + peer));
        turn.receive(peer, one(peer * self.ranks + rank));
    }
}

pub(crate) fn all_to_all(_: &Collective, ranks: u32) -> Made {
    exponent(ranks, "pairwise")?;
    Ok(Box::new(Pairwise { ranks }))
}
