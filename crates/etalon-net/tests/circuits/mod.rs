// SPDX-License-Identifier: MIT OR Apache-2.0
//! Networks of circuits: by hand, against the hybrid switch, and what holds of any.

mod any;
mod asked;
mod bench;
mod hand;
mod hybrid;
mod tdns;
