// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sans-I/O transports that are not TCP.
//!
//! Whoever owns the clock feeds state machines with packets and expired timers, and takes packets out of them. All times are
//! nanoseconds. Payload is counted, not carried.
//!
//! - [`ndp`]: receivers pull packets, and switches trim what they cannot hold (Handley et al., 'Re-architecting datacenter
//!   networks and stacks for low latency and high performance', SIGCOMM 2017).
//! - [`rotorlb`]: hosts keep bulk until a circuit leads to its rack, or have others relay it (Mellette et al., SIGCOMM 2017).
#![no_std]

extern crate alloc;

pub mod ndp;
pub mod rotorlb;
