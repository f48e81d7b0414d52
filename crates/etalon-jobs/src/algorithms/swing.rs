//! Swing: peers on alternating sides, at distances 1, 1, 3, 5, 11 and so on (De Sensi et al., NSDI 2024).

use alloc::boxed::Box;

use etalon_scenario::Collective;

use super::{Made, Then, exponent};
use crate::algorithm::Algorithm;
use crate::turn::Turn;

pub(crate) const ABOUT: &str =
    "pairs exchange halves with peers on alternating sides, nearer on rings (NSDI 2024)";

#[derive(Debug)]
struct Swing {
    steps: u32,
    reduces: bool,
}

impl Swing {
    /// Whom a rank meets in a step: rho(step) further on for even ranks, further back for odd ones (section 3.1).
    fn peer(&self, rank: u32, step: u32) -> u32 {
        let rho = (1 - (-2_i64).pow(step + 1)) / 3;
        let signed = if rank.is_multiple_of(2) { rho } else { -rho };
        (i64::from(rank) + signed).rem_euclid(1 << self.steps) as u32
    }

    /// Ranks that data at `rank` reaches in the steps from `step` on: one for each choice of steps in which it moves.
    fn reached(&self, rank: u32, step: u32) -> impl Iterator<Item = u32> {
        let choices = 0..1_u32 << (self.steps - step);
        choices.map(move |choice| {
            let moves = (step..self.steps).filter(|s| choice >> (s - step) & 1 == 1);
            moves.fold(rank, |at, s| self.peer(at, s))
        })
    }
}

impl Algorithm for Swing {
    fn steps(&self) -> u32 {
        self.steps
    }

    fn pieces(&self) -> u32 {
        1 << self.steps
    }

    fn turn(&self, rank: u32, step: u32, turn: &mut Turn<'_>) {
        let step = if self.reduces {
            step
        } else {
            self.steps - 1 - step
        };
        let peer = self.peer(rank, step);
        if self.reduces {
            turn.send(peer, self.reached(peer, step + 1));
            turn.combine(peer, self.reached(rank, step + 1));
        } else {
            turn.send(peer, self.reached(rank, step + 1));
            turn.receive(peer, self.reached(peer, step + 1));
        }
    }
}

fn made(ranks: u32, reduces: bool) -> Made {
    let steps = exponent(ranks, "swing")?;
    Ok(Box::new(Swing { steps, reduces }))
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
