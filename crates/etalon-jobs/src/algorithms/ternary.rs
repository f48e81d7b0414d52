// SPDX-License-Identifier: MIT OR Apache-2.0
//! Balanced ternary (ReTri, arXiv 2605.26930): a block's way is a sum of 3^d with digits -1, 0 and 1, and each step moves blocks both
//! ways. About a third of a rank's blocks goes each way, so that two ports are in use in each of ceil(log3 n) steps.

use alloc::boxed::Box;

use etalon_scenario::Collective;

use super::Made;
use crate::algorithm::Algorithm;
use crate::turn::Turn;

pub(crate) const ABOUT: &str =
    "blocks travel both ways at once, by the digits of their way in balanced ternary";

#[derive(Debug)]
struct Ternary {
    ranks: u32,
    steps: u32,
}

/// Digit `d` of a number in balanced ternary, and what the digits below it come to.
fn digit(number: i64, d: u32) -> (i64, i64) {
    let weight = 3_i64.pow(d);
    // The number from -(weight - 1) / 2 on that differs from this one by a multiple of the weight.
    let low = |number: i64, weight: i64| {
        let half = (weight - 1) / 2;
        (number + half).rem_euclid(weight) - half
    };
    let below = low(number, weight);
    ((low(number, 3 * weight) - below) / weight, below)
}

impl Ternary {
    /// Blocks at `rank` that go this way in a step, the digits below having been dealt with.
    fn blocks(&self, rank: u32, step: u32, way: i64) -> impl Iterator<Item = u32> {
        let n = i64::from(self.ranks);
        // Ways go to either side, as short as can be.
        let ways = (-((n - 1) / 2)..=n / 2).map(move |far| (far, digit(far, step)));
        let going = ways.filter(move |(_, (digit, _))| *digit == way);
        going.map(move |(far, (_, below))| {
            let src = (i64::from(rank) - below).rem_euclid(n);
            (src * n + (src + far).rem_euclid(n)) as u32
        })
    }

    fn at(&self, rank: u32, far: i64) -> u32 {
        (i64::from(rank) + far).rem_euclid(self.ranks.into()) as u32
    }
}

impl Algorithm for Ternary {
    fn steps(&self) -> u32 {
        self.steps
    }

    fn pieces(&self) -> u32 {
        self.ranks * self.ranks
    }

    fn turn(&self, rank: u32, step: u32, turn: &mut Turn<'_>) {
        let far = 3_i64.pow(step);
        let (ahead, behind) = (self.at(rank, far), self.at(rank, -far));
        if ahead == behind {
            // Half around the ranks: both ways lead to one.
            let both = |rank| [1, -1].map(|way| self.blocks(rank, step, way));
            turn.send(ahead, both(rank).into_iter().flatten());
            turn.receive(ahead, both(ahead).into_iter().flatten());
            return;
        }
        for (way, to, from) in [(1, ahead, behind), (-1, behind, ahead)] {
            turn.send(to, self.blocks(rank, step, way));
            turn.receive(from, self.blocks(from, step, way));
        }
    }
}

pub(crate) fn all_to_all(_: &Collective, ranks: u32) -> Made {
    let (mut steps, mut reached) = (0, 1);
    while reached < 2 * (ranks / 2) + 1 {
        steps += 1;
        reached *= 3;
    }
    Ok(Box::new(Ternary { ranks, steps }))
}

#[cfg(test)]
mod tests {
    use super::digit;

    #[test]
    fn digits_add_up() {
        for number in -121_i64..=121 {
            let digits = (0..5).map(|d| digit(number, d).0 * 3_i64.pow(d));
            assert_eq!(digits.sum::<i64>(), number);
        }
        assert_eq!(
            (digit(5, 0), digit(5, 1), digit(5, 2)),
            ((-1, 0), (-1, -1), (1, -4))
        );
    }
}
