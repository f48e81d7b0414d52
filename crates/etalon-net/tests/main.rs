// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tests of this folder in one program: it links once, and its files share what they instantiate.
mod circuits;
mod net;
mod networks;
mod notify;
mod order;
mod outside;
