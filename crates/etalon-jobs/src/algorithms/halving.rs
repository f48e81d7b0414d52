// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recursive halving and doubling between ranks whose numbers differ in one bit (Rabenseifner; Thakur, Rabenseifner and Gropp,
//! IJHPCA 2005, section 4.5).

use super::halves::Pattern;
use crate::turn::Turn;

pub(crate) const ABOUT: &str =
    "pairs exchange halves, quarters and so on, then back (Rabenseifner)";

#[derive(Debug)]
pub(crate) struct Halving;

impl Pattern for Halving {
    const NAME: &'static str = "halving-doubling";

    fn turn(steps: u32, rank: u32, step: u32, reduces: bool, turn: &mut Turn<'_>) {
        // From the farthest peer to the nearest, then back.
        let far = 1 << (steps - 1 - step);
        let peer = rank ^ far;
        let block = |of: u32| of / far * far..of / far * far + far;
        if reduces {
            turn.send(peer, block(peer));
            turn.combine(peer, block(rank));
        } else {
            turn.send(peer, block(rank));
            turn.receive(peer, block(peer));
        }
    }
}
