// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rings within groups, and between them: reduce-scatter in the group, all-reduce of each share among the groups, all-gather in
//! the group.

use alloc::boxed::Box;

use etalon_scenario::Collective;

use super::{Made, ring};
use crate::algorithm::{Algorithm, Unfit};
use crate::turn::{Message, Turn};

pub(crate) const ABOUT: &str = "rings within `groups` of neighbours, and between groups";

#[derive(Debug)]
struct Hierarchical {
    groups: u32,
    /// Ranks of a group.
    size: u32,
    scatter: Box<dyn Algorithm>,
    between: Box<dyn Algorithm>,
    gather: Box<dyn Algorithm>,
}

impl Hierarchical {
    /// Puts what an algorithm says of ranks and pieces of its own into those of all: `rank` of a rank, and `pieces` of a piece.
    fn embed<P: Iterator<Item = u32>>(
        inner: (&dyn Algorithm, u32, u32),
        turn: &mut Turn<'_>,
        rank: impl Fn(u32) -> u32,
        pieces: impl Fn(u32) -> P,
    ) {
        let (algorithm, member, step) = inner;
        let sizes = crate::Sizes::Even {
            bytes: u64::from(algorithm.pieces()),
            pieces: algorithm.pieces(),
        };
        let mut own = Turn::new(&sizes, true);
        algorithm.turn(member, step, &mut own);
        let all = |message: &Message| {
            let numbers = message.pieces.clone();
            numbers.into_iter().flat_map(&pieces)
        };
        for message in &own.sends {
            turn.send(rank(message.peer), all(message));
        }
        for message in &own.receives {
            if message.combines {
                turn.combine(rank(message.peer), all(message));
            } else {
                turn.receive(rank(message.peer), all(message));
            }
        }
    }
}

impl Algorithm for Hierarchical {
    fn steps(&self) -> u32 {
        self.scatter.steps() + self.between.steps() + self.gather.steps()
    }

    fn pieces(&self) -> u32 {
        self.groups * self.size
    }

    fn turn(&self, rank: u32, step: u32, turn: &mut Turn<'_>) {
        let (groups, size) = (self.groups, self.size);
        let (group, member) = (rank / size, rank % size);
        // A share of a group is cut into a piece for each group.
        let share = |share: u32| share * groups..(share + 1) * groups;
        let in_group = |member: u32| group * size + member;
        let (first, second) = (
            self.scatter.steps(),
            self.scatter.steps() + self.between.steps(),
        );
        if step < first {
            Self::embed((&*self.scatter, member, step), turn, in_group, share);
        } else if step < second {
            let inner = (&*self.between, group, step - first);
            let peer = |group: u32| group * size + member;
            Self::embed(inner, turn, peer, |piece| {
                core::iter::once(member * groups + piece)
            });
        } else {
            let inner = (&*self.gather, member, step - second);
            Self::embed(inner, turn, in_group, share);
        }
    }
}

pub(crate) fn all_reduce(of: &Collective, ranks: u32) -> Made {
    let groups = of.groups.unwrap_or(2);
    if groups < 2 || !ranks.is_multiple_of(groups) || ranks / groups < 2 {
        return Err(Unfit(alloc::format!(
            "{ranks} ranks do not form {groups} groups of equal size, two or more ranks each"
        )));
    }
    let size = ranks / groups;
    Ok(Box::new(Hierarchical {
        groups,
        size,
        scatter: ring::reduce_scatter(of, size)?,
        between: ring::all_reduce(of, groups)?,
        gather: ring::all_gather(of, size)?,
    }))
}
