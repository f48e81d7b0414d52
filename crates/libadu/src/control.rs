// SPDX-License-Identifier: MIT OR Apache-2.0
//! The way to the estimator: one UDP socket, opened when the library is loaded.
//!
//! Its descriptor is out of the program's way: the first free one from 1024 on, beyond what `select` can watch; and beyond
//! the limit of open files (RLIMIT_NOFILE) if that is not higher, so that the program still can have all that it may. Who
//! may not raise such a limit gets the last number below it; under one of less than [`SMALL`] nothing is reported.
//!
//! It is closed by `exec`. Where the program closes it through libc, it is spared ([`is`]). Other ways (system calls of
//! their own, `dup2` onto it) take it away, and then nothing is reported any more: to open another would for an instant take
//! the lowest free number, on which another thread may count. Its number may then become a socket of the program's. No
//! check before a message could rule that out, since the number can change between the two calls; the message itself
//! does. It is one that Linux takes on a UDP socket over IPv4 only:
//!
//! - TCP refuses `MSG_FASTOPEN` to an address of family AF_UNSPEC (EOPNOTSUPP); UDP does not know the flag, and takes such
//!   an address for one of AF_INET.
//! - Unix sockets refuse the control message SO_TIMESTAMPING (EINVAL), here with nothing to stamp.

use core::ffi::CStr;
use core::mem;
use core::net::SocketAddrV4;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicI32, AtomicU64};

use etalon_adu::Report;
use libc::{c_int, c_long, rlimit, sockaddr_in};

use crate::socket;

/// The environment variable with the estimator's address, as C has it.
pub const ADDRESS_VARIABLE: &CStr = c"ETALON_ADU";

/// The first number beyond those that `select` can watch.
const BEYOND_SELECT: u64 = libc::FD_SETSIZE as u64;

/// A limit of open files under which no number is taken away from the program.
const SMALL: u64 = 256;

static SOCKET: AtomicI32 = AtomicI32::new(-1);
static COOKIE: AtomicU64 = AtomicU64::new(0);
/// The estimator's address and port.
static ESTIMATOR: AtomicU64 = AtomicU64::new(0);

/// Opens the socket; false if there is none to have.
pub fn open(estimator: SocketAddrV4) -> bool {
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no memory is involved.
    let low = unsafe {
        libc::syscall(
            libc::SYS_socket,
            c_long::from(libc::AF_INET),
            c_long::from(kind),
            0_i64,
        )
    } as c_int;
    if low < 0 {
        return false;
    }
    let high = moved_up(low);
    socket::close(low);
    let Some((fd, cookie)) = high.and_then(|fd| Some((fd, socket::cookie(fd)?))) else {
        return false;
    };
    let (ip, port) = (estimator.ip().to_bits(), estimator.port());
    ESTIMATOR.store(u64::from(ip) << 16 | u64::from(port), Relaxed);
    COOKIE.store(cookie, Relaxed);
    SOCKET.store(fd, Relaxed);
    true
}

/// A copy of the descriptor `low` that is out of the program's way.
fn moved_up(low: c_int) -> Option<c_int> {
    let mut limit = rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` lives through the call.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return None;
    }
    if limit.rlim_cur > BEYOND_SELECT {
        return copy(low, BEYOND_SELECT);
    }
    let first = limit.rlim_cur;
    // Room for one, also where descriptors were inherited that lie beyond the limit already.
    let room = BEYOND_SELECT + SMALL;
    // Who may raise the hard limit, and who may not.
    let hard = limit.rlim_max;
    for (rlim_cur, rlim_max) in [(room, hard.max(room)), (room.min(hard), hard)] {
        if rlim_cur <= first {
            continue;
        }
        let raised = rlimit { rlim_cur, rlim_max };
        // SAFETY: `raised` lives through the call. No other thread runs yet that could see it.
        if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const raised) } == 0 {
            let high = copy(low, first);
            // SAFETY: `limit` lives through the call. To lower a limit is always allowed.
            unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
            return high;
        }
    }
    (first >= SMALL).then(|| copy(low, first - 1))?
}

fn copy(fd: c_int, from: u64) -> Option<c_int> {
    let from = c_int::try_from(from).ok()?;
    // SAFETY: no memory is involved.
    let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, from) };
    (copy >= 0).then_some(copy)
}

/// Whether `fd` is the library's own socket, and not one that the program has had put in its place.
#[cfg(not(test))]
pub fn is(fd: c_int) -> bool {
    fd == SOCKET.load(Relaxed) && fd >= 0 && socket::cookie(fd) == Some(COOKIE.load(Relaxed))
}

/// The own socket, if it is among the descriptors from `first` to `last`.
#[cfg(not(test))]
pub fn within(first: u32, last: u32) -> Option<u32> {
    let fd = SOCKET.load(Relaxed);
    let number = u32::try_from(fd).ok()?;
    ((first..=last).contains(&number) && is(fd)).then_some(number)
}

/// A control message that asks for no time stamps.
#[repr(C)]
struct NoStamps {
    header: libc::cmsghdr,
    flags: u32,
}

/// Sends a report. Whether it arrives nobody knows. The result, as of sendmsg, is for tests.
pub fn send(report: &Report) -> c_long {
    let mut bytes = report.encode();
    let estimator = ESTIMATOR.load(Relaxed);
    // SAFETY: zeroes are a valid sockaddr_in; its family is AF_UNSPEC then.
    let mut address: sockaddr_in = unsafe { mem::zeroed() };
    address.sin_port = (estimator as u16).to_be();
    address.sin_addr.s_addr = ((estimator >> 16) as u32).to_be();
    // SAFETY: zeroes are a valid control message.
    let mut control: NoStamps = unsafe { mem::zeroed() };
    control.header.cmsg_len = (mem::offset_of!(NoStamps, flags) + mem::size_of::<u32>()) as _;
    control.header.cmsg_level = libc::SOL_SOCKET;
    control.header.cmsg_type = libc::SO_TIMESTAMPING;
    let mut part = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: zeroes are a valid msghdr: no address, no parts, no control messages.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_name = (&raw mut address).cast();
    message.msg_namelen = mem::size_of_val(&address) as _;
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut control).cast();
    message.msg_controllen = mem::size_of_val(&control) as _;
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL | libc::MSG_FASTOPEN;
    // SAFETY: what `message` points to lives through the call. As a system call this is no cancellation point.
    unsafe {
        libc::syscall(
            libc::SYS_sendmsg,
            c_long::from(SOCKET.load(Relaxed)),
            &raw const message,
            c_long::from(flags),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    #[test]
    fn the_variable_is_that_of_the_reports() {
        assert_eq!(
            ADDRESS_VARIABLE.to_bytes(),
            etalon_adu::ADDRESS_VARIABLE.as_bytes()
        );
    }

    #[test]
    fn a_report_is_taken_by_udp_over_ipv4_only() {
        use std::net::{TcpListener, TcpStream, UdpSocket};
        use std::os::fd::AsRawFd;
        use std::os::unix::net::{UnixDatagram, UnixStream};

        let estimator = UdpSocket::bind("127.0.0.1:0").expect("a port");
        estimator.set_nonblocking(true).expect("set");
        let SocketAddr::V4(address) = estimator.local_addr().expect("bound") else {
            panic!("IPv4")
        };
        let (ip, port) = (address.ip().to_bits(), address.port());
        ESTIMATOR.store(u64::from(ip) << 16 | u64::from(port), Relaxed);
        let report = Report {
            kind: etalon_adu::Kind::Written,
            src: SocketAddrV4::new([10, 0, 0, 1].into(), 1),
            dst: SocketAddrV4::new([10, 0, 0, 2].into(), 2),
            writer: 3,
            total: 4,
        };
        let listeners = ["127.0.0.1:0", "[::1]:0"].map(|at| TcpListener::bind(at).expect("a port"));
        let streams = listeners.each_ref().map(|listener| {
            TcpStream::connect(listener.local_addr().expect("bound")).expect("connects")
        });
        let stream = UnixStream::pair().expect("a pair");
        let datagram = UnixDatagram::pair().expect("a pair");
        let mut packet = [0; 2];
        // SAFETY: `packet` has room for the pair.
        let made = unsafe {
            libc::socketpair(libc::AF_UNIX, libc::SOCK_SEQPACKET, 0, packet.as_mut_ptr())
        };
        assert_eq!(made, 0);
        let udp = UdpSocket::bind("[::1]:0").expect("a port");
        let mut bytes = [0; 100];
        for fd in [
            listeners[0].as_raw_fd(),
            streams[0].as_raw_fd(),
            streams[1].as_raw_fd(),
            stream.0.as_raw_fd(),
            datagram.0.as_raw_fd(),
            packet[0],
            udp.as_raw_fd(),
            -1,
        ] {
            SOCKET.store(fd, Relaxed);
            assert_eq!(send(&report), -1, "a socket of another kind took a report");
            assert!(estimator.recv(&mut bytes).is_err());
        }
        packet.into_iter().for_each(socket::close);
        let own = UdpSocket::bind("127.0.0.1:0").expect("a port");
        SOCKET.store(own.as_raw_fd(), Relaxed);
        assert_eq!(send(&report), 36);
        let len = estimator.recv(&mut bytes).expect("the report");
        assert_eq!(Report::decode(&bytes[..len]), Ok(report));
    }
}
