// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each call, and sockets that count or do not.

use std::mem::zeroed;
use std::ptr::null_mut;

use libc::{c_int, c_void};

use crate::blocking::set_nonblocking;
use crate::{close, connect, connect_small, loopback, ok, tcp, write, write_all};

static ONE: c_int = 1;

/// Each call once or twice, with another number of bytes each, on a connection of its own.
pub fn calls(port: u16) {
    let data = vec![b'c'; 5000];
    let at = data.as_ptr().cast::<c_void>();
    let part = |bytes| libc::iovec {
        iov_base: at.cast_mut(),
        iov_len: bytes,
    };
    let parts = [part(100), part(0), part(4000)];
    let message = || {
        let mut message: libc::msghdr = unsafe { zeroed() };
        message.msg_iov = parts.as_ptr().cast_mut();
        message.msg_iovlen = parts.len();
        message
    };
    let on_new = |expected: i64, call: &dyn Fn(c_int) -> i64| on_new(port, expected, call);
    unsafe {
        on_new(1000, &|fd| libc::write(fd, at, 1000) as i64);
        on_new(4100, &|fd| libc::writev(fd, parts.as_ptr(), 3) as i64);
        on_new(1001, &|fd| {
            libc::send(fd, at, 1001, libc::MSG_NOSIGNAL) as i64
        });
        on_new(1002, &|fd| libc::send(fd, at, 1002, libc::MSG_MORE) as i64);
        on_new(1004, &|fd| {
            let yes = (&raw const ONE).cast();
            assert_eq!(
                libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_ZEROCOPY, yes, 4),
                0
            );
            libc::send(fd, at, 1004, libc::MSG_ZEROCOPY) as i64
        });
        on_new(1003, &|fd| {
            libc::sendto(fd, at, 1003, 0, std::ptr::null(), 0) as i64
        });
        on_new(4100, &|fd| libc::sendmsg(fd, &message(), 0) as i64);
        on_new(2, &|fd| {
            let each = libc::mmsghdr {
                msg_hdr: message(),
                msg_len: 0,
            };
            let mut both = [each, each];
            i64::from(libc::sendmmsg(fd, both.as_mut_ptr(), 2, 0))
        });
        on_new(0, &|fd| libc::write(fd, at, 0) as i64);
    }
    from_a_file(port, &data);
}

/// A call on a connection of its own.
fn on_new(port: u16, expected: i64, call: &dyn Fn(c_int) -> i64) {
    let fd = connect(port);
    assert_eq!(call(fd), expected);
    close(fd);
}

fn from_a_file(port: u16, data: &[u8]) {
    let on_new = |expected: i64, call: &dyn Fn(c_int) -> i64| on_new(port, expected, call);
    unsafe {
        let name = c"/tmp";
        let file = libc::open(name.as_ptr(), libc::O_TMPFILE | libc::O_RDWR, 0o600);
        ok("open", i64::from(file));
        assert_eq!(libc::write(file, data.as_ptr().cast(), 5000), 5000);
        on_new(5000, &|fd| {
            let mut offset = 0;
            libc::sendfile(fd, file, &raw mut offset, 1 << 30) as i64
        });
        on_new(2000, &|fd| {
            let mut offset = 3000;
            libc::sendfile64(fd, file, &raw mut offset, 1 << 30) as i64
        });
        libc::lseek(file, 1000, libc::SEEK_SET);
        on_new(4000, &|fd| {
            libc::sendfile(fd, file, null_mut(), 1 << 30) as i64
        });
        on_new(0, &|fd| libc::sendfile(fd, file, null_mut(), 100) as i64);
    }
}

pub fn not_accounted(_: u16) {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::unix::net::UnixStream;
    let listener = TcpListener::bind("[::1]:0").expect("IPv6 on loopback");
    let mut v6 = TcpStream::connect(listener.local_addr().expect("bound")).expect("connects");
    v6.write_all(&[0; 1000]).expect("written");
    v6.write_all(&[0; 1000]).expect("written");
    let udp = UdpSocket::bind("127.0.0.1:0").expect("bound");
    udp.connect(udp.local_addr().expect("bound"))
        .expect("connects");
    udp.send(&[0; 100]).expect("sent");
    udp.send_to(&[0; 100], udp.local_addr().expect("bound"))
        .expect("sent");
    let (mut one, _other) = UnixStream::pair().expect("a pair");
    one.write_all(&[0; 100]).expect("written");
    assert_eq!(
        unsafe { libc::send(tcp(), [0].as_ptr().cast(), 1, libc::MSG_NOSIGNAL) },
        -1
    );
    let mut file = std::fs::File::create("/dev/null").expect("opens");
    file.write_all(&[0; 100]).expect("written");
}

/// IPv4 by an IPv6 socket, as servers have it that listen to both.
pub fn mapped(port: u16) {
    use std::io::Write;
    let mut stream =
        std::net::TcpStream::connect(format!("[::ffff:127.0.0.1]:{port}")).expect("connects");
    stream.write_all(&[0; 1234]).expect("written");
}

/// The first bytes go with the call that connects, all others as always.
pub fn fastopen(port: u16) {
    let fd = tcp();
    let address = loopback(port);
    let data = [0_u8; 700];
    let to = (&raw const address).cast();
    let size = size_of_val(&address) as u32;
    let taken =
        unsafe { libc::sendto(fd, data.as_ptr().cast(), 700, libc::MSG_FASTOPEN, to, size) };
    assert_eq!(ok("sendto", taken as i64), 700);
    write_all(fd, 70);
    close(fd);
}

/// What a program does that has no sockets. The test counts its system calls between two calls of `getppid`.
pub fn files(_: u16) {
    let file = unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDWR) };
    let data = [0_u8; 10];
    let part = libc::iovec {
        iov_base: data.as_ptr().cast_mut().cast(),
        iov_len: 10,
    };
    unsafe {
        libc::getppid();
        (0..100).for_each(|_| {
            libc::write(file, data.as_ptr().cast(), 10);
            libc::writev(file, &raw const part, 1);
        });
        libc::close(file);
        libc::getppid();
    }
}

/// What the test counts between two calls of `getppid`: a first write; ten more; a `sendfile` with and one without an
/// offset; a write to a Unix socket that is known; ten writes that are refused; a close.
pub fn costs(port: u16) {
    let counted = |calls: &dyn Fn()| unsafe {
        libc::getppid();
        calls();
        libc::getppid();
    };
    let ten_writes = |fd| {
        for _ in 0..10 {
            write(fd, 1);
        }
    };
    let fd = connect_small(port, Some(4096));
    counted(&|| write_all(fd, 1));
    counted(&|| ten_writes(fd));
    let file = unsafe { libc::open(c"/proc/self/exe".as_ptr(), libc::O_RDONLY) };
    ok("open", i64::from(file));
    counted(&|| {
        let mut offset = 0;
        unsafe { libc::sendfile(fd, file, &raw mut offset, 10) };
    });
    counted(&|| {
        unsafe { libc::sendfile(fd, file, null_mut(), 10) };
    });
    let mut pair = [0; 2];
    let made = unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_STREAM, 0, pair.as_mut_ptr()) };
    ok("socketpair", i64::from(made));
    write_all(pair[0], 1);
    counted(&|| write_all(pair[0], 1));
    set_nonblocking(fd);
    // Fill it: nobody reads. What arrives late at the receiver makes room in the buffer once more.
    let mut full = 0;
    while full < 20 {
        full = if write(fd, 1000) < 0 { full + 1 } else { 0 };
        unsafe { libc::usleep(10_000) };
    }
    counted(&|| ten_writes(fd));
    counted(&|| close(fd));
}
