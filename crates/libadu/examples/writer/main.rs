// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program of the tests: hands bytes to TCP connections in many ways, and knows nothing of libadu.
//!
//! `writer SCENE PORT`: what it writes goes to 127.0.0.1:PORT; `tests/preloaded` counts there what arrives.
//! It fails, with a sentence, if a call does not do what it does without a library in between.

// It calls C, all of it with memory that outlives the call.
#![allow(clippy::undocumented_unsafe_blocks)]

use std::mem::zeroed;

use libc::{c_int, c_void};

mod blocking;
mod calls;
mod descriptors;
mod processes;

type Scene = fn(u16);

const SCENES: &[(&str, Scene)] = &[
    ("calls", calls::calls),
    ("not-accounted", calls::not_accounted),
    ("mapped", calls::mapped),
    ("fastopen", calls::fastopen),
    ("files", calls::files),
    ("costs", calls::costs),
    ("threads-one-socket", processes::threads_on_one_socket),
    ("threads-many-sockets", processes::threads_on_many_sockets),
    ("fork", processes::after_fork),
    ("fork-by-system-call", processes::after_clone),
    ("vfork", processes::vforked),
    ("exec", processes::exec),
    ("nonblocking", blocking::nonblocking),
    ("interrupted", blocking::interrupted),
    ("signal-handler", blocking::signal_handler),
    ("cancelled", blocking::cancelled),
    ("forever", blocking::forever),
    ("errno", blocking::errno_stays),
    ("dup", descriptors::dup),
    ("reuse", descriptors::reuse),
    ("close-each", descriptors::closes_each),
    ("close-range", descriptors::closes_range),
    ("closefrom", descriptors::closes_from),
    ("close-by-system-call", descriptors::number_taken),
    ("shutdown", descriptors::shutdown),
    ("descriptors", descriptors::descriptors),
    ("limits", descriptors::limits),
];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let port = arguments[2].parse().expect("a port");
    match SCENES.iter().find(|scene| scene.0 == arguments[1]) {
        Some(scene) => scene.1(port),
        None if arguments[1] == "after-exec" => processes::after_exec(port),
        None => panic!("no scene is called {}", arguments[1]),
    }
}

fn ok(what: &str, result: i64) -> i64 {
    assert!(result >= 0, "{what}: {}", std::io::Error::last_os_error());
    result
}

fn errno() -> c_int {
    unsafe { *libc::__errno_location() }
}

fn loopback(port: u16) -> libc::sockaddr_in {
    let mut address: libc::sockaddr_in = unsafe { zeroed() };
    address.sin_family = libc::AF_INET as u16;
    address.sin_port = port.to_be();
    address.sin_addr.s_addr = u32::from(std::net::Ipv4Addr::LOCALHOST).to_be();
    address
}

fn tcp() -> c_int {
    ok(
        "socket",
        i64::from(unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0) }),
    ) as c_int
}

fn connect(port: u16) -> c_int {
    connect_small(port, None)
}

/// A connection; with a small send buffer, if asked for.
fn connect_small(port: u16, buffer: Option<c_int>) -> c_int {
    let fd = tcp();
    if let Some(buffer) = buffer {
        let value = (&raw const buffer).cast::<c_void>();
        let done = unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_SNDBUF, value, 4) };
        ok("setsockopt", i64::from(done));
    }
    let address = loopback(port);
    let result = unsafe {
        libc::connect(
            fd,
            (&raw const address).cast(),
            size_of_val(&address) as u32,
        )
    };
    ok("connect", i64::from(result));
    fd
}

fn write(fd: c_int, bytes: usize) -> i64 {
    let data = vec![b'w'; bytes];
    unsafe { libc::write(fd, data.as_ptr().cast(), bytes) as i64 }
}

fn write_all(fd: c_int, bytes: usize) {
    let mut left = bytes;
    while left > 0 {
        left -= ok("write", write(fd, left)) as usize;
    }
}

fn close(fd: c_int) {
    ok("close", i64::from(unsafe { libc::close(fd) }));
}

fn wait_for(child: c_int) {
    let mut status = 0;
    ok(
        "waitpid",
        i64::from(unsafe { libc::waitpid(child, &raw mut status, 0) }),
    );
    assert_eq!(status, 0, "the child failed");
}
