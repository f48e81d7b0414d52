// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes that are cut short, and what they leave in errno.

use std::mem::zeroed;
use std::process::exit;
use std::ptr::null_mut;

use libc::{c_int, c_void};

use crate::{close, connect, connect_small, errno, ok, tcp, write, write_all};

pub fn set_nonblocking(fd: c_int) {
    ok(
        "fcntl",
        i64::from(unsafe { libc::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK) }),
    );
}

/// Much more than fits, whenever there is room.
pub fn nonblocking(port: u16) {
    let fd = connect_small(port, Some(4096));
    set_nonblocking(fd);
    let (mut left, mut refused, mut partial) = (3_000_000, 0, 0);
    while left > 0 {
        let taken = write(fd, left.min(100_000));
        if taken < 0 {
            assert_eq!(errno(), libc::EAGAIN);
            refused += 1;
            let mut ready = libc::pollfd {
                fd,
                events: libc::POLLOUT,
                revents: 0,
            };
            ok(
                "poll",
                i64::from(unsafe { libc::poll(&raw mut ready, 1, -1) }),
            );
            continue;
        }
        partial += i32::from((taken as usize) < left.min(100_000));
        left -= taken as usize;
    }
    assert!(
        refused > 0 && partial > 0,
        "{refused} refused, {partial} partial: the buffer was not small"
    );
    close(fd);
}

extern "C" fn nothing(_: c_int) {}

fn on_signal(signal: c_int, handler: extern "C" fn(c_int)) {
    let mut action: libc::sigaction = unsafe { zeroed() };
    action.sa_sigaction = handler as *const () as usize;
    ok(
        "sigaction",
        i64::from(unsafe { libc::sigaction(signal, &raw const action, null_mut()) }),
    );
}

/// A write of more than anybody reads, until an alarm. Prints how much was taken.
pub fn interrupted(port: u16) {
    let fd = connect_small(port, Some(4096));
    on_signal(libc::SIGALRM, nothing);
    let data = vec![0_u8; 50_000_000];
    unsafe { libc::alarm(1) };
    let taken = ok("write", unsafe {
        libc::write(fd, data.as_ptr().cast(), data.len()) as i64
    });
    assert!(
        0 < taken && (taken as usize) < data.len(),
        "the write was not interrupted"
    );
    unsafe { libc::alarm(1) };
    let more = unsafe { libc::write(fd, data.as_ptr().cast(), data.len()) as i64 };
    assert!((more, errno()) == (-1, libc::EINTR) || more > 0, "{more}");
    println!("{}", taken + more.max(0));
    close(fd);
}

static SIGNALLED: std::sync::atomic::AtomicI32 = std::sync::atomic::AtomicI32::new(-1);

/// The handler writes into the connection in which the program just writes.
pub fn signal_handler(port: u16) {
    extern "C" fn handler(_: c_int) {
        let fd = SIGNALLED.load(std::sync::atomic::Ordering::Relaxed);
        if unsafe { libc::write(fd, [0_u8; 3].as_ptr().cast(), 3) } != 3 {
            exit(1);
        }
    }
    let mut action: libc::sigaction = unsafe { zeroed() };
    action.sa_sigaction = handler as *const () as usize;
    action.sa_flags = libc::SA_RESTART;
    ok(
        "sigaction",
        i64::from(unsafe { libc::sigaction(libc::SIGALRM, &raw const action, null_mut()) }),
    );
    for _ in 0..20 {
        let fd = connect(port);
        SIGNALLED.store(fd, std::sync::atomic::Ordering::Relaxed);
        let every = libc::timeval {
            tv_sec: 0,
            tv_usec: 50,
        };
        let timer = libc::itimerval {
            it_interval: every,
            it_value: every,
        };
        unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, null_mut()) };
        (0..200).for_each(|_| write_all(fd, 10));
        let off: libc::itimerval = unsafe { zeroed() };
        unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const off, null_mut()) };
        close(fd);
    }
}

/// A thread is cancelled in a write that blocks; the program goes on.
pub fn cancelled(port: u16) {
    type Start = extern "C" fn(*mut c_void) -> *mut c_void;
    static DATA: [u8; 50_000_000] = [0; 50_000_000];
    // A plain frame, which may be unwound.
    extern "C-unwind" fn blocked(fd: *mut c_void) -> *mut c_void {
        unsafe extern "C-unwind" {
            fn write(fd: c_int, data: *const c_void, len: usize) -> isize;
        }
        unsafe { write(fd as usize as c_int, (&raw const DATA).cast(), DATA.len()) };
        null_mut()
    }
    // SAFETY: the two differ in whether they may be unwound, which glibc does.
    let start = unsafe { std::mem::transmute::<extern "C-unwind" fn(_) -> _, Start>(blocked) };
    let fd = connect_small(port, Some(4096));
    unsafe {
        let mut thread = zeroed();
        assert_eq!(
            libc::pthread_create(
                &raw mut thread,
                std::ptr::null(),
                start,
                fd as usize as *mut c_void
            ),
            0
        );
        libc::usleep(300_000);
        assert_eq!(libc::pthread_cancel(thread), 0);
        let mut result = null_mut();
        assert_eq!(libc::pthread_join(thread, &raw mut result), 0);
        // PTHREAD_CANCELED
        assert_eq!(result as usize, usize::MAX);
    }
    let other = connect(port);
    write_all(other, 321);
    close(other);
    close(fd);
}

pub fn forever(port: u16) {
    let fd = connect(port);
    loop {
        write_all(fd, 10_000);
    }
}

pub fn errno_stays(port: u16) {
    let expect = |expected: c_int, result: i64| {
        assert!((result < 0) == (expected != 77), "{result}");
        assert_eq!(errno(), expected);
        unsafe { *libc::__errno_location() = 77 };
    };
    unsafe { *libc::__errno_location() = 77 };
    unsafe {
        let fd = connect(port);
        let file = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        expect(77, write(fd, 100));
        expect(77, write(file, 100));
        expect(libc::EBADF, write(-1, 100));
        expect(libc::EBADF, write(999, 100));
        expect(
            libc::ENOTSOCK,
            libc::send(file, [0].as_ptr().cast(), 1, 0) as i64,
        );
        expect(
            libc::EFAULT,
            libc::write(fd, std::ptr::dangling::<c_void>(), 10) as i64,
        );
        expect(
            libc::EINVAL,
            libc::writev(fd, std::ptr::dangling(), -1) as i64,
        );
        expect(
            libc::EINVAL,
            libc::writev(fd, std::ptr::dangling(), 5000) as i64,
        );
        expect(libc::EFAULT, libc::sendmsg(fd, std::ptr::null(), 0) as i64);
        expect(
            libc::EPIPE,
            libc::send(tcp(), [0].as_ptr().cast(), 1, libc::MSG_NOSIGNAL) as i64,
        );
        expect(77, i64::from(libc::shutdown(fd, libc::SHUT_WR)));
        expect(
            libc::EPIPE,
            libc::send(fd, [0].as_ptr().cast(), 1, libc::MSG_NOSIGNAL) as i64,
        );
        expect(77, i64::from(libc::close(fd)));
        expect(libc::EBADF, i64::from(libc::close(fd)));
        expect(libc::EBADF, i64::from(libc::close(-1)));
        expect(libc::EINVAL, i64::from(libc::close_range(9, 3, 0)));
    }
}
