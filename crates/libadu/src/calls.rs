// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions that the program calls instead of libc's. Their safety is libc's: what a caller owes to the one it owes to
//! the other.
//!
//! glibc has no fortified variants (`__write_chk` and the like) of them.

use core::ffi::{c_int, c_uint, c_void};

use libc::{iovec, mmsghdr, msghdr, off_t, size_t, sockaddr, socklen_t, ssize_t};

use crate::handover::{self, HandedOver};
use crate::socket::{bytes_of, rest_of_file};
use crate::{control, errno, next};

/// For calls that files have too.
fn before(fd: c_int, bytes: impl FnOnce() -> u64) -> HandedOver {
    if !handover::may_be_socket() || !handover::counts() {
        return HandedOver::Nothing;
    }
    handover::before(fd, bytes())
}

/// write(2).
///
/// # Safety
/// As in libc.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn write(fd: c_int, data: *const c_void, len: size_t) -> ssize_t {
    let handed = before(fd, || len as u64);
    // SAFETY: the caller's arguments.
    let taken = unsafe { next::write(fd, data, len) };
    handover::after(handed, taken as i64);
    taken
}

/// writev(2).
///
/// # Safety
/// As in libc.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn writev(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: the caller says that there are so many parts. A negative number is too large a one.
    let handed = before(fd, || unsafe { bytes_of(parts, count as usize) });
    // SAFETY: the caller's arguments.
    let taken = unsafe { next::writev(fd, parts, count) };
    handover::after(handed, taken as i64);
    taken
}

/// send(2).
///
/// # Safety
/// As in libc.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn send(
    fd: c_int,
    data: *const c_void,
    len: size_t,
    flags: c_int,
) -> ssize_t {
    let handed = handover::before(fd, len as u64);
    // SAFETY: the caller's arguments.
    let taken = unsafe { next::send(fd, data, len, flags) };
    handover::after(handed, taken as i64);
    taken
}

/// sendto(2).
///
/// # Safety
/// As in libc.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sendto(
    fd: c_int,
    data: *const c_void,
    len: size_t,
    flags: c_int,
    to: *const sockaddr,
    to_len: socklen_t,
) -> ssize_t {
    let handed = handover::before(fd, len as u64);
    // SAFETY: the caller's arguments.
    let taken = unsafe { next::sendto(fd, data, len, flags, to, to_len) };
    handover::after(handed, taken as i64);
    taken
}

/// sendmsg(2).
///
/// # Safety
/// As in libc.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sendmsg(
    fd: c_int,
    message: *const msghdr,
    flags: c_int,
) -> ssize_t {
    // SAFETY: the caller says that here is a message.
    let handed = before_message(fd, || unsafe { bytes_of_message(message) });
    // SAFETY: the caller's arguments.
    let taken = unsafe { next::sendmsg(fd, message, flags) };
    handover::after(handed, taken as i64);
    taken
}

/// sendmmsg(2).
///
/// # Safety
/// As in libc.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sendmmsg(
    fd: c_int,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
) -> c_int {
    // Linux sends no more in one call.
    let most = (count as usize).min(libc::UIO_MAXIOV as usize);
    let handed = before_message(fd, || {
        if messages.is_null() {
            return 0;
        }
        // SAFETY: the caller says that there are so many messages.
        let bytes = |at| unsafe { bytes_of_message(&raw const (*messages.add(at)).msg_hdr) };
        (0..most).map(bytes).fold(0, u64::saturating_add)
    });
    // SAFETY: the caller's arguments.
    let sent = unsafe { next::sendmmsg(fd, messages, count, flags) };
    if !matches!(handed, HandedOver::Nothing) {
        // SAFETY: the kernel has sent so many messages, and noted of each how much it took.
        let bytes = |at| unsafe { i64::from((*messages.add(at)).msg_len) };
        let taken = (0..usize::try_from(sent).unwrap_or(0)).map(bytes).sum();
        handover::after(handed, taken);
    }
    sent
}

fn before_message(fd: c_int, bytes: impl FnOnce() -> u64) -> HandedOver {
    if !handover::counts() {
        return HandedOver::Nothing;
    }
    handover::before(fd, bytes())
}

/// # Safety
/// `message` is null or points to a message.
unsafe fn bytes_of_message(message: *const msghdr) -> u64 {
    if message.is_null() {
        return 0;
    }
    // SAFETY: here is a message, and it says where its parts are.
    unsafe { bytes_of((*message).msg_iov, (*message).msg_iovlen) }
}

/// sendfile(2).
///
/// # Safety
/// As in libc.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sendfile(
    fd: c_int,
    file: c_int,
    offset: *mut off_t,
    count: size_t,
) -> ssize_t {
    let handed = before(fd, || {
        errno::kept(|| rest_of_file(file, offset, count as u64))
    });
    // SAFETY: the caller's arguments.
    let taken = unsafe { next::sendfile(fd, file, offset, count) };
    handover::after(handed, taken as i64);
    taken
}

/// sendfile(2), as large-file programs call it.
///
/// # Safety
/// As in libc.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sendfile64(
    fd: c_int,
    file: c_int,
    offset: *mut i64,
    count: size_t,
) -> ssize_t {
    let handed = before(fd, || {
        errno::kept(|| rest_of_file(file, offset, count as u64))
    });
    // SAFETY: the caller's arguments.
    let taken = unsafe { next::sendfile64(fd, file, offset, count) };
    handover::after(handed, taken as i64);
    taken
}

/// shutdown(2).
///
/// # Safety
/// As in libc.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn shutdown(fd: c_int, how: c_int) -> c_int {
    // SAFETY: the caller's arguments.
    let result = unsafe { next::shutdown(fd, how) };
    if result == 0 && matches!(how, libc::SHUT_WR | libc::SHUT_RDWR) {
        handover::end(fd);
    }
    result
}

/// close(2). To the program the library's own socket does not exist.
///
/// # Safety
/// As in libc.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn close(fd: c_int) -> c_int {
    if errno::kept(|| control::is(fd)) {
        errno::set(libc::EBADF);
        return -1;
    }
    if errno::kept(|| handover::is_writer(fd)) {
        // Before it is closed: afterwards the number may be another thread's new connection.
        handover::end(fd);
    }
    // SAFETY: the caller's arguments.
    unsafe { next::close(fd) }
}

/// close_range(2), which spares the library's own socket.
///
/// # Safety
/// As in libc.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    let Some(own) = errno::kept(|| control::within(first, last)) else {
        // SAFETY: the caller's arguments.
        return unsafe { next::close_range(first, last, flags) };
    };
    let mut result = 0;
    if first < own {
        // SAFETY: a part of the caller's range.
        result = unsafe { next::close_range(first, own - 1, flags) };
    }
    if result == 0 && own < last {
        // SAFETY: the other part.
        result = unsafe { next::close_range(own + 1, last, flags) };
    }
    result
}

/// closefrom(3), which spares the library's own socket.
///
/// # Safety
/// As in libc.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn closefrom(first: c_int) {
    // glibc's own goes through /proc where the kernel has no close_range; the kernels that have what this library needs
    // and not that are few, and there each descriptor is closed.
    let first = c_uint::try_from(first).unwrap_or(0);
    // SAFETY: no memory is involved.
    if unsafe { close_range(first, c_uint::MAX, 0) } != 0 {
        close_each(first);
    }
}

/// Closes all from `first` on, as far as the limit of open files goes.
fn close_each(first: c_uint) {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` lives through the call.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    let last = c_uint::try_from(limit.rlim_cur).unwrap_or(c_uint::MAX);
    for fd in first..last {
        // SAFETY: no memory is involved.
        unsafe { close(fd as c_int) };
    }
}

/// socket(2).
///
/// # Safety
/// As in libc.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    handover::a_socket();
    // SAFETY: the caller's arguments.
    unsafe { next::socket(domain, kind, protocol) }
}

/// socketpair(2), through which descriptors of other processes may come.
///
/// # Safety
/// As in libc.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn socketpair(
    domain: c_int,
    kind: c_int,
    protocol: c_int,
    pair: *mut c_int,
) -> c_int {
    handover::a_socket();
    // SAFETY: the caller's arguments.
    unsafe { next::socketpair(domain, kind, protocol, pair) }
}
