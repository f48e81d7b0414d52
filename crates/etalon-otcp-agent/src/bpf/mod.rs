// SPDX-License-Identifier: MIT OR Apache-2.0
//! BPF: what routes cannot do (RTOinit, the largest window) is done by a program that the kernel calls for TCP's connections.

pub mod asm;
pub mod attached;
pub mod program;
