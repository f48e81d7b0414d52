//! Recursive halving and doubling between ranks whose numbers differ in one bit (Rabenseifner; Thakur, Rabenseifner and Gropp,
//! IJHPCA 2005, section 4.5).

use alloc::boxed::Box;

use etalon_scenario::Collective;

use super::{Made, Then, exponent};
use crate::algorithm::Algorithm;
use crate::turn::Turn;

pub(crate) const ABOUT: &str =
    "pairs exchange halves, quarters and so on, then back (Rabenseifner)";

#[derive(Debug)]
struct Halving {
    steps: u32,
    reduces: bool,
}

impl Algorithm for Halving {
    fn steps(&self) -> u32 {
        self.steps
    }

    fn pieces(&self) -> u32 {
        1 << self.steps
    }

    fn turn(&self, rank: u32, step: u32, turn: &mut Turn<'_>) {
        // From the farthest peer to the nearest, then back.
        let far = 1
            << if self.reduces {
                self.steps - 1 - step
            } else {
                step
            };
        let peer = rank ^ far;
        let block = |of: u32| of / far * far..of / far * far + far;
        if self.reduces {
            turn.send(peer, block(peer));
            turn.combine(peer, block(rank));
        } else {
            turn.send(peer, block(rank));
            turn.receive(peer, block(peer));
        }
    }
}

fn made(ranks: u32, reduces: bool) -> Made {
    let steps = exponent(ranks, "halving-doubling")?;
    Ok(Box::new(Halving { steps, reduces }))
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
