// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is the same whichever engine runs an experiment: the resolved [`Scenario`](etalon_scenario::Scenario), what is measured, and the [`Results`].
//!
//! An engine gives network events to [`Metrics`] (a [`Probe`](etalon_events::Probe)) and what it sees of flows to a
//! [`Meter`], both as they happen and in the order of virtual time, and at the end an [`Outcome`] to
//! [`results::collect`]:
//!
//! 1. Events up to the end of the warm-up, after each step [`Meter::follow_runs`];
//! 2. [`Metrics::begin`] and [`Meter::begin`];
//! 3. the other events;
//! 4. [`Metrics::finish`] and [`Meter::finish`], then [`results::collect`].
//!
//! For a trace it gives the events to a [`Recorder`], which passes them on to the metrics inside, and packets to a
//! [`Capture`].

mod capture;
mod computed;
mod control;
mod cross_connects;
mod ended;
#[cfg(test)]
mod example;
mod facts;
mod histogram;
pub mod jobs;
mod live;
mod meter;
mod nsdi20;
mod observer;
mod pairs;
mod paths;
mod pcapng;
mod ports;
mod probe;
mod recorder;
mod reordering;
pub mod results;
mod senders;
mod sequence;
mod service;
mod table;
mod trace;
mod travel;
mod weeks;

pub use etalon_events::RecoveryState;

pub use capture::{Capture, HEADERS};
pub use computed::{Computed, Example};
pub use control::Control;
pub use ended::Who;
pub use etalon_scenario::PlaneFacts;
pub use facts::{Counters, FlowFacts};
pub use live::Live;
pub use meter::{Meter, Relays};
pub use observer::Observer;
pub use pcapng::{Interface, IpPacket, PcapNg};
pub use probe::Metrics;
pub use recorder::Recorder;
pub use results::{Outcome, Results};
pub use senders::Sender;
pub use trace::{TraceError, TraceRequest, Window};
