// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reduce-scatters in steps that each halve what a rank is about, all-gathers that double it, and one after the other.

use alloc::boxed::Box;
use core::fmt::Debug;
use core::marker::PhantomData;

use etalon_scenario::Collective;

use super::{Made, Then, exponent};
use crate::algorithm::Algorithm;
use crate::turn::Turn;

/// Whom ranks meet, and with which pieces.
pub(crate) trait Pattern: Debug + Send + Sync + 'static {
    /// Its name in plans.
    const NAME: &'static str;

    /// The messages of a rank in a step of a reduce-scatter with so many steps, or of an all-gather, whose steps are numbered backwards.
    fn turn(steps: u32, rank: u32, step: u32, reduces: bool, turn: &mut Turn<'_>);
}

#[derive(Debug)]
struct Halves<P> {
    steps: u32,
    reduces: bool,
    pattern: PhantomData<P>,
}

impl<P: Pattern> Algorithm for Halves<P> {
    fn steps(&self) -> u32 {
        self.steps
    }

    fn pieces(&self) -> u32 {
        1 << self.steps
    }

    fn turn(&self, rank: u32, step: u32, turn: &mut Turn<'_>) {
        let step = match self.reduces {
            true => step,
            false => self.steps - 1 - step,
        };
        P::turn(self.steps, rank, step, self.reduces, turn);
    }
}

fn made<P: Pattern>(ranks: u32, reduces: bool) -> Made {
    Ok(Box::new(Halves::<P> {
        steps: exponent(ranks, P::NAME)?,
        reduces,
        pattern: PhantomData,
    }))
}

pub(crate) fn reduce_scatter<P: Pattern>(_: &Collective, ranks: u32) -> Made {
    made::<P>(ranks, true)
}

pub(crate) fn all_gather<P: Pattern>(_: &Collective, ranks: u32) -> Made {
    made::<P>(ranks, false)
}

pub(crate) fn all_reduce<P: Pattern>(_: &Collective, ranks: u32) -> Made {
    Ok(Box::new(Then(
        made::<P>(ranks, true)?,
        made::<P>(ranks, false)?,
    )))
}
