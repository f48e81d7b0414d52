// SPDX-License-Identifier: MIT OR Apache-2.0
//! All-to-all by shifts: in step i each rank sends to the rank that is i further on.

use alloc::boxed::Box;

use etalon_scenario::Collective;

use super::{Made, one};
use crate::algorithm::Algorithm;
use crate::turn::Turn;

pub(crate) const ABOUT: &str =
    "each block goes straight to its rank, the next rank first: fewest bytes";

#[derive(Debug)]
struct Direct {
    ranks: u32,
}

impl Algorithm for Direct {
    fn steps(&self) -> u32 {
        self.ranks - 1
    }

    fn pieces(&self) -> u32 {
        self.ranks * self.ranks
    }

    fn turn(&self, rank: u32, step: u32, turn: &mut Turn<'_>) {
        let n = self.ranks;
        let (to, from) = ((rank + step + 1) % n, (rank + n - step - 1) % n);
        turn.send(to, one(rank * n + to));
        turn.receive(from, one(from * n + rank));
    }
}

pub(crate) fn all_to_all(_: &Collective, ranks: u32) -> Made {
    Ok(Box::new(Direct { ranks }))
}
