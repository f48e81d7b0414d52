// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions that are interposed, as the next library has them.

use core::ffi::{c_int, c_uint, c_void};
use core::mem::transmute;
use core::ptr::null_mut;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;

use libc::{iovec, mmsghdr, msghdr, off_t, size_t, sockaddr, socklen_t, ssize_t};

/// For each function: where the next library has it, and a function that calls it there, or makes the system call if
/// there is none or it has not been looked up. `C-unwind`, since a thread may be cancelled in it.
macro_rules! next {
    ($($name:ident($($arg:ident: $kind:ty),*) -> $result:ty = $number:ident($($given:expr),*);)*) => {
        mod at {
            use super::*;
            $(#[allow(non_upper_case_globals)] pub static $name: AtomicPtr<c_void> = AtomicPtr::new(null_mut());)*
        }

        /// Looks all of them up.
        pub fn look_up() {
            $({
                let name = concat!(stringify!($name), "\0");
                // SAFETY: the name is a C string. This runs when the library has been loaded, not in a signal handler.
                let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr().cast()) };
                at::$name.store(found, Relaxed);
            })*
        }

        $(
            /// As in libc.
            ///
            /// # Safety
            /// As in libc.
            pub unsafe fn $name($($arg: $kind),*) -> $result {
                let next = at::$name.load(Relaxed);
                if next.is_null() {
                    // SAFETY: the caller's arguments, to the system call that the function is.
                    return unsafe { libc::syscall(libc::$number $(, $given)*) } as $result;
                }
                // SAFETY: what dlsym has found under this name has this type.
                let next: unsafe extern "C-unwind" fn($($kind),*) -> $result = unsafe { transmute(next) };
                // SAFETY: the caller's arguments.
                unsafe { next($($arg),*) }
            }
        )*
    };
}

next! {
    write(fd: c_int, data: *const c_void, len: size_t) -> ssize_t = SYS_write(fd, data, len);
    writev(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t = SYS_writev(fd, parts, count);
    send(fd: c_int, data: *const c_void, len: size_t, flags: c_int) -> ssize_t
        = SYS_sendto(fd, data, len, flags, null_mut::<c_void>(), 0);
    sendto(fd: c_int, data: *const c_void, len: size_t, flags: c_int, to: *const sockaddr, to_len: socklen_t) -> ssize_t
        = SYS_sendto(fd, data, len, flags, to, to_len);
    sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t = SYS_sendmsg(fd, message, flags);
    sendmmsg(fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int) -> c_int
        = SYS_sendmmsg(fd, messages, count, flags);
    sendfile(fd: c_int, file: c_int, offset: *mut off_t, count: size_t) -> ssize_t
        = SYS_sendfile(fd, file, offset, count);
    sendfile64(fd: c_int, file: c_int, offset: *mut i64, count: size_t) -> ssize_t
        = SYS_sendfile(fd, file, offset, count);
    shutdown(fd: c_int, how: c_int) -> c_int = SYS_shutdown(fd, how);
    close(fd: c_int) -> c_int = SYS_close(fd);
    close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int = SYS_close_range(first, last, flags);
    socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int = SYS_socket(domain, kind, protocol);
    socketpair(domain: c_int, kind: c_int, protocol: c_int, pair: *mut c_int) -> c_int
        = SYS_socketpair(domain, kind, protocol, pair);
}
