// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program's `errno`, which is left as it is.

/// Does `work`, and leaves `errno` as it was before.
pub fn kept<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: the address is that of the calling thread's errno, and valid as long as the thread is.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above; no other thread uses this errno.
    let before = unsafe { *errno };
    let result = work();
    // SAFETY: as above.
    unsafe { *errno = before };
    result
}

/// What the program is to find in `errno`.
#[cfg(not(test))]
pub fn set(value: i32) {
    // SAFETY: the address is that of the calling thread's errno.
    unsafe { *libc::__errno_location() = value };
}
