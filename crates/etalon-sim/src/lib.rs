// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulator: a [`Scenario`](etalon_scenario::Scenario) in, [`Results`] out.
//!
//! Everything is deterministic: one seed, one ChaCha stream for each named component, a total order of events. The same
//! plan and seed give the same [digest](results::Meta::digest) on any machine and any number of workers.

#[cfg(test)]
extern crate self as etalon_sim; // so that plans of integration tests serve unit tests, too

mod applications;
mod bulk;
mod carried;
mod carrier;
mod coming;
mod endings;
mod endpoint;
mod engine;
mod flows;
mod frame;
mod generators;
mod groups;
mod hdfs;
mod hosts;
mod jobs;
mod mptcp_options;
mod nic;
mod outcome;
mod packet;
mod parcels;
mod plugins;
mod queue;
mod rotors;
mod sockets;
mod spray;
mod stack;
mod stacks;
mod starts;
mod stream;
mod subflows;
mod tap;
mod tdns;
mod telemetry;
mod timers;
mod trace;
mod uncommon;
mod world;

pub use coming::{Coming, Failure, Stream};
pub use engine::{run, run_with};
pub use etalon_jobs::{Begun, Generators, Step};
pub use etalon_measure::{Computed, Control, Results, TraceError, TraceRequest, results};
pub use plugins::{MakeControl, Plugins};
pub use stream::{StreamError, run_stream};
pub use trace::{trace, trace_with};
