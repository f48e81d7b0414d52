// SPDX-License-Identifier: MIT OR Apache-2.0
//! NDP: a sender pushes its first window, then the receiver pulls the rest at the rate of its link.
//!
//! A switch that cannot hold a packet trims it to its header; the header arrives all the same, so that the receiver knows of
//! each loss at once. Each packet that arrives, whole or trimmed, is answered with an ACK or a NACK, and entitles its flow to one pull.
//! A [`Puller`] spaces the pulls so that what they release just fills the receiver's link. After Handley et al.,
//! SIGCOMM 2017.

mod arrived;
mod config;
mod header;
mod puller;
mod receiver;
mod sender;

pub use config::{Config, Pulls};
pub use header::{Header, Kind};
pub use puller::{Puller, Turn};
pub use receiver::Receiver;
pub use sender::Sender;
