// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an algorithm of a collective tells. They are in `algorithms/`, listed in `registry.rs`.

use alloc::string::String;
use core::fmt::Debug;

use crate::turn::Turn;

/// How a collective goes, told rank by rank and step by step.
pub trait Algorithm: Debug + core::marker::Send + Sync {
    /// How many steps there are.
    fn steps(&self) -> u32;

    /// How many pieces a vector is cut into. All-to-alls have a piece for each pair of ranks instead.
    fn pieces(&self) -> u32;

    /// The messages of `rank` in `step`. What one rank sends in a step, another receives in the same one.
    fn turn(&self, rank: u32, step: u32, turn: &mut Turn<'_>);
}

/// Why an algorithm does not fit: a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit(pub String);
