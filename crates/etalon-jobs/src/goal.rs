// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traces of programs in GOAL, the textual language of LogGOPSim (Hoefler, Siebert, Lumsdaine: Group Operation Assembly Language,
//! ICPP 2009): for each rank a graph of sends, receives and computations.

mod channels;
mod graph;
mod labels;
mod parse;
mod rank;
mod rehearse;

use alloc::string::String;
use alloc::vec::Vec;

#[cfg(feature = "std")]
use alloc::sync::Arc;
#[cfg(feature = "std")]
use etalon_scenario::{Job, JobTrace, ScenarioError};

use crate::rank::Do;
pub(crate) use graph::{Graph, Kind};
pub use parse::Parser;
pub(crate) use rank::GoalRank;

/// What is wrong with a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The line of the file, from 1 on; 0 for the file as a whole.
    pub line: u64,
    /// A sentence without its full stop.
    pub why: String,
}

/// A trace, held as graphs: about 40 bytes for an operation.
#[derive(Debug)]
pub struct Trace {
    pub(crate) ranks: Vec<Graph>,
}

impl Trace {
    /// How many ranks there are.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// How many operations: a row of the table of steps each, receives apart.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.ranks.iter().map(|rank| rank.ops.len() as u64).sum()
    }

    /// Pairs of ranks that exchange anything, the lower one first.
    #[must_use]
    pub fn pairs(&self) -> Vec<(u32, u32)> {
        let mut pairs = Vec::new();
        for (rank, graph) in (0..).zip(&self.ranks) {
            let mut peers: Vec<u32> = graph.peers().collect();
            peers.sort_unstable();
            peers.dedup();
            pairs.extend(peers.iter().map(|&peer| (rank.min(peer), rank.max(peer))));
        }
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }

    /// Reads a file piece by piece: only its graphs stay in memory.
    ///
    /// # Errors
    /// [`Unread`] if it cannot be read, or is no trace.
    #[cfg(feature = "std")]
    pub fn read(path: &std::path::Path) -> Result<Trace, Unread> {
        use std::io::Read;

        let mut file = std::fs::File::open(path).map_err(Unread::Io)?;
        let mut piece = alloc::vec![0; 1 << 18];
        let mut parser = Parser::default();
        loop {
            match file.read(&mut piece).map_err(Unread::Io)? {
                0 => return parser.finish().map_err(Unread::Wrong),
                len => parser.feed(&piece[..len]).map_err(Unread::Wrong)?,
            }
        }
    }
}

/// The trace of a job, if its plan names one.
///
/// # Errors
/// [`ScenarioError`] if it cannot be read, or is none.
#[cfg(feature = "std")]
pub fn trace_of(job: &Job) -> Result<Option<Arc<Trace>>, ScenarioError> {
    let Some(JobTrace { file, .. }) = &job.trace else {
        return Ok(None);
    };
    let told = |why: alloc::string::String| ScenarioError::new(format_args!("{file}: {why}"));
    match Trace::read(file.as_ref()) {
        Ok(trace) => Ok(Some(Arc::new(trace))),
        Err(Unread::Io(error)) => Err(told(alloc::format!("cannot be read: {error}"))),
        Err(Unread::Wrong(wrong)) => {
            Err(told(alloc::format!("line {}: {}", wrong.line, wrong.why)))
        }
    }
}

/// Why there is no trace.
#[cfg(feature = "std")]
#[derive(Debug)]
pub enum Unread {
    /// The file cannot be read.
    Io(std::io::Error),
    /// It is no trace.
    Wrong(Wrong),
}

#[cfg(test)]
mod tests;
