//! The simulator: a [`Plan`] in, [`Results`] out.
//!
//! Everything is deterministic: one seed, one ChaCha stream for each named component, a total order of events. The same
//! plan and seed give the same [digest](results::Meta::digest) on any machine and any number of workers.

mod control;
mod digest;
mod endpoint;
mod engine;
mod histogram;
mod packet;
mod pcapng;
pub mod plan;
mod probe;
mod queue;
pub mod results;
mod sequence;
mod trace;
mod world;

pub use control::Control;
pub use engine::run;
pub use plan::{Plan, PlanError};
pub use results::Results;
pub use trace::{TraceError, TraceRequest, trace};
