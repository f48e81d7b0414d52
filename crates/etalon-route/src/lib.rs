// SPDX-License-Identifier: MIT OR Apache-2.0
//! Networks of circuits: racks with several uplinks, each to a circuit switch that joins other racks in each slice of time.
//!
//! [`Slices`] is the table of who meets whom; [`rotor`], [`opera`] and [`regular`] make one. [`Distances`] says how far racks are from
//! each other within a slice, and what a ToR's tables hold. [`Ways`] leads packets through a network that a scenario describes.
//!
//! ```
//! use etalon_route::{Distances, Rng, opera};
//!
//! let slices = opera(108, 6, &mut Rng::new(1))?;
//! assert_eq!(slices.len(), 108);
//! let distances = Distances::of(&slices);
//! assert!(distances.are_connected());
//! # Ok::<(), etalon_route::RouteError>(())
//! ```
#![no_std]

extern crate alloc;

mod distances;
mod error;
mod graph;
mod matched;
mod matchings;
mod regular;
mod rng;
mod rotor;
mod router;
mod routing;
mod slices;
mod ways;

pub use distances::{Distances, entries};
pub use error::RouteError;
pub use matched::matched;
pub use matchings::matchings;
pub use regular::regular;
pub use rng::Rng;
pub use rotor::{opera, rotor};
pub use router::{At, Next, Rest};
pub use routing::ucmp_label;
pub use slices::{MOST_RACKS, NONE, Slices};
pub use ways::Ways;
