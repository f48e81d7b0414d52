// SPDX-License-Identifier: MIT OR Apache-2.0
//! One algorithm a file.

use alloc::boxed::Box;

use crate::algorithm::{Algorithm, Unfit};
use crate::turn::Turn;

pub(crate) mod binomial;
pub(crate) mod bruck;
pub(crate) mod chain;
pub(crate) mod cyclic;
pub(crate) mod direct;
pub(crate) mod doubling;
pub(crate) mod halves;
pub(crate) mod halving;
pub(crate) mod hierarchical;
pub(crate) mod pairwise;
pub(crate) mod ring;
pub(crate) mod swing;
pub(crate) mod ternary;
pub(crate) mod tree;
pub(crate) mod two_trees;

pub(crate) type Made = Result<Box<dyn Algorithm>, Unfit>;

/// One algorithm, then another on the same pieces.
#[derive(Debug)]
struct Then(Box<dyn Algorithm>, Box<dyn Algorithm>);

impl Algorithm for Then {
    fn steps(&self) -> u32 {
        self.0.steps() + self.1.steps()
    }

    fn pieces(&self) -> u32 {
        self.0.pieces()
    }

    fn turn(&self, rank: u32, step: u32, turn: &mut Turn<'_>) {
        match step.checked_sub(self.0.steps()) {
            None => self.0.turn(rank, step, turn),
            Some(step) => self.1.turn(rank, step, turn),
        }
    }
}

/// A broadcast backwards in time: a reduction.
#[derive(Debug)]
struct Backwards(Box<dyn Algorithm>);

impl Algorithm for Backwards {
    fn steps(&self) -> u32 {
        self.0.steps()
    }

    fn pieces(&self) -> u32 {
        self.0.pieces()
    }

    fn turn(&self, rank: u32, step: u32, turn: &mut Turn<'_>) {
        self.0.turn(rank, self.0.steps() - 1 - step, turn);
        turn.reverse();
    }
}

/// One piece.
fn one(piece: u32) -> impl Iterator<Item = u32> {
    core::iter::once(piece)
}

/// Exponent of a number of ranks that is a power of 2.
fn exponent(ranks: u32, name: &str) -> Result<u32, Unfit> {
    if ranks.is_power_of_two() {
        return Ok(ranks.trailing_zeros());
    }
    Err(Unfit(alloc::format!(
        "\"{name}\" needs a power of 2 of ranks, not {ranks}"
    )))
}

/// Exponent of the smallest power of 2 that is not below so many ranks.
fn ceiling(ranks: u32) -> u32 {
    ranks.next_power_of_two().trailing_zeros()
}
