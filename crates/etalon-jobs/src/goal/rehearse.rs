// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a trace comes to its end: the ranks go through it, and nothing takes any time.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::vec::Vec;

use super::{Do, GoalRank, Graph, Wrong};
use crate::rank::Happened;

/// # Errors
/// [`Wrong`] if ranks wait for each other, or operations for themselves. `line` gives that of an operation of a rank.
pub(crate) fn rehearse(graphs: &[Graph], line: impl Fn(u32, u32) -> u64) -> Result<(), Wrong> {
    let mut ranks: Vec<GoalRank> = graphs.iter().map(|g| GoalRank::new(g, 1, 1.0)).collect();
    let mut news: VecDeque<(u32, Happened)> = VecDeque::new();
    news.extend((0..ranks.len() as u32).map(|rank| (rank, Happened::Begin)));
    let mut todo = Vec::new();
    while let Some((rank, happened)) = news.pop_front() {
        let at = rank as usize;
        ranks[at].on(happened, &graphs[at], &mut todo);
        for what in todo.drain(..) {
            match what {
                Do::Compute { step, .. } => news.push_back((rank, Happened::Computed { step })),
                Do::Send {
                    to, step, channel, ..
                } => {
                    news.push_back((rank, Happened::Sent { step }));
                    news.push_back((to, Happened::Arrived { channel }));
                }
                Do::Begin { .. } | Do::End { .. } | Do::Ask | Do::Receive { .. } => {}
            }
        }
    }
    let stuck = (0..).zip(&ranks);
    let stuck = stuck.filter_map(|(rank, one)| one.stuck().map(|op| (rank, op)));
    match stuck.map(|(rank, op)| (line(rank, op), rank)).min() {
        None => Ok(()),
        Some((line, rank)) => Err(Wrong {
            line,
            why: format!("rank {rank} never ends this operation: what it waits for waits for it"),
        }),
    }
}
