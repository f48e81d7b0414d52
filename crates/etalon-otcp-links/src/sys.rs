// SPDX-License-Identifier: MIT OR Apache-2.0
//! The system calls that have no safe interface: TAP devices, network namespaces, clocks, waiting.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

const TUNSETIFF: libc::c_ulong = 0x4004_54CA;
const TUNSETCARRIER: libc::c_ulong = 0x4004_54E2;
const IFF_TAP: i16 = 0x0002;
const IFF_NO_PI: i16 = 0x1000;
/// A name as the kernel takes it, with its terminator.
const NAME_BYTES: usize = 16;

/// `struct ifreq`, as far as TUNSETIFF reads it, with room for the rest.
#[repr(C)]
struct Request {
    name: [u8; NAME_BYTES],
    flags: i16,
    rest: [u8; 22],
}

fn checked(result: libc::c_int) -> io::Result<()> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Goes into a network namespace; returns the one before.
///
/// # Errors
/// If there is no such namespace, or the kernel does not let us in.
pub fn enter(path: &str) -> io::Result<File> {
    let before = File::open("/proc/thread-self/ns/net")?;
    let wanted = File::open(path)?;
    // SAFETY: the descriptor is open; setns touches no memory.
    checked(unsafe { libc::setns(wanted.as_raw_fd(), libc::CLONE_NEWNET) })?;
    Ok(before)
}

/// Back to a namespace that [`enter`] has returned.
///
/// # Errors
/// If the kernel does not let us.
pub fn leave(before: &File) -> io::Result<()> {
    // SAFETY: as in `enter`.
    checked(unsafe { libc::setns(before.as_raw_fd(), libc::CLONE_NEWNET) })
}

/// Makes a TAP device in this namespace; it is there as long as the descriptor.
///
/// # Errors
/// If the name is too long or taken, or the kernel refuses.
pub fn tap(name: &str) -> io::Result<OwnedFd> {
    let mut request = Request {
        name: [0; NAME_BYTES],
        flags: IFF_TAP | IFF_NO_PI,
        rest: [0; 22],
    };
    if name.is_empty() || name.len() >= NAME_BYTES {
        return Err(io::Error::other("a device's name has 1 to 15 characters"));
    }
    request.name[..name.len()].copy_from_slice(name.as_bytes());
    // SAFETY: the path is a literal with its terminator.
    let fd = unsafe {
        libc::open(
            c"/dev/net/tun".as_ptr(),
            libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC,
        )
    };
    checked(fd)?;
    // SAFETY: the descriptor is fresh, and ours alone.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: `request` is as large as the kernel's ifreq and lives through the call.
    checked(unsafe { libc::ioctl(fd.as_raw_fd(), TUNSETIFF, &mut request) })?;
    Ok(fd)
}

/// Plugs a TAP device's cable in, or pulls it.
///
/// # Errors
/// If the kernel does not know carriers of TAP devices (before 5.0).
pub fn carrier(fd: &OwnedFd, on: bool) -> io::Result<()> {
    let value = libc::c_int::from(on);
    // SAFETY: the kernel reads one int, which lives through the call.
    checked(unsafe { libc::ioctl(fd.as_raw_fd(), TUNSETCARRIER, &value) })
}

/// Reads without waiting: how many bytes there were, None if none.
#[must_use]
pub fn read(fd: RawFd, buffer: &mut [u8]) -> Option<usize> {
    // SAFETY: the kernel writes at most the buffer's length.
    let n = unsafe { libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len()) };
    usize::try_from(n).ok()
}

/// Writes a frame; one that the device does not take is lost, as on a wire.
pub fn write(fd: &OwnedFd, frame: &[u8]) {
    // SAFETY: the kernel reads at most the frame's length.
    let _lost = unsafe { libc::write(fd.as_raw_fd(), frame.as_ptr().cast(), frame.len()) };
}

/// Monotonic time in ns.
#[must_use]
pub fn now() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel fills the structure.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Waits until a descriptor can be read, or for `ns`; None: for ever.
pub fn wait(fds: &mut [libc::pollfd], ns: Option<u64>) {
    let time = libc::timespec {
        tv_sec: (ns.unwrap_or(0) / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns.unwrap_or(0) % 1_000_000_000) as libc::c_long,
    };
    let limit = ns.map_or(std::ptr::null(), |_| std::ptr::from_ref(&time));
    // SAFETY: the slice and the time live through the call; a null time means for ever.
    unsafe {
        libc::ppoll(
            fds.as_mut_ptr(),
            fds.len() as libc::nfds_t,
            limit,
            std::ptr::null(),
        )
    };
}

/// Asks for exact waking, and for precedence over ordinary programs if we may have it.
///
/// Processors do not sleep as long as what is returned is held (Documentation/power/pm_qos_interface.rst): waking one costs
/// some microseconds, of a virtual machine some tens, at each end of a link. None if we may not ask for that.
pub fn be_exact() -> Option<File> {
    let parameters = libc::sched_param { sched_priority: 10 };
    // SAFETY: no memory but the structure is touched; a refusal leaves things as they are.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong);
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters);
    }
    let mut latency = File::options()
        .write(true)
        .open("/dev/cpu_dma_latency")
        .ok()?;
    latency.write_all(&0_i32.to_ne_bytes()).ok()?;
    Some(latency)
}
