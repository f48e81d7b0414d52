// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tests of this folder in one program: it links once, and its files share what they instantiate.
mod circuit_network;
mod common;
mod executor;
mod faults;
mod notify;
mod packet_network;
mod planes;
mod properties;
mod voqs;
