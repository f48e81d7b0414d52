// SPDX-License-Identifier: MIT OR Apache-2.0
//! `etalon-otcp-agent`: applies the TCP parameters that an OTCP controller computes to this Linux host (CNSM 2016).
//!
//! What is decided is apart from what is done:
//!
//! | without I/O | |
//! |---|---|
//! | [`document`] | what the controller says, checked as a whole |
//! | [`core`] | which document is in force, and how long |
//! | [`plan`], [`syn`] | what should be on the host, and the changes that lead there |
//! | [`http`], [`events`] | answers and event streams from bytes |
//! | [`netlink`], [`bpf::asm`], [`bpf::program`] | the kernel's forms |
//!
//! | with I/O | |
//! |---|---|
//! | [`keeper`], [`state`] | what the agent has on the host, done and undone |
//! | [`kernel`], [`check`], [`dry_run`] | what this kernel can, and what would be changed |
//! | [`link`], [`client`] | the way to the controller |
//! | [`run`] | the loop |

pub mod args;
pub mod bpf;
pub mod check;
pub mod client;
pub mod core;
pub mod document;
pub mod dry_run;
pub mod events;
pub mod http;
pub mod keeper;
pub mod kernel;
pub mod link;
pub mod log;
pub mod metrics;
pub mod netlink;
pub mod plan;
pub mod prefix;
pub mod run;
pub mod state;
pub mod syn;
mod sys;
