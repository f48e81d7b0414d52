// SPDX-License-Identifier: MIT OR Apache-2.0
//! Swing: peers on alternating sides, at distances 1, 1, 3, 5, 11 and so on (De Sensi et al., NSDI 2024).

use super::halves::Pattern;
use crate::turn::Turn;

pub(crate) const ABOUT: &str =
    "pairs exchange halves with peers on alternating sides, nearer on rings (NSDI 2024)";

#[derive(Debug)]
pub(crate) struct Swing;

/// Whom a rank meets in a step: rho(step) further on for even ranks, further back for odd ones (section 3.1).
fn peer(steps: u32, rank: u32, step: u32) -> u32 {
    let rho = (1 - (-2_i64).pow(step + 1)) / 3;
    let signed = if rank.is_multiple_of(2) { rho } else { -rho };
    (i64::from(rank) + signed).rem_euclid(1 << steps) as u32
}

/// Ranks that data at `rank` reaches in the steps from `step` on: one for each choice of steps in which it moves.
fn reached(steps: u32, rank: u32, step: u32) -> impl Iterator<Item = u32> {
    let choices = 0..1_u32 << (steps - step);
    choices.map(move |choice| {
        let moves = (step..steps).filter(|s| choice >> (s - step) & 1 == 1);
        moves.fold(rank, |at, s| peer(steps, at, s))
    })
}

impl Pattern for Swing {
    const NAME: &'static str = "swing";

    fn turn(steps: u32, rank: u32, step: u32, reduces: bool, turn: &mut Turn<'_>) {
        let peer = peer(steps, rank, step);
        if reduces {
            turn.send(peer, reached(steps, peer, step + 1));
            turn.combine(peer, reached(steps, rank, step + 1));
        } else {
            turn.send(peer, reached(steps, rank, step + 1));
            turn.receive(peer, reached(steps, peer, step + 1));
        }
    }
}
