// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rings: in each step each rank sends one piece to the next rank (Patarasuk and Yuan, JPDC 2009).

use alloc::boxed::Box;

use etalon_scenario::Collective;

use super::{Made, Then, one};
use crate::algorithm::Algorithm;
use crate::turn::Turn;

pub(crate) const ABOUT: &str = "each rank sends to the next: fewest bytes, most steps";

#[derive(Debug)]
struct Ring {
    ranks: u32,
    /// What comes is added; else it is gathered.
    reduces: bool,
}

impl Algorithm for Ring {
    fn steps(&self) -> u32 {
        self.ranks - 1
    }

    fn pieces(&self) -> u32 {
        self.ranks
    }

    fn turn(&self, rank: u32, step: u32, turn: &mut Turn<'_>) {
        let n = self.ranks;
        let (next, before) = ((rank + 1) % n, (rank + n - 1) % n);
        // A reduced piece ends at the rank of its number; one that is gathered begins there.
        let sent = (rank + n - step + if self.reduces { n - 1 } else { 0 }) % n;
        let received = one((sent + n - 1) % n);
        turn.send(next, one(sent));
        if self.reduces {
            turn.combine(before, received);
        } else {
            turn.receive(before, received);
        }
    }
}

pub(crate) fn reduce_scatter(_: &Collective, ranks: u32) -> Made {
    let reduces = true;
    Ok(Box::new(Ring { ranks, reduces }))
}

pub(crate) fn all_gather(_: &Collective, ranks: u32) -> Made {
    let reduces = false;
    Ok(Box::new(Ring { ranks, reduces }))
}

pub(crate) fn all_reduce(of: &Collective, ranks: u32) -> Made {
    let halves = (reduce_scatter(of, ranks)?, all_gather(of, ranks)?);
    Ok(Box::new(Then(halves.0, halves.1)))
}
