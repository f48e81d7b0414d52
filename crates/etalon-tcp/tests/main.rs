// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tests of this folder in one program: it links once, and its files share what they instantiate.
mod bbr;
mod bulk;
mod cc_model;
mod common;
mod connection;
mod ecn;
mod embedding;
mod exchanges;
mod golden;
mod linux;
mod mptcp;
mod mptcp_ending;
mod mptcp_room;
mod mptcp_window;
mod paths;
mod random;
mod rate;
mod recovery;
mod segment_fuzz;
mod tdn;
mod tdn_fuzz;
mod tdn_unknown;
mod tdtcp;
