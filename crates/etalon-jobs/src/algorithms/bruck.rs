// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bruck's algorithms (Bruck et al., IEEE TPDS 1997): any number of ranks, fewest steps.

use alloc::boxed::Box;
use alloc::vec::Vec;

use etalon_scenario::Collective;

use super::{Made, ceiling};
use crate::algorithm::{Algorithm, Unfit};
use crate::turn::Turn;

pub(crate) const GATHER: &str = "each rank sends all it has back by 1, 2, 4 and so on";
pub(crate) const ALL_TO_ALL: &str =
    "blocks travel by the digits of their way, in base `radix` (2): few steps, more bytes";

#[derive(Debug)]
struct Gather {
    ranks: u32,
}

impl Algorithm for Gather {
    fn steps(&self) -> u32 {
        ceiling(self.ranks)
    }

    fn pieces(&self) -> u32 {
        self.ranks
    }

    fn turn(&self, rank: u32, step: u32, turn: &mut Turn<'_>) {
        let n = self.ranks;
        let far = 1 << step;
        let count = far.min(n - far);
        let from = |base: u32| (0..count).map(move |k| (base + k) % n);
        let ahead = (rank + far) % n;
        turn.send((rank + n - far) % n, from(rank));
        turn.receive(ahead, from(ahead));
    }
}

/// Blocks from each rank to each, which go on by j radix^d in the phase of digit d for each value j of the digit.
#[derive(Debug)]
struct AllToAll {
    ranks: u32,
    radix: u32,
    /// For each step, the weight of its digit and the value that moves.
    moves: Vec<(u32, u32)>,
}

impl AllToAll {
    /// Blocks at `rank` whose digit of this weight has this value, the digits below having been dealt with.
    fn blocks(&self, rank: u32, (weight, digit): (u32, u32)) -> impl Iterator<Item = u32> {
        let (n, radix) = (self.ranks, self.radix);
        let way = (0..n).filter(move |way| way / weight % radix == digit);
        way.map(move |way| {
            let src = (rank + n - way % weight) % n;
            src * n + (src + way) % n
        })
    }
}

impl Algorithm for AllToAll {
    fn steps(&self) -> u32 {
        self.moves.len() as u32
    }

    fn pieces(&self) -> u32 {
        self.ranks * self.ranks
    }

    fn turn(&self, rank: u32, step: u32, turn: &mut Turn<'_>) {
        let (weight, digit) = self.moves[step as usize];
        let (n, far) = (self.ranks, weight * digit);
        let from = (rank + n - far) % n;
        turn.send((rank + far) % n, self.blocks(rank, (weight, digit)));
        turn.receive(from, self.blocks(from, (weight, digit)));
    }
}

pub(crate) fn all_gather(_: &Collective, ranks: u32) -> Made {
    Ok(Box::new(Gather { ranks }))
}

pub(crate) fn all_to_all(of: &Collective, ranks: u32) -> Made {
    let radix = of.radix.unwrap_or(2);
    if !(2..=ranks).contains(&radix) {
        return Err(Unfit(alloc::format!(
            "a radix of {radix} does not suit {ranks} ranks: it is 2 to {ranks}"
        )));
    }
    let (mut moves, mut weight) = (Vec::new(), 1);
    while weight < ranks {
        let there = (1..radix).filter(|digit| digit * weight < ranks);
        moves.extend(there.map(|digit| (weight, digit)));
        weight *= radix;
    }
    Ok(Box::new(AllToAll {
        ranks,
        radix,
        moves,
    }))
}
