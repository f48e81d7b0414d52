// SPDX-License-Identifier: MIT OR Apache-2.0
//! Application data units of unmodified programs (Etalon'18, section 5.2): a library that is preloaded (`LD_PRELOAD`) and
//! tells a demand estimator how many bytes the program hands to its TCP connections over IPv4. `docs/libadu.md` says how to
//! use it; the format of a report is in `etalon-adu`.
//!
//! The program must never notice. From this follows how it is made:
//!
//! - **The calls themselves are those of the next library** (`dlsym(RTLD_NEXT)`, looked up once when the library is
//!   loaded), not system calls: so they remain cancellation points, and other preloaded libraries still see them. A call
//!   that comes before the look-up, or for which there is no next function, is made as a system call.
//! - **Async-signal-safe**: `write` is called in signal handlers and between `fork` and `exec`. Nothing is allocated,
//!   locked or thread-local; what is shared is a table of atomics (`table.rs`).
//! - **fork**: the table lies in memory that the kernel wipes in a forked child (`MADV_WIPEONFORK`), by whatever call it
//!   was forked: the child's totals begin at zero under names of its own. A child of `vfork` shares the memory, and so
//!   counts for its parent, which is right: it writes for it.
//! - **Which connection?** Descriptors change behind a library's back (`dup2`, `fclose`, `close_range`). A socket's
//!   `SO_COOKIE`, which the kernel never gives twice, is asked before each write and compared with the table's.
//! - **Its own socket** (`control.rs`) has a number that is out of the program's way, is spared when the program closes all
//!   descriptors, and sends messages that the kernel takes on a UDP socket only: should its number ever come to be
//!   another socket's, nothing gets into that one's stream.
//! - **Errors** of reports are ignored. `errno` stays as the program's own calls leave it.
//!
//! As libc may, it reads `iovec`s and `msghdr`s where the program says that they are.

// The tests' own program is not interposed: it has neither the calls nor the start, and the rest is then partly unused.
#![cfg_attr(test, allow(dead_code))]

#[cfg(not(test))]
mod calls;
mod control;
mod errno;
mod handover;
mod inherited;
#[cfg(not(test))]
mod next;
mod socket;
#[cfg(not(test))]
mod start;
mod table;
