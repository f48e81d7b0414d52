//! A sans-I/O TCP endpoint that behaves like Linux's where it matters to the results of reconfigurable networks.
//!
//! Whoever owns the clock feeds a [`Connection`] with segments and timer expiries and takes segments out of it. All times
//! are host time: nanoseconds on the end host's own clock, which under time dilation runs faster than the network's.
//! Payload is counted, not carried.

pub mod cc;
mod config;
mod segment;

pub use config::{Config, Ecn};
pub use segment::{Flags, SackBlocks, Segment};
