// SPDX-License-Identifier: MIT OR Apache-2.0
//! bpf(2) and one socket option: the system calls that no library of ours wraps, and the crate's only unsafe code.

#![allow(unsafe_code)]

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// The kernel's `union bpf_attr`: as many bytes as the commands below know of.
const ATTR_SIZE: usize = 72;

/// Commands of bpf(2).
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug)]
pub enum Command {
    MapCreate = 0,
    MapLookup = 1,
    MapUpdate = 2,
    MapDelete = 3,
    ProgramLoad = 5,
    ObjectInfo = 15,
    BtfLoad = 18,
    LinkCreate = 28,
}

/// The arguments of a call of bpf(2), by their place in `union bpf_attr`. It borrows what it points to.
#[derive(Debug)]
pub struct Arguments<'a> {
    bytes: [u8; ATTR_SIZE],
    borrowed: PhantomData<&'a mut [u8]>,
}

impl Default for Arguments<'_> {
    fn default() -> Self {
        Self {
            bytes: [0; ATTR_SIZE],
            borrowed: PhantomData,
        }
    }
}

impl<'a> Arguments<'a> {
    fn put(mut self, at: usize, bytes: &[u8]) -> Self {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }

    /// An integer.
    pub fn number(self, at: usize, value: u32) -> Self {
        self.put(at, &value.to_ne_bytes())
    }

    /// A descriptor.
    pub fn descriptor(self, at: usize, fd: BorrowedFd<'a>) -> Self {
        self.put(at, &fd.as_raw_fd().to_ne_bytes())
    }

    /// A name of at most 15 bytes.
    pub fn name(self, at: usize, name: &str) -> Self {
        self.put(at, &name.as_bytes()[..name.len().min(15)])
    }

    /// The address of what the kernel reads.
    pub fn input(self, at: usize, bytes: &'a [u8]) -> Self {
        self.put(at, &(bytes.as_ptr() as u64).to_ne_bytes())
    }

    /// The address of what the kernel writes.
    pub fn output(self, at: usize, bytes: &'a mut [u8]) -> Self {
        self.put(at, &(bytes.as_mut_ptr() as u64).to_ne_bytes())
    }
}

/// bpf(2).
///
/// # Safety
/// What `input` and `output` point to must be as long as the kernel takes it to be: as the arguments say, or the map's
/// key and value.
pub(crate) unsafe fn bpf(command: Command, arguments: &mut Arguments<'_>) -> io::Result<i64> {
    // SAFETY: the buffer is alive and as long as said; what it points to is borrowed by it, and the caller vouches for
    // the lengths.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command as libc::c_int,
            arguments.bytes.as_mut_ptr(),
            ATTR_SIZE,
        )
    };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// A call of bpf(2) that makes a descriptor.
///
/// # Safety
/// As [`bpf`], and the command must be one that returns a new descriptor.
unsafe fn bpf_fd(command: Command, arguments: &mut Arguments<'_>) -> io::Result<OwnedFd> {
    // SAFETY: the caller's.
    let fd = unsafe { bpf(command, arguments)? };
    // SAFETY: the kernel has just made it for this process.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Makes a map, a program, BTF or a link from arguments whose inputs have the lengths that they name.
macro_rules! makes {
    ($(#[$doc:meta])* $name:ident, $command:ident) => {
        $(#[$doc])*
        pub(crate) fn $name(mut arguments: Arguments<'_>) -> io::Result<OwnedFd> {
            // SAFETY: its inputs are only made by `bpf::attached`, with their lengths beside them; it returns a descriptor.
            unsafe { bpf_fd(Command::$command, &mut arguments) }
        }
    };
}

makes!(/// Makes a map.
    map_create, MapCreate);
makes!(/// Checks and loads a program.
    program_load, ProgramLoad);
makes!(/// Loads BTF.
    btf_load, BtfLoad);
makes!(/// Attaches a program as long as the link's descriptor is open.
    link_create, LinkCreate);

/// A call whose inputs and outputs have the lengths of the map's key and value, or that its arguments name.
pub(crate) fn call(command: Command, mut arguments: Arguments<'_>) -> io::Result<()> {
    // SAFETY: `bpf::attached` checks the lengths against those that it made the map with.
    unsafe { bpf(command, &mut arguments).map(drop) }
}

/// The cookie of the network namespace that the socket is in (Linux 5.14).
pub fn namespace_cookie(socket: BorrowedFd<'_>) -> io::Result<u64> {
    let mut cookie = 0_u64;
    let mut length = size_of::<u64>() as libc::socklen_t;
    // SAFETY: the value is as long as said.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_NETNS_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut length,
        )
    };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(cookie)
    }
}
