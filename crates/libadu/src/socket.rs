// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel says of a descriptor. These are system calls, not functions of libc: nobody interposes them, and none is
//! a cancellation point. They change `errno`.

use core::mem;
use core::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4};

use libc::{c_int, c_long, sockaddr_in, sockaddr_in6, sockaddr_storage, socklen_t};

/// The two ends of a TCP connection: where the data come from, and where they go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    pub src: SocketAddrV4,
    pub dst: SocketAddrV4,
}

/// What a socket is to libadu.
pub enum Socket {
    /// A TCP connection over IPv4.
    Connected(Connection),
    /// TCP, but not connected (yet).
    Unconnected,
    /// Another protocol; it will never be TCP over IPv4.
    Other,
}

fn option<T: Default>(fd: c_int, name: c_int) -> Option<T> {
    let mut value = T::default();
    let mut len = mem::size_of::<T>() as socklen_t;
    // SAFETY: `value` and `len` live through the call, and `len` is the size of `value`.
    let result = unsafe {
        libc::syscall(
            libc::SYS_getsockopt,
            c_long::from(fd),
            c_long::from(libc::SOL_SOCKET),
            c_long::from(name),
            &raw mut value,
            &raw mut len,
        )
    };
    (result == 0).then_some(value)
}

/// The number that the kernel gives a socket, and no other socket before it reboots. None if `fd` is no socket.
pub fn cookie(fd: c_int) -> Option<u64> {
    option(fd, libc::SO_COOKIE)
}

/// Whether `fd` is a socket.
pub fn is_socket(fd: c_int) -> bool {
    option::<c_int>(fd, libc::SO_TYPE).is_some()
}

/// What the socket `fd` is.
pub fn look(fd: c_int) -> Socket {
    if option::<c_int>(fd, libc::SO_PROTOCOL) != Some(libc::IPPROTO_TCP) {
        return Socket::Other;
    }
    let Some(peer) = name(fd, libc::SYS_getpeername) else {
        return Socket::Unconnected;
    };
    match (name(fd, libc::SYS_getsockname).and_then(v4), v4(peer)) {
        (Some(src), Some(dst)) => Socket::Connected(Connection { src, dst }),
        _ => Socket::Other,
    }
}

/// The address that `call` (getsockname or getpeername) gives of `fd`.
fn name(fd: c_int, call: c_long) -> Option<sockaddr_storage> {
    // SAFETY: zeroes are a valid sockaddr_storage.
    let mut address: sockaddr_storage = unsafe { mem::zeroed() };
    let mut len = mem::size_of_val(&address) as socklen_t;
    // SAFETY: `address` and `len` live through the call, and `len` is the size of `address`.
    let result = unsafe { libc::syscall(call, c_long::from(fd), &raw mut address, &raw mut len) };
    (result == 0).then_some(address)
}

/// An IPv4 address, also one that an IPv6 socket shows as `::ffff:10.0.0.1`: its packets are IPv4.
fn v4(address: sockaddr_storage) -> Option<SocketAddrV4> {
    match c_int::from(address.ss_family) {
        libc::AF_INET => {
            // SAFETY: the kernel filled in an address of this family, and the storage is large and aligned enough for it.
            let v4 = unsafe { *(&raw const address).cast::<sockaddr_in>() };
            let ip = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
            Some(SocketAddrV4::new(ip, u16::from_be(v4.sin_port)))
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let v6 = unsafe { *(&raw const address).cast::<sockaddr_in6>() };
            let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr).to_ipv4_mapped()?;
            Some(SocketAddrV4::new(ip, u16::from_be(v6.sin6_port)))
        }
        _ => None,
    }
}

/// Closes a descriptor of our own.
pub fn close(fd: c_int) {
    // SAFETY: closes a number; nothing here owns it.
    unsafe { libc::syscall(libc::SYS_close, c_long::from(fd)) };
}

/// How much a `sendfile` of at most `count` bytes can find in `file` from `offset` on (null: from where the file is).
/// `count`, if that cannot be known: programs ask for gigabytes and mean the rest of a file.
pub fn rest_of_file(file: c_int, offset: *const i64, count: u64) -> u64 {
    // SAFETY: zeroes are a valid stat.
    let mut stat: libc::stat = unsafe { mem::zeroed() };
    // SAFETY: `stat` lives through the call.
    if unsafe { libc::fstat(file, &raw mut stat) } != 0
        || stat.st_mode & libc::S_IFMT != libc::S_IFREG
    {
        return count;
    }
    let from = if offset.is_null() {
        // SAFETY: asks where the file is and moves nothing.
        unsafe {
            libc::syscall(
                libc::SYS_lseek,
                c_long::from(file),
                0_i64,
                c_long::from(libc::SEEK_CUR),
            )
        }
    } else {
        // SAFETY: the program says that here is the offset.
        unsafe { offset.read_unaligned() }
    };
    count.min(
        stat.st_size
            .saturating_sub(from.max(0))
            .max(0)
            .unsigned_abs(),
    )
}

/// Bytes in the `count` parts of `parts`; none if there is nothing that can be read.
///
/// # Safety
/// `parts` is null or points to `count` parts.
pub unsafe fn bytes_of(parts: *const libc::iovec, count: usize) -> u64 {
    if parts.is_null() || count > libc::UIO_MAXIOV as usize {
        return 0;
    }
    let mut sum = 0_u64;
    for at in 0..count {
        // SAFETY: `at` is below `count`.
        sum = sum.saturating_add(unsafe { (*parts.add(at)).iov_len } as u64);
    }
    sum
}
