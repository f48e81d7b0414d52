// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an experiment *is*: a [`Scenario`], in integers with units, checked once.
//!
//! What people write is resolved to this in Python; what every engine runs is this. One set of types is read from
//! JSON (`Scenario::from_json`), goes as bytes (`Scenario::to_bytes`) into the kernel of the Linux engine, and says in its
//! schema what Python has to resolve to. The network's types are also those that the switch is built from.
//!
//! Quantities are [`Time`](etalon_units::Time), [`Span`](etalon_units::Span), [`Rate`](etalon_units::Rate) and
//! [`Bytes`](etalon_units::Bytes), or have their unit in their name; in JSON all have it in the key.
#![no_std]

extern crate alloc;
#[cfg(feature = "json")]
extern crate std;

pub mod address;
mod asked;
mod check;
mod class;
mod deal;
mod dfsio;
mod flow;
mod generator;
mod hosts;
mod init;
mod job;
mod layout;
mod measure;
mod ndp;
mod network;
mod nights;
mod notify;
mod pair;
mod plane;
mod planes;
mod ports;
mod program;
mod queue_id;
mod rdcn;
mod rdcn_error;
mod rotorlb;
mod scenario;
mod schedule;
mod setup;
mod slices;
mod tcp;
mod topology;
mod transport;
mod weeks;

pub use asked::{Ask, Asked, CrossConnect, Share};
pub use check::ScenarioError;
pub use class::{Class, ClassOf, Count, Full, Limit, MOST_LISTS, Trim};
pub use deal::{Crowded, deal};
pub use dfsio::{Dfsio, Placement};
pub use flow::*;
pub use generator::Generator;
pub use hosts::{HostId, Hosts};
pub use init::{Init, InitHead, InitHost, InitProgram, InitRoute, Mode};
pub use job::{
    Circuits, Collective, CollectiveKind, Compute, Job, JobTrace, MOST_RANKS, Send, Slow,
    StepCircuits, Work,
};
pub use layout::Layout;
pub use measure::{MOST_FOLLOWED, Measure};
pub use ndp::*;
pub use network::*;
pub use nights::Nights;
pub use notify::Notify;
pub use pair::Pair;
pub use plane::Plane;
pub use planes::{Bottlenecks, PlaneFacts};
pub use ports::{Place, PortFacts};
pub use program::Program;
pub use queue_id::QueueId;
pub use rdcn::{
    CircuitNetwork, MOST_CIRCUITS, Marking, Night, PacketNetwork, PairVoq, Rdcn, Resize, VoqConfig,
};
pub use rdcn_error::ConfigError;
pub use rotorlb::{Offers, RotorLb};
pub use scenario::Scenario;
#[cfg(feature = "schema")]
pub use scenario::schema;
pub use schedule::{Configuration, Matching, Schedule, ScheduleError};
pub use setup::{ANSWER_FD, CInfo, Capture, INPUT_FD, LOG_FD, SETUP_FD, Setup};
pub use slices::{MOST_SLICES, Slice, Slices};
pub use tcp::{Tcp, TcpPath};
pub use topology::{Egress, Link, Node, Topology};
pub use transport::*;
pub use weeks::{Change, Control, Estimator, Weeks};
