// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs of ranks: who sends what to whom, after what.
//!
//! A [`Rank`] is a state machine without I/O and without a clock: it hears what [happened](Happened) and says what to
//! [do](Do). It is made from the job's description and its number: no list of messages ever exists. What a rank does in a
//! step of a collective is told by an [`Algorithm`], one file each in `algorithms/`.
#![no_std]

extern crate alloc;
#[cfg(any(test, feature = "std"))]
extern crate std;

mod algorithm;
mod algorithms;
mod among;
mod asking;
mod fit;
mod generators;
pub mod goal;
mod plan;
mod program;
mod rank;
mod ranks;
mod registry;
mod routes;
mod rows;
mod sizes;
mod sockets;
#[cfg(test)]
mod symbolic;
mod turn;
mod words;

pub use algorithm::{Algorithm, Unfit};
pub use asking::{Asking, Reach, Wish};
pub use fit::{Ways, Wrong, circuits, collective, connections, count_steps, pairs_of};
pub use generators::{Begun, Failure, Generators, Step};
#[cfg(feature = "std")]
pub use goal::trace_of;
pub use plan::{Costs, exchanges, plan};
pub use program::{Program, steps};
pub use rank::{Do, Happened, Rank};
pub use ranks::Ranks;
pub use registry::{ALGORITHMS, Entry, Make, find};
pub use rows::{Iteration, JobRows, Step as StepRow};
pub use sizes::Sizes;
pub use sockets::RankSockets;
pub use turn::{Message, Turn};
