// SPDX-License-Identifier: MIT OR Apache-2.0
//! Circuits for unmodified MPI programs: a library that is preloaded (`LD_PRELOAD`) on emulated hosts and asks for circuits before
//! each collective. `etalon mpirun --ask` preloads it; `docs/jobs.md` says how to use it.
//!
//! - **MPI's profiling layer** (MPI 4.1, section 15.2) lets a library define `MPI_Allreduce`, and call the original as
//!   `PMPI_Allreduce`. That is looked up when it is first called, in whatever MPI the program has loaded.
//! - **One library for all MPIs.** Handles are integers in MPICH and pointers in Open MPI. In the calling conventions of x86-64 and
//!   AArch64 each argument takes a register, or 8 bytes of the stack, either way; so they are passed on as they came.
//! - **All ranks of a collective share one request** (`kernel/driver/circuits.h`), and its circuits are given back when the last of
//!   them has left the collective.
//! - **Whatever fails ends the program**, with a sentence: results without the circuits would mislead.

// The tests' own program is not interposed: it has no calls, and the rest is then partly unused.
#![cfg_attr(test, allow(dead_code))]

#[cfg(not(test))]
mod calls;
mod circuits;
mod mpi;
mod wanted;
