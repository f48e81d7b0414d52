// SPDX-License-Identifier: MIT OR Apache-2.0
//! The agent on a host: what it sets, and that it leaves the host as it was. As root, in private network namespaces.

mod connections;
mod controller;
mod ends;
#[path = "../../../libadu/tests/preloaded/installed.rs"]
mod installed;
mod kernels;
mod lab;
mod others;
mod protocol;
mod tcp;
mod tls;
