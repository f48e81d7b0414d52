// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens when the library is loaded: nothing, unless there is an estimator.

use core::ffi::{CStr, c_int, c_void};
use core::net::SocketAddrV4;
use core::ptr::null_mut;

use crate::table::Table;
use crate::{control, errno, handover, inherited, next};

/// The loader calls this before `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C-unwind" fn() = {
    extern "C-unwind" fn start() {
        errno::kept(|| {
            next::look_up();
            let Some(estimator) = estimator() else { return };
            let sockets = inherited::sockets();
            let Some(table) = table() else { return };
            if control::open(estimator) {
                handover::start(table, sockets);
            }
        });
    }
    start
};

fn estimator() -> Option<SocketAddrV4> {
    // SAFETY: the name is a C string; no other thread runs yet that could change the environment.
    let value = unsafe { libc::getenv(control::ADDRESS_VARIABLE.as_ptr()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: the environment's strings are C strings, and this one is not changed here.
    unsafe { CStr::from_ptr(value) }.to_str().ok()?.parse().ok()
}

/// An empty table in memory that is zero again in a forked child. Pages that are not touched take no memory.
fn table() -> Option<&'static Table> {
    let size = size_of::<Table>();
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping, at an address of the kernel's choice.
    let memory = unsafe { libc::mmap(null_mut(), size, access, flags, -1, 0) };
    if memory == libc::MAP_FAILED {
        return None;
    }
    let advise = |advice: c_int| {
        // SAFETY: the mapping is ours, and holds nothing yet.
        unsafe { libc::madvise(memory, size, advice) }
    };
    if advise(libc::MADV_WIPEONFORK) != 0 {
        unmap(memory, size);
        return None;
    }
    // Without it one connection could take 2 MB.
    advise(libc::MADV_NOHUGEPAGE);
    // SAFETY: the memory is large enough, aligned to a page, zero (which is an empty table), and stays for good.
    Some(unsafe { &*memory.cast::<Table>() })
}

fn unmap(memory: *mut c_void, size: usize) {
    // SAFETY: the mapping is ours, and nobody refers to it.
    unsafe { libc::munmap(memory, size) };
}
