// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads and processes that write into the same connection.

use std::ptr::null;
use std::thread;

use libc::c_int;

use crate::{close, connect, ok, wait_for, write_all};

pub fn threads_on_one_socket(port: u16) {
    let fd = connect(port);
    thread::scope(|scope| {
        for thread in 0..8 {
            scope.spawn(move || (0..500).for_each(|at| write_all(fd, 1 + (at * 7 + thread) % 900)));
        }
    });
    close(fd);
}

pub fn threads_on_many_sockets(port: u16) {
    thread::scope(|scope| {
        for thread in 0..8 {
            scope.spawn(move || {
                for connection in 0..20 {
                    let fd = connect(port);
                    (0..10).for_each(|at| write_all(fd, 1 + at * 100 + thread + connection));
                    close(fd);
                }
            });
        }
    });
}

pub fn after_fork(port: u16) {
    forked(port, || unsafe { libc::fork() });
}

/// As programs fork that go around libc.
pub fn after_clone(port: u16) {
    forked(
        port,
        || unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) } as c_int,
    );
}

fn forked(port: u16, fork: impl Fn() -> c_int) {
    let fd = connect(port);
    write_all(fd, 1000);
    let child = ok("fork", i64::from(fork())) as c_int;
    (0..50).for_each(|_| write_all(fd, if child == 0 { 30 } else { 20 }));
    if child == 0 {
        let own = connect(port);
        write_all(own, 77);
        unsafe { libc::_exit(0) };
    }
    wait_for(child);
    close(fd);
}

pub fn vforked(port: u16) {
    let fd = connect(port);
    write_all(fd, 1000);
    let data = [0_u8; 100];
    #[allow(deprecated)]
    let child = unsafe { libc::vfork() };
    if child == 0 {
        unsafe {
            let taken = libc::write(fd, data.as_ptr().cast(), 100);
            libc::close(fd);
            libc::_exit(if taken == 100 { 0 } else { 1 });
        }
    }
    wait_for(child);
    write_all(fd, 10);
    close(fd);
}

pub fn exec(port: u16) {
    let fd = connect(port);
    write_all(fd, 1000);
    let number = std::ffi::CString::new(fd.to_string()).expect("digits");
    let program = c"/proc/self/exe".as_ptr();
    let arguments = [program, c"after-exec".as_ptr(), number.as_ptr(), null()];
    unsafe { libc::execv(program, arguments.as_ptr()) };
    panic!("exec: {}", std::io::Error::last_os_error());
}

/// The descriptor comes in place of the port.
pub fn after_exec(fd: u16) {
    let open = (3..2048)
        .filter(|fd| unsafe { libc::fcntl(*fd, libc::F_GETFD) } >= 0)
        .count();
    println!("{open}");
    write_all(c_int::from(fd), 234);
    close(c_int::from(fd));
}
