//! Halving and doubling in one direction around the ring: each step's circuits are one shift (Harvest, arXiv 2602.09188).
//!
//! The way of a piece from rank to owner, as a binary number, says in which steps it moves.

use alloc::boxed::Box;

use etalon_scenario::Collective;

use super::{Made, Then, exponent};
use crate::algorithm::Algorithm;
use crate::turn::Turn;

pub(crate) const ABOUT: &str =
    "halving and doubling with shifts by powers of 2 instead of pairs (Harvest)";

#[derive(Debug)]
struct Cyclic {
    steps: u32,
    reduces: bool,
}

impl Algorithm for Cyclic {
    fn steps(&self) -> u32 {
        self.steps
    }

    fn pieces(&self) -> u32 {
        1 << self.steps
    }

    fn turn(&self, rank: u32, step: u32, turn: &mut Turn<'_>) {
        let n = self.pieces();
        let far = 1
            << if self.reduces {
                step
            } else {
                self.steps - 1 - step
            };
        let (to, from) = ((rank + far) % n, (rank + n - far) % n);
        let (stride, count) = (2 * far, n / (2 * far));
        // Owners that are so many strides ahead of `base`, or behind it.
        let ahead = |base: u32| (0..count).map(move |k| (base + k * stride) % n);
        let behind = |base: u32| (0..count).map(move |k| (base + n - k * stride) % n);
        if self.reduces {
            turn.send(to, ahead(to));
            turn.combine(from, ahead(rank));
        } else {
            turn.send(to, behind(rank));
            turn.receive(from, behind(from));
        }
    }
}

fn made(ranks: u32, reduces: bool) -> Made {
    let steps = exponent(ranks, "cyclic")?;
    Ok(Box::new(Cyclic { steps, reduces }))
}

pub(crate) fn reduce_scatter(_: &Collective, ranks: u32) -> Made {
    made(ranks, true)
}

pub(crate) fn all_gather(_: &Collective, ranks: u32) -> Made {
    made(ranks, false)
}

pub(crate) fn all_reduce(_: &Collective, ranks: u32) -> Made {
    Ok(Box::new(Then(made(ranks, true)?, made(ranks, false)?)))
}
