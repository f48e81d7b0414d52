// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tests of this folder in one program: it links once, and its files share what they instantiate.
mod circuits;
mod common;
mod digest;
mod engine;
mod mptcp;
mod ndp;
mod opera_logs;
mod plan_fuzz;
mod plugins;
mod rotorlb;
mod schedules;
mod sleep;
mod tdtcp;
