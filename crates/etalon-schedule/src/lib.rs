// SPDX-License-Identifier: MIT OR Apache-2.0
//! Circuit schedules: pure functions that return a [`Schedule`](etalon_switch::Schedule).
//!
//! A [`Scheduler`] computes a week from a [`Demand`] matrix and [`Params`]; [`SCHEDULERS`] lists all that there are, and
//! [`scheduler`] makes one by its name. [`served`] tells what a week carries. A [`ControlLoop`] computes week after week
//! while a network runs, and a [`Ledger`] keeps the demand that end hosts announce; a [`Controller`] and [`HostDemand`] are
//! these as an engine uses them.
//!
//! ```
//! use etalon_schedule::{Demand, Options, Params, scheduler, served};
//! use etalon_units::{Rate, Span};
//!
//! // Three racks with 9 MB each for the next: a ring, which one configuration serves.
//! let demand: Demand = "0 9000000 0\n0 0 9000000\n9000000 0 0".parse()?;
//! let circuit = Rate::from_gbps(80);
//! let params = Params::new(
//!     Span::from_millis(2),
//!     Span::from_micros(180),
//!     Span::from_micros(20),
//!     circuit,
//!     Rate::from_gbps(10),
//! )?;
//! let week = scheduler("solstice", Options::with_seed(1))?.schedule(&demand, &params)?;
//! assert_eq!(week.configurations().len(), 1);
//! assert_eq!(week.week(), Span::from_millis(2));
//! assert_eq!(served(&week, &demand, circuit).left.total(), 0);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
#![no_std]

extern crate alloc;

mod assignment;
mod bvn;
mod control_loop;
mod controller;
mod decompose;
mod demand;
mod eclipse;
mod fit;
mod fixed;
mod hopcroft_karp;
mod host_demand;
mod ledger;
mod matrix;
mod max_weight;
mod original;
mod params;
#[cfg(test)]
mod properties;
mod registry;
mod requests;
mod scheduler;
mod served;
mod solstice;
mod solstice_published;
mod strobe;
mod stuffing;
#[cfg(test)]
mod testing;
mod tms;
mod tournament;

pub use assignment::largest_assignment;
pub use bvn::BirkhoffVonNeumann;
pub use control_loop::{ControlLoop, Pace};
pub use controller::{ComputedWeek, ControlError, Controller, Reconfigurable, is_of_user};
pub use demand::{Demand, DemandError};
pub use eclipse::Eclipse;
pub use fixed::{Fixed, WeekError, format_week, parse_week};
pub use hopcroft_karp::{Bipartite, Pairing, extend_to_maximum};
pub use host_demand::HostDemand;
pub use ledger::Ledger;
pub use max_weight::MaxWeight;
pub use original::parse_original;
pub use params::{Params, ParamsError};
pub use registry::{Options, Registered, SCHEDULERS, SchedulerError, scheduler};
pub use requests::{Answer, Awaited, Change, CrossConnected, Granted, Requests};
pub use scheduler::{CannotSchedule, Scheduler};
pub use served::{Served, served};
pub use solstice::Solstice;
pub use solstice_published::SolsticePublished;
pub use strobe::{Strobe, mimicked_strobe, strobe};
pub use tms::TrafficMatrixScheduling;
pub use tournament::{Tournament, tournament};
