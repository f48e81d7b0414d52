// SPDX-License-Identifier: MIT OR Apache-2.0
//! Chains: the vector goes from rank to rank in pieces, one behind the other.

use alloc::boxed::Box;

use etalon_scenario::Collective;

use super::{Backwards, Made, one};
use crate::algorithm::{Algorithm, Unfit};
use crate::turn::Turn;

pub(crate) const ABOUT: &str =
    "each rank passes `pieces` (16) on to the next: best for long vectors";

/// Pieces, if a plan does not say how many.
const PIECES: u32 = 16;
/// Most pieces.
const MOST: u32 = 65_536;

#[derive(Debug)]
struct Chain {
    ranks: u32,
    root: u32,
    pieces: u32,
}

impl Algorithm for Chain {
    fn steps(&self) -> u32 {
        self.ranks - 2 + self.pieces
    }

    fn pieces(&self) -> u32 {
        self.pieces
    }

    fn turn(&self, rank: u32, step: u32, turn: &mut Turn<'_>) {
        let n = self.ranks;
        let place = (rank + n - self.root) % n;
        // A rank at a place passes piece p on in step place + p.
        let passed = |place: u32| step.checked_sub(place).filter(|&p| p < self.pieces);
        if let Some(piece) = passed(place).filter(|_| place + 1 < n) {
            turn.send((rank + 1) % n, one(piece));
        }
        if let Some(piece) = place.checked_sub(1).and_then(passed) {
            turn.receive((rank + n - 1) % n, one(piece));
        }
    }
}

/// How many pieces a plan wants.
pub(super) fn pieces(of: &Collective) -> Result<u32, Unfit> {
    let pieces = of.pieces.unwrap_or(PIECES);
    if (1..=MOST).contains(&pieces) {
        return Ok(pieces);
    }
    Err(Unfit(alloc::format!(
        "a vector is cut into 1 to {MOST} pieces, not {pieces}"
    )))
}

pub(crate) fn broadcast(of: &Collective, ranks: u32) -> Made {
    let (root, pieces) = (of.root, pieces(of)?);
    Ok(Box::new(Chain {
        ranks,
        root,
        pieces,
    }))
}

pub(crate) fn reduce(of: &Collective, ranks: u32) -> Made {
    Ok(Box::new(Backwards(broadcast(of, ranks)?)))
}
