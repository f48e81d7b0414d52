// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptors that change, and how many there are.

use std::mem::zeroed;

use libc::c_int;

use crate::{close, connect, errno, ok, write_all};

/// One connection under several numbers, which change.
pub fn dup(port: u16) {
    let (one, other) = (connect(port), connect(port));
    let also_one = ok("dup", i64::from(unsafe { libc::dup(one) })) as c_int;
    write_all(one, 100);
    write_all(also_one, 50);
    write_all(other, 7);
    ok("dup2", i64::from(unsafe { libc::dup2(other, one) }));
    write_all(one, 3);
    write_all(also_one, 20);
    close(one);
    write_all(other, 1);
    close(also_one);
    close(other);
}

/// One number, a hundred connections, closed in ways that are seen and in ways that are not.
pub fn reuse(port: u16) {
    let mut numbers = std::collections::BTreeSet::new();
    for at in 0..100 {
        let fd = connect(port);
        numbers.insert(fd);
        write_all(fd, 10 + at);
        if at % 2 == 0 {
            close(fd);
        } else {
            ok("close", unsafe { libc::syscall(libc::SYS_close, fd) });
        }
    }
    assert_eq!(
        numbers.len(),
        1,
        "connections had several numbers: {numbers:?}"
    );
}

fn close_each() {
    (3..1024).for_each(|fd| unsafe {
        libc::close(fd);
    });
    let last = unsafe { libc::sysconf(libc::_SC_OPEN_MAX) } as c_int;
    (1024..last).for_each(|fd| unsafe {
        libc::close(fd);
    });
}

pub fn closes_each(port: u16) {
    closes_all(port, close_each);
}

pub fn closes_range(port: u16) {
    closes_all(port, || {
        assert_eq!(unsafe { libc::close_range(3, u32::MAX, 0) }, 0);
    });
}

pub fn closes_from(port: u16) {
    unsafe extern "C" {
        fn closefrom(first: c_int);
    }
    closes_all(port, || unsafe { closefrom(3) });
}

fn closes_all(port: u16, close_all: impl Fn()) {
    let before = connect(port);
    write_all(before, 11);
    close_all();
    assert_eq!(
        unsafe { libc::fcntl(before, libc::F_GETFD) },
        -1,
        "it is closed"
    );
    let after = connect(port);
    assert_eq!(after, 3, "the lowest number is free");
    write_all(after, 22);
    close(after);
}

/// All is closed by a system call, and every number up to 1100 is then a socket of the program's.
pub fn number_taken(port: u16) {
    let mut limit: libc::rlimit = unsafe { zeroed() };
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    limit.rlim_cur = limit.rlim_cur.max(limit.rlim_max.min(1100));
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
    let last = limit.rlim_cur.min(1100) as c_int;
    ok("close_range", unsafe {
        libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0)
    });
    let tcp = connect(port);
    let mut pair = [0; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_NONBLOCK;
    ok(
        "socketpair",
        i64::from(unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, pair.as_mut_ptr()) }),
    );
    for fd in 100..last {
        ok("dup2", i64::from(unsafe { libc::dup2(tcp, fd) }));
    }
    write_all(tcp, 1000);
    for fd in 100..last {
        ok("dup2", i64::from(unsafe { libc::dup2(pair[0], fd) }));
    }
    write_all(tcp, 1000);
    let mut message = [0_u8; 100];
    let got = unsafe { libc::read(pair[1], message.as_mut_ptr().cast(), 100) };
    assert_eq!(
        (got, errno()),
        (-1, libc::EAGAIN),
        "a report went to a socket of the program"
    );
    (100..last).for_each(close);
    close(tcp);
}

/// Says when it has shut down, and stays until it is told to go.
pub fn shutdown(port: u16) {
    let fd = connect(port);
    write_all(fd, 500);
    ok(
        "shutdown",
        i64::from(unsafe { libc::shutdown(fd, libc::SHUT_RD) }),
    );
    write_all(fd, 5);
    ok(
        "shutdown",
        i64::from(unsafe { libc::shutdown(fd, libc::SHUT_WR) }),
    );
    println!("shut down");
    let _ = std::io::stdin().read_line(&mut String::new());
}

/// The numbers of new descriptors.
pub fn descriptors(_: u16) {
    for _ in 0..5 {
        println!("{}", unsafe {
            libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY)
        });
    }
}

/// How many descriptors there are to have, and the limits; then a connection that uses the last one.
pub fn limits(port: u16) {
    let mut limit: libc::rlimit = unsafe { zeroed() };
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    let mut last = -1;
    let mut count = 0;
    loop {
        let fd = unsafe { libc::dup(0) };
        if fd < 0 {
            assert_eq!(errno(), libc::EMFILE);
            break;
        }
        count += 1;
        last = fd;
    }
    println!("{count} {last} {} {}", limit.rlim_cur, limit.rlim_max);
    close(last);
    let fd = connect(port);
    assert_eq!(fd, last);
    write_all(fd, 99);
    close(fd);
}
