// SPDX-License-Identifier: MIT OR Apache-2.0
//! Halving and doubling in one direction around the ring: each step's circuits are one shift (Harvest, arXiv 2602.09188).
//!
//! The way of a piece from rank to owner, as a binary number, says in which steps it moves.

use super::halves::Pattern;
use crate::turn::Turn;

pub(crate) const ABOUT: &str =
    "halving and doubling with shifts by powers of 2 instead of pairs (Harvest)";

#[derive(Debug)]
pub(crate) struct Cyclic;

impl Pattern for Cyclic {
    const NAME: &'static str = "cyclic";

    fn turn(steps: u32, rank: u32, step: u32, reduces: bool, turn: &mut Turn<'_>) {
        let (n, far) = (1_u32 << steps, 1_u32 << step);
        let (to, from) = ((rank + far) % n, (rank + n - far) % n);
        let (stride, count) = (2 * far, n / (2 * far));
        // Owners that are so many strides ahead of `base`, or behind it.
        let ahead = |base: u32| (0..count).map(move |k| (base + k * stride) % n);
        let behind = |base: u32| (0..count).map(move |k| (base + n - k * stride) % n);
        if reduces {
            turn.send(to, ahead(to));
            turn.combine(from, ahead(rank));
        } else {
            turn.send(to, behind(rank));
            turn.receive(from, behind(from));
        }
    }
}
